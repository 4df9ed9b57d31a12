import type { AuditSeal } from "../../domain/audit/seal.ts";
import { auditPageType, auditRefType } from "../table-shape.ts";
import { crockford, type Entity, type IndexKeys, inBase32, type Key, ulidOf } from "./keys.ts";

/** Entries of the audit that one publishing transaction adds to the chain of a tenant. */
export interface AuditPage {
  readonly tenant_id: string;
  /** Number of the first entry. */
  readonly first: number;
  readonly count: number;
  /** The entries without their hashes, a line of canonical JSON each: deflated. */
  readonly body: Uint8Array;
  /** The hash of the entry before the first one. */
  readonly previous_hash: Uint8Array;
  /** The hash of each entry, 32 bytes. */
  readonly hashes: Uint8Array;
  readonly expires_at: number;
  /** When the page before it expires: whether that one may be gone. Absent on the first page. */
  readonly previous_expires_at?: number;
}

/** Where an entry is found by its actor and by its resource. */
export interface AuditPointer {
  readonly actor_id: string;
  readonly resource_id: string | null;
  readonly sequence: number;
  /** Its place in its page, from 0. */
  readonly place: number;
}

/** Pointer to an entry whose commit has no event. */
export interface AuditRef extends AuditPointer {
  readonly tenant_id: string;
  readonly expires_at: number;
}

/**
 * Entries of the audit, a page of them for each publishing transaction: an item for each would be a third of what such
 * a transaction holds. One partition: its ceiling of pages takes a quarter of the units that DynamoDB writes to one.
 */
export const auditPages = {
  et: auditPageType,
  partition: (tenant: string) => `${tenant}|AUD`,
  sortOf: (sequence: number) => String(sequence).padStart(16, "0"),
  key: (tenant: string, first: number): Key => ({ pk: auditPages.partition(tenant), sk: auditPages.sortOf(first) }),
  keyOf: (item: AuditPage): Key => auditPages.key(item.tenant_id, item.first),
  toStored: ({ tenant_id: _tenant, first: _first, ...item }: AuditPage) => item,
  fromStored: ({ pk, sk }: Readonly<Record<string, unknown>>) => ({
    tenant_id: String(pk).slice(0, String(pk).indexOf("|")),
    first: Number(sk),
  }),
} satisfies Entity<AuditPage> & Record<string, unknown>;

/** Entries by actor (`list`) and by resource (`client`): the items of first events, and of commits without one. */
export const auditPointers = {
  ofActor: (tenant: string, id: string) => `${tenant}|AUA|${ulidOf(id)}`,
  ofResource: (tenant: string, id: string) => `${tenant}|AUR|${ulidOf(id)}`,
  sortOf: (sequence: number, place: number) => inBase32(sequence, 10) + inBase32(place, 2),
  /** The number of an entry, and the first of its page. */
  placeIn: (sort: string) => {
    const sequence = numberIn(sort.slice(0, 10));
    return { sequence, first: sequence - numberIn(sort.slice(10)) };
  },
  indexesOf: (tenant: string, { actor_id, resource_id, sequence, place }: AuditPointer): IndexKeys => {
    const sort = auditPointers.sortOf(sequence, place);
    const byResource = { client_pk: auditPointers.ofResource(tenant, String(resource_id)), client_sk: sort };
    return {
      list_pk: auditPointers.ofActor(tenant, actor_id),
      list_sk: sort,
      ...(resource_id === null ? {} : byResource),
    };
  },
};

/** Pointers to entries whose commits have no event. */
export const auditRefs = {
  et: auditRefType,
  keyOf: ({ tenant_id, sequence }: AuditRef): Key => ({
    pk: `${tenant_id}|AUDREF`,
    sk: auditPages.sortOf(sequence),
  }),
  indexesOf: (item: AuditRef): IndexKeys => auditPointers.indexesOf(item.tenant_id, item),
  toStored: ({ expires_at }: AuditRef) => ({ expires_at }),
} satisfies Entity<AuditRef> & Record<string, unknown>;

/** How far the audit of a tenant is sealed. */
export const auditSeals = {
  et: "AUDITSEAL",
  key: (tenant: string): Key => ({ pk: `${tenant}|SEAL`, sk: "SEAL" }),
  keyOf: (item: AuditSeal): Key => auditSeals.key(item.tenant_id),
} satisfies Entity<AuditSeal> & Record<string, unknown>;

/** Identifier of an entry: a ULID whose random part ends with its place in its page and its sequence. */
export function auditId(timeMs: number, randomPart: string, { sequence, place }: { sequence: number; place: number }) {
  return `aud_${inBase32(timeMs, 10)}${randomPart.slice(-4)}${inBase32(place, 2)}${inBase32(sequence, 10)}`;
}

/** The number of the entry of an identifier, and the first of its page. */
export function placeOfAudit(id: string): { readonly sequence: number; readonly first: number } {
  return auditPointers.placeIn(id.slice(-10) + id.slice(-12, -10));
}

function numberIn(digits: string): number {
  let value = 0;
  for (const digit of digits) value = value * 32 + crockford.indexOf(digit);
  return value;
}
