import middy from "@middy/core";
import httpJsonBodyParser from "@middy/http-json-body-parser";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context as LambdaContext } from "aws-lambda";
import { notFound } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { withinBudget } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { isIdentifier } from "../runtime/ids.ts";
import { type RequestNames, traceOfParent, underNames } from "../runtime/trace.ts";
import { awaitingVerdict } from "../runtime/verdict.ts";
import { replyOrder } from "../schema/member-order.ts";
import { moneyMembersOf } from "../schema/money.ts";
import { unknownPath } from "../schema/problem.ts";
import { headerValues, readBody } from "./body.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { checkHeaders } from "./headers.ts";
import { idempotencyScope, type SealingOf } from "./idempotency.ts";
import { HttpProblem, refused } from "./problem.ts";
import { requireRate } from "./rate.ts";
import { finish, problemAnswer } from "./response.ts";
import { senderOf } from "./sender.ts";
import { validBody, validQuery } from "./validate.ts";

/** A function behind API Gateway. */
export type Handler = (event: APIGatewayProxyEvent, context: LambdaContext) => Promise<APIGatewayProxyResult>;

/** A stage of the pipeline: reads the exchange of its request and adds its result to it. */
export type PipelineStep = (exchange: Exchange) => void | Promise<void>;

/**
 * The pipeline of every endpoint, in this order: request id, caller, scope, address, rate, headers, query, body,
 * schema, idempotency, handler, reply. Every answer, including failures, has the common headers and is JSON or a
 * problem document. The whole pipeline shares one time budget; when it is exceeded, the answer is 503. The rate counter
 * answers while the stages after it run: whatever they answer, a refusal by the rate takes its place, and the first
 * write of the handler waits for the counter. A row that shows a secret requires `sealingOf`, so that no secret is
 * stored in clear text.
 * @throws Error when such a row has no `sealingOf`
 */
export function endpoint(
  row: ShippedRoute,
  admission: readonly PipelineStep[],
  work: (exchange: Exchange) => Promise<Answer>,
  sealingOf?: SealingOf,
): Handler {
  if (row.secret === true && sealingOf === undefined) throw new Error(`The row ${row.id} shows a secret: seal it.`);
  // Middy passes the same context to every hook and to the handler, so it identifies the exchange of a request.
  const exchanges = new WeakMap<object, Exchange>();
  const exchangeOf = (context: object) => {
    const exchange = exchanges.get(context);
    if (exchange === undefined) throw new Error("The request has no exchange.");
    return exchange;
  };
  const chain = middy<APIGatewayProxyEvent, APIGatewayProxyResult>({ timeoutEarlyInMillis: 0 });
  const stage = (run: PipelineStep) => chain.before(({ context }) => run(exchangeOf(context)));
  chain.before(({ event, context }) => {
    event.pathParameters = decoded(event.pathParameters);
    exchanges.set(context, newExchange(row, event, context));
  });
  for (const step of admission) stage(step);
  stage(function checkAddress(exchange) {
    // API Gateway ignores trailing slashes when it matches a path: `/clients/` would be the list of clients.
    if (exchange.event.path.endsWith("/")) throw new HttpProblem("not_found", unknownPath);
    // The OAuth endpoints check their own parameters, because their errors have another format (RFC 6749 5.2).
    if (row.media === "form_or_json") return;
    checkHeaders(exchange.event);
    exchange.query = validQuery(
      row.query,
      exchange.event.multiValueQueryStringParameters as Parameters<typeof validQuery>[1],
    );
    checkPath(exchange.event.pathParameters);
  });
  if (row.body !== undefined && row.media !== "form_or_json") {
    stage(function scanBody(exchange) {
      if (row.body_optional === true) fillBody(exchange.event);
      const media = row.media === "merge_patch" ? "merge_patch" : "json";
      const { text, json, numbers } = readBody(exchange.event, media, row.cleaned);
      if (json !== text) Object.assign(exchange.event, { body: json, isBase64Encoded: false });
      exchange.body_text = text;
      exchange.body_numbers = numbers;
      // The parser knows only two spellings of this header; the type itself was checked above.
      exchange.event.headers["content-type"] = "application/json";
    });
    chain.use(httpJsonBodyParser() as middy.MiddlewareObj);
    stage(checkedBody(row));
  }
  stage(function readIdempotencyKey(exchange) {
    if (row.method === "GET" || row.named === true || exchange.caller === undefined) return;
    const required = row.keyed === true;
    const { event, caller, body_text } = exchange;
    exchange.idempotency = idempotencyScope(event, caller.actor, body_text, { sealingOf, required });
  });
  chain.handler((_event, context) => workWhileCounting(exchangeOf(context), work) as never);
  chain.after(async (request) => {
    const exchange = exchangeOf(request.context);
    await requireRate(exchange);
    request.response = await conclude(exchange, request.response as unknown as Answer);
  });
  chain.onError(async (request) => {
    const exchange = exchangeOf(request.context);
    request.response = await conclude(
      exchange,
      problemAnswer(exchange, await prioritizedError(exchange, request.error)),
    );
  });
  const handle = chain as unknown as Handler;
  return (event, context) =>
    underNames(namesOf(event), () => withinBudget(budgetMs(row, context), () => handle(event, context)));
}

/** A caller's trace counts where it is valid and there is one. */
function namesOf(event: APIGatewayProxyEvent): RequestNames {
  const { requestId: request_id } = event.requestContext;
  const [parent = "", ...others] = headerValues(event, "traceparent");
  const trace_id = others.length === 0 ? traceOfParent(parent) : undefined;
  return trace_id === undefined ? { request_id } : { request_id, trace_id };
}

/** The reply of the function. Where the request was refused, its caller's refusal is reported first. */
async function conclude(exchange: Exchange, answer: Answer): Promise<APIGatewayProxyResult> {
  if (answer.refused !== undefined) await exchange.reportRefusal?.(answer.refused);
  return finish(exchange, answer);
}

/** Does the work of a request while the rate counter is asked; its first write waits for the counter. */
function workWhileCounting(exchange: Exchange, work: (exchange: Exchange) => Promise<Answer>): Promise<Answer> {
  return awaitingVerdict(
    () => requireRate(exchange),
    () => work(exchange),
  );
}

/** Time budget of a request in milliseconds: that of its method, reduced to leave time for the answer. */
function budgetMs({ method }: ShippedRoute, context: LambdaContext): number {
  const { read_budget_ms, write_budget_ms } = limits.request;
  const budget_ms = method === "GET" ? read_budget_ms : write_budget_ms;
  return Math.min(budget_ms * env.budgetFactor, wholeTimeMs(context));
}

/** Milliseconds that remain for work before the answer must be sent. */
export function wholeTimeMs(context: Pick<LambdaContext, "getRemainingTimeInMillis">): number {
  return Math.max(0, context.getRemainingTimeInMillis() - limits.request.answer_reserve_ms);
}

/** The error to answer with: a rate refusal comes before the error of the work, or ids could be probed for free. */
async function prioritizedError(exchange: Exchange, error: unknown): Promise<unknown> {
  try {
    await requireRate(exchange);
    return error;
  } catch (refused) {
    return refused;
  }
}

function newExchange(row: ShippedRoute, event: APIGatewayProxyEvent, lambda: LambdaContext): Exchange {
  return {
    row,
    event,
    lambda,
    sender: senderOf(event),
    request_id: event.requestContext.requestId,
    started_ms: nowMs(),
    ends_ms: nowMs() + budgetMs(row, lambda),
    query: {},
    body: undefined,
    body_text: "",
    body_numbers: new Map(),
  };
}

/** REST APIs hand path parameters over as they were sent. One that is not encoded right names nothing as it is. */
function decoded(parameters: APIGatewayProxyEvent["pathParameters"]): APIGatewayProxyEvent["pathParameters"] {
  return parameters && Object.fromEntries(Object.entries(parameters).map(([name, text]) => [name, decodedText(text)]));
}

function decodedText(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Replaces an omitted body, which API Gateway passes as null, by an empty object. Ignores its content type. */
function fillBody(event: APIGatewayProxyEvent): void {
  if (event.body !== null) return;
  event.body = "{}";
  event.headers = { ...event.headers, "Content-Type": "application/json" };
}

/** Checks the body against the schema of its row; money keeps the digits of its source text. */
function checkedBody(row: ShippedRoute): PipelineStep {
  const moneyMembers = moneyMembersOf(row.body);
  const shown = row.media === "merge_patch" ? replyOrder(row.reply) : null;
  const immutable = new Set(shown !== null && "members" in shown ? Object.keys(shown.members) : []);
  return function checkBody(exchange) {
    if (row.body === undefined) return;
    const parsed = exchange.event.body as unknown as Record<string, unknown>;
    for (const [name, source] of exchange.body_numbers) if (moneyMembers.has(name)) parsed[name] = source;
    exchange.body = validBody(row.body, parsed, immutable);
  };
}

/** An identifier of the wrong format gets the same answer as one that does not exist. */
function checkPath(parameters: APIGatewayProxyEvent["pathParameters"]): void {
  const id = parameters?.["id"];
  if (id !== undefined && !isIdentifier(id)) throw refused(notFound().refusal);
}
