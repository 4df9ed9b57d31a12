import type { APIGatewayProxyEvent, Context as LambdaContext } from "aws-lambda";
import type { output as Output } from "zod/v4/core";
import type { Context } from "../domain/decision.ts";
import type { ShippedRoute } from "../routes/route.ts";
import type { RateVerdict } from "../table/counters.ts";
import type { IdempotencyScope, Load, Reply } from "../table/store.ts";
import type { Caller } from "./caller.ts";
import type { ListPlace } from "./page.ts";

/** One request on its way through the pipeline: each stage fills in what it finds. */
export interface Exchange {
  readonly row: ShippedRoute;
  readonly event: APIGatewayProxyEvent;
  readonly lambda: LambdaContext;
  readonly request_id: string;
  readonly started_ms: number;
  /** When its budget is used up, epoch milliseconds. */
  readonly ends_ms: number;
  caller?: Caller;
  /** The answer of the rate counter; beside the handler's own read for a GET. */
  verdict?: Promise<RateVerdict>;
  query: Record<string, string>;
  body: unknown;
  body_text: string;
  /** Source text of the numbers at the top of the body. */
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

/** What a handler sees of a request: validated input, and no way to reach another tenant. */
export interface Request<R extends ShippedRoute> {
  readonly path: PathOf<R>;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: BodyOf<R>;
  readonly caller: Caller;
  /** Where a list is asked for, for its links. */
  readonly place: ListPlace;
  readonly load: Load;
}

/** What the handler of a command sees besides: the context of this decision and the caller's precondition. */
export interface CommandRequest<R extends ShippedRoute> extends Request<R> {
  readonly context: Context;
  /** Ends the request with 412 when the caller's If-Match does not name this version. */
  readonly expectVersion: (version: number) => void;
}

/** The answer of the innermost stage, before the common headers. */
export type Answer = Reply & { readonly replayed?: boolean };
