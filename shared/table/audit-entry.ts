import { canonicalJson } from "../domain/audit/canonical-json.ts";
import { type ChainedEntry, chained, type Link } from "../domain/audit/chain.ts";
import type { AuditEntry } from "../domain/audit/entry.ts";
import { sha256 } from "../runtime/digest.ts";
import { causeOf, log } from "../runtime/log.ts";
import type { AuditPage } from "./entities.ts";
import { payloadDictionary } from "./packed/dictionary.ts";
import { packText, unpackText } from "./packed/text.ts";

/** An entry as it is shown and exported. */
export type ShownAudit = AuditEntry & ChainedEntry;

/** An entry with the address of its own. */
export function linkedAudit(entry: ShownAudit): object {
  return { ...entry, _links: { self: { href: `/v2/audit_log/${entry.id}` } } };
}

/** Adds entries to the chain of a tenant, as one page. Returns how it is stored, and the head of the chain after it. */
export function auditPage(
  entries: readonly AuditEntry[],
  before: Link,
  place: Pick<AuditPage, "tenant_id" | "expires_at" | "previous_expires_at">,
): { readonly page: AuditPage; readonly head: Link } {
  let head = before;
  const hashes: string[] = [];
  const lines = entries.map((entry) => {
    const { hash, previous_hash: _previous, ...members } = chained(entry, head, sha256);
    head = { sequence: head.sequence + 1, hash };
    hashes.push(hash);
    return canonicalJson(members);
  });
  const page = {
    ...place,
    first: before.sequence + 1,
    count: entries.length,
    body: packText(lines.join("\n"), payloadDictionary),
    previous_hash: Buffer.from(before.hash, "hex"),
    hashes: Buffer.from(hashes.join(""), "hex"),
  };
  return { page, head };
}

/** The entries of a page as they are shown, in their order. */
export function entriesOf({ body, previous_hash, hashes }: AuditPage): readonly ShownAudit[] {
  const bytes = Buffer.from(hashes);
  const hashAt = (place: number) =>
    place < 0 ? Buffer.from(previous_hash).toString("hex") : bytes.toString("hex", place * 32, (place + 1) * 32);
  const lines = unpackText(body, payloadDictionary).toString().split("\n");
  return lines.map((line, place) => ({
    ...JSON.parse(line),
    previous_hash: hashAt(place - 1),
    hash: hashAt(place),
  }));
}

/** The entries of a page for a list, which shows none of a page that cannot be read: a check of the chain names it. */
export function shownIn(page: AuditPage): readonly ShownAudit[] {
  try {
    return entriesOf(page);
  } catch (error) {
    const { tenant_id, first } = page;
    log.error("security: a page of the audit cannot be read", { tenant_id, first, ...causeOf(error) });
    return [];
  }
}

/** The entries of a page; of one that cannot be read an entry that no hash fits. */
export function readable(page: AuditPage): readonly ShownAudit[] {
  try {
    return entriesOf(page);
  } catch {
    return [{ id: null, sequence: String(page.first), previous_hash: "", hash: "" } as unknown as ShownAudit];
  }
}
