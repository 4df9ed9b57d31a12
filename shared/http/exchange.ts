import type { APIGatewayProxyEvent, Context as LambdaContext } from "aws-lambda";
import type { output as Output } from "zod/v4/core";
import type { Context } from "../domain/kernel/decision.ts";
import type { ShippedRoute } from "../routes/route.ts";
import type { ProblemCode } from "../schema/problem.ts";
import type { RateVerdict } from "../table/counters.ts";
import type { IdempotencyScope, Load, Reply } from "../table/store.ts";
import type { Caller } from "./caller.ts";
import type { ListPlace } from "./page.ts";
import type { Sender } from "./sender.ts";

/** One request in the pipeline: each stage adds its result. */
export interface Exchange {
  readonly row: ShippedRoute;
  readonly event: APIGatewayProxyEvent;
  readonly lambda: LambdaContext;
  readonly sender: Sender;
  readonly request_id: string;
  readonly started_ms: number;
  /** End of the time budget, epoch milliseconds. */
  readonly ends_ms: number;
  caller?: Caller;
  /** Reports that the caller was refused; absent where no caller is known. */
  reportRefusal?: (code: ProblemCode) => Promise<void>;
  /** The verdict of the rate counter, pending while the handler reads. */
  verdict?: Promise<RateVerdict>;
  query: Record<string, string>;
  body: unknown;
  body_text: string;
  /** Source text of the numbers of the top level of the body. */
  body_numbers: ReadonlyMap<string, string>;
  idempotency?: IdempotencyScope | undefined;
}

/** The names of the parameters of a path: `"id"` of `/clients/{id}`. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

/** The path parameters of a row. */
type PathOf<R extends Pick<ShippedRoute, "path">> = { readonly [Name in ParameterOf<R["path"]>]: string };

/** The validated body of a row. */
type BodyOf<R extends ShippedRoute> = R extends { readonly body: infer S } ? Output<S> : undefined;

/** Input to a handler: validated, and without access to other tenants. */
export interface Request<R extends ShippedRoute> {
  readonly path: PathOf<R>;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: BodyOf<R>;
  readonly caller: Caller;
  /** Path and query of a list, for its links. */
  readonly place: ListPlace;
  readonly load: Load;
}

/** Further input to the handler of a command: the context of the decision and the caller's precondition. */
export interface CommandRequest<R extends ShippedRoute> extends Request<R> {
  readonly context: Context;
  /** Ends the request with 412 if If-Match is present and does not match this version. */
  readonly expectVersion: (version: number) => void;
}

/** The answer of the innermost stage, before the common headers. */
export type Answer = Reply & {
  /** It was stored under an Idempotency-Key and is given again. */
  readonly replayed?: boolean;
  /** Why the request was refused, where this request was. */
  readonly refused?: ProblemCode;
};
