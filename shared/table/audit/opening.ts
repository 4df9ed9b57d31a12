import { erasedMark, withValues } from "../../domain/audit/personal.ts";
import type { SealedValues } from "../../domain/kernel/audited.ts";
import { causeOf, log } from "../../runtime/log.ts";
import type { ShownAudit } from "../audit-entry.ts";
import { personKeys } from "../entities.ts";
import { findAll } from "../store.ts";
import { openValues } from "./sealing.ts";

/**
 * Entries as they are shown: with the personal values that a key still opens, and a mark where none does. The keys are
 * read for each request and kept nowhere, so that nothing opens once a key is destroyed.
 */
export async function openedAudits<T extends ShownAudit>(tenant: string, entries: readonly T[]): Promise<T[]> {
  const persons = [...new Set(entries.flatMap(({ sealed = [] }) => sealed.map(({ person }) => person)))];
  if (persons.length === 0) return [...entries];
  const found = await findAll(
    personKeys,
    persons.map((person) => personKeys.key(tenant, person)),
  );
  const keys = new Map(found.map(({ person_id, private_key }) => [person_id, private_key]));
  return entries.map((entry) =>
    (entry.sealed ?? []).reduce((shown, sealed) => {
      const values = valuesOf(tenant, sealed, keys.get(sealed.person), entry.id);
      return withValues(shown, sealed.members, (at) => (values === undefined ? erasedMark : values[at]));
    }, entry),
  );
}

/** The values; undefined without a key, and for a text that was changed, which a check of the chain names. */
function valuesOf(tenant: string, sealed: SealedValues, key: string | undefined, id: string) {
  if (key === undefined) return undefined;
  try {
    return openValues(tenant, sealed, key);
  } catch (error) {
    log.error("security: a sealed text of the audit does not open", {
      tenant_id: tenant,
      id,
      ...causeOf(error),
    });
    return undefined;
  }
}
