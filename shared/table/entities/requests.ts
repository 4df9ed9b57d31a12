import type { UniqueKind } from "../../domain/kernel/decision.ts";
import { sha256 } from "../../runtime/digest.ts";
import type { Entity, Key } from "./keys.ts";

/** A value that belongs to one resource of the tenant. The value is hashed: personal data stays out of keys. */
export const uniques = {
  et: "UQ",
  partition: (tenant: string, kind: UniqueKind) => `${tenant}|UQ|${kind}`,
  key: (tenant: string, kind: UniqueKind, value: string): Key => ({
    pk: uniques.partition(tenant, kind),
    sk: sha256(value),
  }),
};

/** The stored answer of a request with an Idempotency-Key. */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly key_hash: string;
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sealed when the answer shows a secret. */
  readonly body: string;
  /** Epoch seconds; compared on every use, because DynamoDB deletes late. */
  readonly expires_at: number;
}

/** Stored answers, by application and hashed key. */
export const storedReplies = {
  et: "IDEM",
  key: (tenant: string, application: string, keyHash: string): Key => ({
    pk: `${tenant}|IDEM|${application}|${keyHash}`,
    sk: "IDEM",
  }),
  keyOf: (item: StoredReply): Key => storedReplies.key(item.tenant_id, item.application_id, item.key_hash),
} satisfies Entity<StoredReply> & Record<string, unknown>;

/** Request counter of an application for one clock minute, in the volatile table. */
export const rateCounters = {
  et: "RATE",
  key: (tenant: string, application: string, minute: number): Key => ({
    pk: `${tenant}|RATE|${application}`,
    sk: String(minute),
  }),
};
