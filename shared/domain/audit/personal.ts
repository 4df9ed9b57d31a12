import { limits } from "../../limits.ts";
import { type PersonKind, payeeMembers, personalMembers } from "../../personal-members.ts";
import type { AuditedChange, Members, PersonalValues } from "../kernel/audited.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { Digest } from "./chain.ts";

/** Replaces a personal value in an entry that has it sealed. */
export const sealedMark = "[sealed]";

/** Replaces the value of a person without a key: it is stored nowhere, or unreadable for good. */
export const erasedMark = "[erased]";

/** The members of an entry that can be about an operator. */
export interface Caller {
  readonly actor: { readonly type: string; readonly id: string; readonly name?: string };
  readonly ip: string | null;
  readonly user_agent: string | null;
}

/**
 * Where the personal values of changes are, by person. Values of a member that is null say nothing of a person; what is
 * in the place of a sealed value already is none.
 */
export function personalIn(changes: readonly AuditedChange[]): PersonalValues[] {
  const found = changes.flatMap(({ resource, before, after }, place) => {
    const names = personalMembers[resource.type as PersonKind];
    if (names === undefined) return [];
    const places = Object.entries({ before: before ?? {}, after }).flatMap(([state, members]) =>
      Object.entries(members)
        .filter(([name, value]) => names.has(name) && value !== null && value !== sealedMark && value !== erasedMark)
        .map(([name, value]) => ({ at: `/changes/${place}/${state}/${name}`, value })),
    );
    return places.length === 0 ? [] : [{ person: resource.id, places }];
  });
  return found.map(({ person, places }) => ({
    person,
    members: places.map(({ at }) => at),
    values: places.map(({ value }) => value),
  }));
}

/** The personal values of a call: those of an operator; a program is no person. */
export function personalOf({ actor, ip, user_agent }: Caller): PersonalValues[] {
  if (actor.type !== "operator") return [];
  const places = Object.entries({ "/actor/name": actor.name, "/ip": ip, "/user_agent": user_agent }).filter(
    ([, value]) => value !== undefined && value !== null && value !== sealedMark && value !== erasedMark,
  );
  if (places.length === 0) return [];
  return [{ person: actor.id, members: places.map(([at]) => at), values: places.map(([, value]) => value) }];
}

/** An entry, or what becomes of one, with these values at these places; a place that is not there is passed over. */
export function withValues<T extends object>(
  entry: T,
  members: readonly string[],
  valueAt: (at: number) => unknown,
): T {
  const copy = structuredClone(entry);
  for (const [at, pointer] of members.entries()) {
    const path = pointer.slice(1).split("/");
    const last = path.pop() ?? "";
    const holder = path.reduce<unknown>((value, name) => (value as Members | undefined)?.[name], copy);
    if (typeof holder === "object" && holder !== null && Object.hasOwn(holder, last)) {
      (holder as Record<string, unknown>)[last] = valueAt(at);
    }
  }
  return copy;
}

/** Values that fit an entry as JSON: the hashes of the largest ones tell what these were. They are sealed as well. */
export function boundedValues({ values, ...place }: PersonalValues, digest: Digest): PersonalValues {
  const kept = [...values];
  const sizes = values.map((value, at) => ({ at, bytes: Buffer.byteLength(JSON.stringify(value)) }));
  let bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
  for (const { at, bytes: own } of sizes.toSorted((a, b) => b.bytes - a.bytes)) {
    if (bytes <= limits.audit.max_personal_bytes) break;
    kept[at] = { sha256: digest(canonicalJson(values[at])) };
    bytes -= own;
  }
  return { ...place, values: kept };
}

/**
 * Changes of any resource without what names a person who is not its own: names of operators, whom their identifiers
 * tell, and owners of bank accounts, cards and wallets.
 */
export function withoutNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNames);
  if (typeof value !== "object" || value === null) return value;
  const members = value as Members;
  const isOperator = members["type"] === "operator" && String(members["id"]).startsWith("opr_");
  const kept = Object.entries(members).filter(([name]) => !payeeMembers.has(name) && !(isOperator && name === "name"));
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNames(member)]));
}
