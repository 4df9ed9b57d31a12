import type { UniqueKind } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import { accounts, type Entity, type Key, uniques } from "./entities.ts";
import { type ListIndex, type Page, type PageRequest, pageOfEntries, pageOfFound } from "./list.ts";
import { readEach, readKeys } from "./store.ts";

/** Values of one kind, each of which at most one resource of a tenant has. */
export interface UniqueValues {
  readonly kind: UniqueKind;
  readonly values: readonly string[];
}

/**
 * Identifiers of the resources that have these values, by their claims: one call, strongly consistent. Values are
 * normalised (NFC); one that was claimed before that rule is found if it is decomposed as a whole (NFD).
 */
export async function ownersOf(tenant: string, { kind, values }: UniqueValues): Promise<readonly string[]> {
  const spellings = new Set(values.flatMap((value) => [value, value.normalize("NFD")]));
  const claims = await readKeys([...spellings].map((value) => uniques.key(tenant, kind, value)));
  return claims.flatMap((claim) => (claim === undefined ? [] : [(claim as { readonly owner_id: string }).owner_id]));
}

/**
 * A page of the resources that have these values: the claims, then the resources, strongly consistent, whatever number
 * of them the tenant has. `request` filters by the values as well, since a resource may have changed in between. `more`
 * are partitions of an index that belong to the list too.
 */
export function pageOfOwners<T extends object>(
  kind: Entity<T> & { readonly key: (tenant: string, id: string) => Key },
  tenant: string,
  values: UniqueValues,
  request: PageRequest,
  more?: { readonly index: ListIndex; readonly partitions: readonly string[] },
): Promise<Page<T>> {
  const found = ownersOf(tenant, values).then((ids) =>
    readEach<T>(
      ids.map((id) => kind.key(tenant, id)),
      { kind },
    ),
  );
  const there = found.then((items) => items.filter((item) => item !== undefined));
  return pageOfFound(kind, there, request, more);
}

/** Identifiers of the accounts of a client, of which there are never many; by an index, so a new one may lag. */
export async function accountIdsOf(tenant: string, clientId: string): Promise<readonly string[]> {
  const every: PageRequest = { limit: limits.client.max_accounts, descending: false, cursor: undefined };
  const { items } = await pageOfEntries("owner", [accounts.ofClient(tenant, clientId)], every, ["id"]);
  return items.map(({ item }) => String(item["id"]));
}
