import type { Application } from "../../domain/records/application.ts";
import type { Family } from "../../domain/records/family.ts";
import type { Operator, OperatorKey } from "../../domain/records/operator.ts";
import type { Tenant } from "../../domain/records/tenant.ts";
import { sha256 } from "../../runtime/digest.ts";
import { applicationType, operatorKeyType, operatorType } from "../table-shape.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, ulidOf } from "./keys.ts";

/** Tenants with their policies. */
export const tenants = {
  et: "TENANT",
  key: (id: string): Key => ({ pk: id, sk: "TENANT" }),
  keyOf: (item: Tenant): Key => tenants.key(item.id),
} satisfies Entity<Tenant> & Record<string, unknown>;

/** Applications of a tenant (`list`); those whose API key is to be made or removed (`due`). */
export const applications = {
  et: applicationType,
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "APP" }),
  keyOf: (item: Application): Key => applications.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|APP`,
  indexesOf: (item: Application): IndexKeys => ({
    list_pk: applications.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    ...(item.wake_at === null ? {} : dueKeys("APP", item.id, item.wake_at)),
  }),
} satisfies Entity<Application> & Record<string, unknown>;

/** Where the application of a client id is: a token request knows no tenant yet. */
export interface ApplicationRef {
  readonly client_id: string;
  readonly application_id: string;
  readonly owner_tenant_id: string;
}

/** References by client id: one of the few partitions that no tenant owns. */
export const applicationRefs = {
  et: "APPREF",
  partition: "GLOBAL|CLIENTID",
  key: (clientId: string): Key => ({ pk: applicationRefs.partition, sk: clientId }),
  keyOf: (item: ApplicationRef): Key => applicationRefs.key(item.client_id),
} satisfies Entity<ApplicationRef> & Record<string, unknown>;

/** Families of tokens; a token names its family, so none is ever looked for. */
export const families = {
  et: "FAMILY",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "FAMILY" }),
  keyOf: (item: Family): Key => families.key(item.tenant_id, item.id),
} satisfies Entity<Family> & Record<string, unknown>;

/** Operators of a tenant (`list`); those whose user of the pool is to be made (`due`). */
export const operators = {
  et: operatorType,
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: operatorType }),
  keyOf: (item: Operator): Key => operators.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|${operatorType}`,
  indexesOf: (item: Operator): IndexKeys => ({
    ...(item.status === "removed" ? {} : { list_pk: operators.all(item.tenant_id), list_sk: ulidOf(item.id) }),
    ...(item.wake_at === null ? {} : dueKeys("APP", item.id, item.wake_at)),
  }),
} satisfies Entity<Operator> & Record<string, unknown>;

/** The API key of the operators of a tenant; while it is to be made it is `due`. It is named among the operators. */
export const operatorKeys = {
  et: operatorKeyType,
  key: (tenant: string): Key => ({ pk: `${tenant}#opr_key`, sk: operatorKeyType }),
  keyOf: (item: OperatorKey): Key => operatorKeys.key(item.tenant_id),
  indexesOf: (item: OperatorKey): IndexKeys => (item.wake_at === null ? {} : dueKeys("APP", item.id, item.wake_at)),
} satisfies Entity<OperatorKey> & Record<string, unknown>;

/** Key to the sealed values of a person in the audit, or the note that it was destroyed. */
export interface PersonKey {
  readonly tenant_id: string;
  /** Identifier of the client or operator. */
  readonly person_id: string;
  /** Absent once it was destroyed. */
  readonly private_key?: string;
  readonly created_at?: string;
  /** Set once it was destroyed: the item stays, so that no other key takes its place. */
  readonly destroyed_at?: string;
}

/** Keys of persons, in a table of their own: it has no backups, so what is destroyed is nowhere. */
export const personKeys = {
  et: "PERSONKEY",
  key: (tenant: string, person: string): Key => ({ pk: `${tenant}#${person}`, sk: "PERSONKEY", keys: true }),
  keyOf: (item: PersonKey): Key => personKeys.key(item.tenant_id, item.person_id),
} satisfies Entity<PersonKey> & Record<string, unknown>;

/** Operators that a user of the pool is, one at most in each tenant: a token of the pool knows no tenant. */
export interface OperatorIdentity {
  /** SHA-256 of issuer and subject, see `identityHash`. */
  readonly identity_sha256: string;
  readonly places: readonly { readonly place_tenant_id: string; readonly operator_id: string }[];
  readonly version: number;
}

/** Operators by identity: partitions that no tenant owns. */
export const operatorIdentities = {
  et: "OPRIDENTITY",
  key: (identity: string): Key => ({ pk: `GLOBAL|OPERATOR|${identity}`, sk: "IDENTITY" }),
  keyOf: (item: OperatorIdentity): Key => operatorIdentities.key(item.identity_sha256),
} satisfies Entity<OperatorIdentity> & Record<string, unknown>;

/** Id tokens of the user pool that were exchanged, in the volatile table: each is accepted once. */
export const usedTokens = {
  et: "USEDTOKEN",
  key: (issuer: string, jti: string): Key => ({
    pk: `GLOBAL|USED|${sha256(`${issuer}\n${jti}`)}`,
    sk: "USED",
    volatile: true,
  }),
};

/** Failed client authentications from one address in one clock minute, in the volatile table. The address is hashed. */
export const failureCounters = {
  et: "FAIL",
  key: (address: string, minute: number): Key => ({ pk: `GLOBAL|FAIL|${sha256(address)}`, sk: String(minute) }),
};

/** A public signing key (RFC 7517), kept until its last token has expired. */
export interface PublicKey {
  readonly kid: string;
  /** The public key as JSON Web Key. */
  readonly jwk: Readonly<Record<string, string>>;
  readonly published_at: string;
  /** Epoch seconds; absent for the key that signs now. */
  readonly expires_at?: number;
}

/** Public keys of the stage, in a global partition. */
export const publicKeys = {
  et: "KEY",
  partition: "GLOBAL|KEYS",
  key: (kid: string): Key => ({ pk: "GLOBAL|KEYS", sk: kid }),
  keyOf: (item: PublicKey): Key => publicKeys.key(item.kid),
} satisfies Entity<PublicKey> & Record<string, unknown>;
