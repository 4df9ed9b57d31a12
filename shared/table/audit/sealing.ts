import {
  boundedValues,
  erasedMark,
  personalIn,
  personalOf,
  sealedMark,
  withValues,
} from "../../domain/audit/personal.ts";
import type { AuditedChange, PersonalValues, SealedValues } from "../../domain/kernel/audited.ts";
import type { Origin } from "../../domain/kernel/decision.ts";
import { sha256 } from "../../runtime/digest.ts";
import { openWith, sealFor } from "../../runtime/person-key.ts";

/** The public key of a person, where there is one; undefined for one whose data was erased. */
type PublicKeyOf = (person: string) => string | undefined;

/** A sealed value belongs to a person of a tenant, and to these places of an entry. */
function sealingContext(tenant: string, { person, members }: Pick<SealedValues, "person" | "members">): string {
  return [tenant, person, ...members].join("\n");
}

/** An entry, or what becomes of one, whose personal values were taken out, and these as they are stored. */
interface WithSealed<T> {
  readonly kept: T;
  readonly sealed: readonly SealedValues[];
}

/**
 * Takes personal values out of what becomes an entry and seals them, those of each person by themselves. No key is
 * read: the public one seals. Values of a person without a key are erased.
 */
function withSealed<T extends object>(
  tenant: string,
  entry: T,
  found: readonly PersonalValues[],
  publicKeyOf: PublicKeyOf,
): WithSealed<T> {
  let kept = entry;
  const sealed: SealedValues[] = [];
  for (const values of found) {
    const { person, members } = values;
    const key = publicKeyOf(person);
    kept = withValues(kept, members, () => (key === undefined ? erasedMark : sealedMark));
    if (key === undefined) continue;
    const plain = JSON.stringify(boundedValues(values, sha256).values);
    sealed.push({ person, members, text: sealFor(key, plain, sealingContext(tenant, { person, members })) });
  }
  return { kept, sealed };
}

/** The audit's record of a call: names of an operator are sealed by their key, and a program is named. */
export function originFor(
  tenant: string,
  call: Required<Pick<Origin, "action" | "actor" | "ip" | "user_agent">>,
  publicKey: string | undefined,
): Origin {
  const found = personalOf(call);
  if (found.length === 0) return { action: call.action, ip: call.ip, user_agent: call.user_agent };
  const { kept, sealed } = withSealed(tenant, call, found, () => publicKey);
  return { ...kept, ...(sealed.length === 0 ? {} : { sealed }) };
}

/** The changes of a command, as the audit stores them: personal values are sealed. */
export function sealedChange<T extends { readonly changes: readonly AuditedChange[] }>(
  tenant: string,
  shown: T,
  publicKeyOf: PublicKeyOf,
): T & { readonly sealed: readonly SealedValues[] } {
  const { kept, sealed } = withSealed(tenant, shown, personalIn(shown.changes), publicKeyOf);
  return { ...kept, sealed };
}

/**
 * The values that were sealed.
 * @throws Error when they were sealed by another key or for another place, or were changed
 */
export function openValues(tenant: string, sealed: SealedValues, privateKey: string): readonly unknown[] {
  return JSON.parse(openWith(privateKey, sealed.text, sealingContext(tenant, sealed)));
}
