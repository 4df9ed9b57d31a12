import type { $ZodType } from "zod/v4/core";
import type { EventType } from "../schema/event-types.ts";
import type { ProblemCode } from "../schema/problem.ts";
import type { Scope } from "../schema/scope.ts";

/** Items that say who may do what in a brokerage. */
export type Governed = "applications" | "operators" | "brokerages";

/** Deployment stages of the service. */
export const stages = ["sandbox", "production"] as const;
/** One of the deployment stages. */
export type Stage = (typeof stages)[number];

/**
 * Permissions of the function of a row on the main table. The stacks turn each into exactly one IAM action, so a row
 * lists what its handler uses and nothing more: `read` BatchGetItem, `query` Query on the base table, `query:<index>`
 * Query on one index, `put`, `update`, `delete` and `check` the four members of a transaction. `read:quotes` and
 * `put:quotes` are BatchGetItem and PutItem on quotes and on the pulses of their sources, in the volatile table,
 * `read:open_interest` is BatchGetItem on the sums of open positions there, and `read:keys` and `put:keys` are the same
 * two on the keys of persons, in the table of keys.
 */
export type Grant =
  | "read"
  | "query"
  | "query:list"
  | "query:state"
  | "query:owner"
  | "query:client"
  | "put"
  | "update"
  | "delete"
  | "check"
  | "read:quotes"
  | "put:quotes"
  | "read:open_interest"
  | "read:keys"
  | "put:keys";

/** Rights on objects of buckets: `read:exports` opens the files of exports, by addresses that the function signs. */
export type ObjectGrant = "read:exports";

/** Secrets that a row can grant: the key pair that signs tokens, and the key that others are derived from. */
export type SecretName = "signing_key" | "service_key";

/**
 * Partitions that belong to no tenant: applications by client id, public keys, operators by identity, and, which are
 * volatile, the id tokens that were exchanged and the tickets of the stream.
 */
export type GlobalPartition = "client_ids" | "public_keys" | "operator_identities" | "used_tokens" | "stream_tickets";

/** Methods of the API. Every other method of a known path answers 405. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * One endpoint. The stacks, the pipeline, the OpenAPI document, the generated tests and the table of
 * `functions/README.md` are loops over these rows (ADR 0001).
 */
export interface Route {
  /** Operation id, snake_case, unique; with hyphens it is the function's name. */
  readonly id: string;
  readonly method: Method;
  /** Path under the version, parameters in braces: `/clients/{id}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** File of the handler under `functions/`, without `.ts`. */
  readonly file: string;
  /** `token`: behind the authorizer. `none`: open. */
  readonly auth: "token" | "none";
  /** Scope that the token must hold; null if any token is accepted. */
  readonly scope: Scope | null;
  /** Further scopes that the handler requires for some requests. */
  readonly further_scopes?: readonly Scope[];
  /**
   * Rate limit that a request counts against; `none`: not counted. `token`: counted by the endpoint itself, per client
   * and address, because the caller is not known before.
   */
  readonly rate: "standard" | "quotes" | "feed" | "feed_quotes" | "token" | "none";
  /**
   * Whether a command reads the application or operator who calls once more, since the authorizer's answer is up to a
   * minute old: `read` with the first read that it makes anyway; `held` as a condition of its commit too, and
   * `held_by_operators` only where an operator calls. At 50 commands a second a condition would make the item of an
   * application hot (ADR 0006).
   */
  readonly standing?: "read" | "held" | "held_by_operators";
  readonly grants: readonly Grant[];
  readonly objects?: readonly ObjectGrant[];
  /** Partitions without a tenant that a grant includes, or the right to count requests. */
  readonly globals?: Readonly<Partial<Record<"read" | "query" | "put" | "count", readonly GlobalPartition[]>>>;
  /** Kinds of tenant partitions that the grants include; all if undefined. */
  readonly within?: readonly ("applications" | "families" | "operators" | "brokerages")[];
  /** People and policies that the handler writes; its function is denied to write the others. */
  readonly governs?: readonly Governed[];
  /** The grants include no partition of a tenant, only global ones. */
  readonly tenantless?: true;
  /** Secrets that the function may read. */
  readonly secrets?: readonly SecretName[];
  /** The function verifies tokens of the operators' user pool. It knows the issuer, the client and the key set only. */
  readonly pool?: true;
  /** The function hands out the address of the stream, which is in its environment. */
  readonly stream?: true;
  /**
   * The answer shows a secret that cannot be read again. Its record under an Idempotency-Key is encrypted, so the row
   * also lists `service_key` in `secrets` and its handler is a `secretCommand`.
   */
  readonly secret?: true;
  /**
   * The request identifies its own parts, each of which is applied once: repeating it changes nothing, and an
   * Idempotency-Key is neither accepted nor needed.
   */
  readonly named?: true;
  /** The request must have an Idempotency-Key: a lost answer could not be got again otherwise. */
  readonly keyed?: true;
  /** Text of the body comes from another system and is cleaned where it is read, so that it cannot block the rest. */
  readonly cleaned?: true;
  /** Queues of deliveries that the function sends to. */
  readonly queues?: readonly "deliver"[];
  readonly query?: $ZodType;
  readonly body?: $ZodType;
  /** The body may be omitted; it is then read as an empty object. */
  readonly body_optional?: true;
  /** How the body travels, `json` if undefined. A merge patch (RFC 7396) is also accepted as application/json. */
  readonly media?: "json" | "merge_patch" | "form_or_json";
  readonly reply: $ZodType;
  /** The reply can be had as a table as well, by `Accept` or by `format` in its query. */
  readonly table?: true;
  readonly status: 200 | 201 | 202;
  /** Example of the body, sent by the tests and shown in the OpenAPI document. */
  readonly example?: unknown;
  /** Codes that the handler may refuse with, in addition to those of every row. */
  readonly refusals: readonly ProblemCode[];
  /** Codes that the handler refuses with as 409 instead of their own status, because a state causes the refusal. */
  readonly conflicts?: readonly ProblemCode[];
  /** Events that a commit of this endpoint may write. */
  readonly emits: readonly EventType[];
  readonly stages: readonly Stage[];
}

/**
 * The members of a row that its function has at run time; the others are for the stacks and the description of the API
 * and are not shipped. The pipeline reads a row by this type, so it cannot read a member that is not shipped.
 */
export type ShippedRoute = Pick<
  Route,
  | "id"
  | "method"
  | "path"
  | "scope"
  | "rate"
  | "query"
  | "body"
  | "body_optional"
  | "media"
  | "named"
  | "keyed"
  | "cleaned"
  | "secret"
  | "standing"
  | "reply"
  | "status"
>;

/** Whether a row is about one feed source, which an application that is bound to others is refused. */
export function isOfSource({ method, path }: Pick<Route, "method" | "path">): boolean {
  return path.startsWith("/feed/sources/") || (path === "/feed/sources" && method !== "GET");
}

/** Defaults of the members that most rows have in common. */
const defaults = {
  auth: "token",
  rate: "standard",
  status: 200,
  refusals: [],
  emits: [],
  stages,
} as const satisfies Partial<Route>;

type Defaults = typeof defaults;

/** A row as it is declared: without the members that have their default, which the compiler refuses to see repeated. */
type DeclaredRoute = Omit<Route, keyof Defaults | "media"> & {
  readonly auth?: Exclude<Route["auth"], Defaults["auth"]>;
  readonly rate?: Exclude<Route["rate"], Defaults["rate"]>;
  readonly status?: Exclude<Route["status"], Defaults["status"]>;
  readonly refusals?: readonly [ProblemCode, ...ProblemCode[]];
  readonly emits?: readonly [EventType, ...EventType[]];
  readonly stages?: readonly [Stage];
  readonly media?: Exclude<Route["media"], "json">;
};

/**
 * Declares a row, with the default of every member that it leaves out: behind the authorizer, counted against the
 * standard rate, answered with 200, no refusals of its own, no events, deployed to both stages. The type keeps the
 * row's own schemas, from which a handler's input is inferred.
 * @__NO_SIDE_EFFECTS__
 */
// @__NO_SIDE_EFFECTS__
export function route<const R extends DeclaredRoute>(row: R): R & Pick<Route, keyof Defaults> {
  return { ...defaults, ...row };
}
