import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { payloadDictionary } from "../../../shared/table/packed/dictionary.ts";
import { countOf, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawItem, RawValue } from "../emulator/raw-table.ts";
import { tenantOf } from "./oracle-terms.ts";

const dictionary = Buffer.from(payloadDictionary);

/** An entry of the audit as it is stored. */
export interface RawAudit {
  readonly tenant: string;
  readonly number: number;
  readonly members: Readonly<Record<string, unknown>>;
  readonly previous_hash: string;
  readonly hash: string;
}

/** The entries of the audit in a table, those of each tenant in their order. */
export function auditsIn(items: readonly RawItem[]): RawAudit[] {
  const found = ofType(items, "AUDIT").flatMap((item) => {
    const lines = inflateRawSync(bytesOf(item["body"]), { dictionary }).toString().split("\n");
    const hashes = Buffer.concat([bytesOf(item["previous_hash"]), bytesOf(item["hashes"])]);
    const hashAt = (place: number) => hashes.toString("hex", 32 * place, 32 * (place + 1));
    return lines.map((line, place) => ({
      tenant: tenantOf(item),
      number: Number(text(item, "sk")) + place,
      members: JSON.parse(line),
      previous_hash: hashAt(place),
      hash: hashAt(place + 1),
    }));
  });
  return found.toSorted((a, b) => a.number - b.number);
}

/** An entry as the document says that it is hashed: without its links, and with a mark in each place that is sealed. */
export function hashedForm<T extends object>(shown: T): Omit<T, "_links"> {
  const { _links, ...entry } = structuredClone(shown) as T & { readonly _links?: unknown };
  const { sealed = [] } = entry as { readonly sealed?: readonly { readonly members: readonly string[] }[] };
  for (const pointer of sealed.flatMap(({ members }) => members)) {
    const path = pointer.split("/").slice(1);
    const name = path.pop() ?? "";
    const holder = path.reduce<unknown>((value, each) => Object(value)[each], entry);
    if (Object.hasOwn(Object(holder), name)) Object(holder)[name] = "[sealed]";
  }
  return entry;
}

/**
 * The entries of each tenant are numbered from 1 without a gap up to where the counter stands, each has the hash of the
 * one before it, and no request has two.
 */
export function judgeAudit(items: readonly RawItem[]): string[] {
  const entries = auditsIn(items);
  // Work of the service by itself has no request.
  const asked = entries.filter(({ members }) => members["request_id"] !== null);
  const requests = countOf(asked.map(({ tenant, members }) => `${tenant} ${members["request_id"]}`));
  return [
    ...[...new Set(entries.map(({ tenant }) => tenant))].flatMap((tenant) =>
      judgeChain(
        tenant,
        entries.filter((entry) => entry.tenant === tenant),
        items,
      ),
    ),
    ...[...requests].flatMap(([name, count]) => (count === 1 ? [] : [`${name} has ${count} entries in the audit`])),
  ];
}

function judgeChain(tenant: string, entries: readonly RawAudit[], items: readonly RawItem[]): string[] {
  let hash = "0".repeat(64);
  const faults: string[] = [];
  for (const [place, entry] of entries.entries()) {
    if (entry.number !== place + 1) faults.push(`the audit of ${tenant} has a gap before ${entry.number}`);
    if (entry.previous_hash !== hash) faults.push(`${entry.number} of ${tenant} is not linked to the entry before`);
    const wanted = createHash("sha256")
      .update(hash + sortedJson(entry.members))
      .digest("hex");
    if (entry.hash !== wanted) faults.push(`${entry.number} of ${tenant} has another hash`);
    hash = entry.hash;
  }
  const counter = ofType(items, "SEQ").find((item) => tenantOf(item) === tenant);
  const isHead = counter && whole(counter, "audit_sequence") === BigInt(entries.length);
  return isHead && text(counter, "audit_hash") === hash
    ? faults
    : [...faults, `the audit of ${tenant} has another head`];
}

/** JSON with the members of each object in the order of the code units of their names. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sortedJson(members[name])}`).join()}}`;
}

function bytesOf(value: RawValue | undefined): Buffer {
  if (typeof value !== "object" || value === null || !("bytes" in value)) throw new Error("These are no bytes.");
  return Buffer.from(value.bytes, "base64");
}
