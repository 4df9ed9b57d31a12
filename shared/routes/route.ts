import type { $ZodType } from "zod/v4/core";
import type { EventType } from "../schema/event-types.ts";
import type { ProblemCode } from "../schema/problem.ts";
import type { Scope } from "../schema/scope.ts";

/** Deployment stages of the service. */
export const stages = ["sandbox", "production"] as const;
/** One of the deployment stages. */
export type Stage = (typeof stages)[number];

/**
 * What the function of a row may do in the main table. The stacks turn each into exactly one IAM action, so a row
 * names what its handler uses and nothing more: `read` BatchGetItem, `query` Query on the base table, `query:<index>`
 * Query on one index, `put`, `update`, `delete` and `check` the four members of a transaction. `read:quotes` and
 * `put:quotes` are BatchGetItem and PutItem on quotes and on the pulses of their sources, in the volatile table.
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
  | "put:quotes";

/** Secrets that functions can be let read: the key pair of the tokens, and the key that others are derived from. */
export type SecretName = "signing_key" | "service_key";

/** Partitions that belong to no tenant: applications by client id, and public keys. */
export type GlobalPartition = "client_ids" | "public_keys";

/** Methods of the API. Every other method of a known path answers 405. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * One endpoint. The stacks, the pipeline, the OpenAPI document, the generated tests and the README table are loops over
 * these rows (ADR 0001).
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
  /** Scope that the token must hold; null when any token will do. */
  readonly scope: Scope | null;
  /** Scopes that the handler asks for besides, each for some of what can be asked of it. */
  readonly further_scopes?: readonly Scope[];
  /**
   * Which limit a request counts against; `none` counts nothing. `token`: counted by the endpoint itself, per client
   * and address, because the caller is known only then.
   */
  readonly rate: "standard" | "quotes" | "feed" | "feed_quotes" | "token" | "none";
  readonly grants: readonly Grant[];
  /** Partitions without a tenant that a grant reaches as well. */
  readonly globals?: Readonly<Partial<Record<"read" | "query" | "put", readonly GlobalPartition[]>>>;
  /** Of the partitions of tenants the grants reach those of these kinds only; without it, all. */
  readonly within?: readonly ("applications" | "families")[];
  /** The grants reach no partition of a tenant, only the global ones. */
  readonly tenantless?: true;
  /** Secrets that the function may read. */
  readonly secrets?: readonly SecretName[];
  /**
   * The answer shows a secret that nobody can read again. Its record under an Idempotency-Key is sealed, so the row
   * also names `service_key` in `secrets` and its handler is a `secretCommand`.
   */
  readonly secret?: true;
  /**
   * What is sent names its own parts, each of which is applied once: a repetition changes nothing, and an
   * Idempotency-Key is neither taken nor needed.
   */
  readonly named?: true;
  /** Text in the body is another system's and cleaned where it is read: nothing in it may hold up the rest. */
  readonly cleaned?: true;
  /** It computes for seconds and gets a whole processor for it. */
  readonly computes?: true;
  /** Queues of deliveries that the function sends to. */
  readonly queues?: readonly "deliver"[];
  readonly query?: $ZodType;
  readonly body?: $ZodType;
  /** The body may be left out; then it is read as an object without members. */
  readonly body_optional?: true;
  /** How the body travels, `json` if undefined. A merge patch (RFC 7396) is also accepted as application/json. */
  readonly media?: "json" | "merge_patch" | "form_or_json";
  readonly reply: $ZodType;
  readonly status: 200 | 201 | 202;
  /** Example of the body, tried by the tests and shown in the OpenAPI document. */
  readonly example?: unknown;
  /** Codes that the handler itself may refuse with, beside those every row has. */
  readonly refusals: readonly ProblemCode[];
  /** Codes that it refuses with as 409 although their own status is another: the state is wrong, not the request. */
  readonly conflicts?: readonly ProblemCode[];
  /** Events that a commit of this endpoint may write. */
  readonly emits: readonly EventType[];
  readonly stages: readonly Stage[];
}

/**
 * What a function has of its row at run time; the rest is for the stacks and the description of the API and is not
 * shipped. The pipeline reads a row by this type, so it cannot read what is not there.
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
  | "cleaned"
  | "secret"
  | "reply"
  | "status"
>;

/** What most rows have in common. */
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
