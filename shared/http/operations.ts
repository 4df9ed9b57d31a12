import { type Context, notFound, type Origin } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { withinBudget } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { absolute } from "../runtime/links.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inOrder, type MemberOrder, replyOrder } from "../schema/member-order.ts";
import { personsIn } from "../table/audit/announcement.ts";
import { originFor, sealedChange } from "../table/audit/sealing.ts";
import { execute } from "../table/commit/execute.ts";
import { newContext } from "../table/context.ts";
import type { RateVerdict } from "../table/counters.ts";
import { type Committable, type Load, loadItems } from "../table/store.ts";
import { admitCaller, checkStanding, countRate, countRateWhole, standingOf } from "./admission.ts";
import { shownChange, userAgentOf } from "./audited.ts";
import { headerOf } from "./body.ts";
import type { Caller } from "./caller.ts";
import { endpoint, type Handler, wholeTimeMs } from "./endpoint.ts";
import type { Answer, CommandRequest, Exchange, Request } from "./exchange.ts";
import type { SealingOf } from "./idempotency.ts";
import { HttpProblem, refused } from "./problem.ts";
import { reportGiven } from "./refusals.ts";
import { matchesVersion, notModified, type ResourceBody, resourceReply } from "./reply.ts";
import { refusalAnswer } from "./response.ts";
import { warmedUp } from "./warm-up.ts";

/**
 * An endpoint that reads one resource: `work` returns its representation, or undefined if it does not exist (404).
 * Where a request asks for it, `table` answers with the same as a table.
 */
export function read<R extends ShippedRoute, T extends object>(
  row: R,
  work: (request: Request<R>) => Promise<T | undefined>,
  table?: TableReply<T>,
): Promise<Handler> {
  const order = replyOrder(row.reply);
  const handler = endpoint(row, [admitCaller, countRate], async (exchange) => {
    const found = await work(requestOf<R>(exchange, loaderFor(exchange), order));
    if (found === undefined) throw refused(notFound().refusal);
    if (table?.isAsked(exchange)) {
      await reportGiven(exchange, callerIn(exchange));
      return table.show(found);
    }
    return notModified(exchange.event, resourceReplyOf(row, order, found));
  });
  return warmedUp(row, handler);
}

/** A second form of an answer, an export: each leaves an entry of the audit. */
export interface TableReply<T> {
  readonly isAsked: (exchange: Exchange) => boolean;
  readonly show: (found: T) => Answer;
}

/** Input to the handler of {@link readCounts}: the caller, the time, and all counts of the minute. */
export interface CountsRequest {
  readonly caller: Caller;
  readonly counts: RateVerdict["counts"];
  /** The gateway's time of the request, epoch milliseconds: windows are counted by it. */
  readonly time_ms: number;
}

/** An endpoint that shows what the rate counter has of its caller, which it learns as it is counted itself. */
export function readCounts(row: ShippedRoute, show: (request: CountsRequest) => object): Promise<Handler> {
  const order = replyOrder(row.reply);
  const handler = endpoint(row, [admitCaller, countRateWhole], async (exchange) => {
    const counts = (await exchange.verdict)?.counts;
    const time_ms = exchange.event.requestContext.requestTimeEpoch;
    return resourceReplyOf(row, order, show({ caller: callerIn(exchange), counts, time_ms }));
  });
  return warmedUp(row, handler);
}

/**
 * An endpoint that reads a page: `work` returns the answer, or undefined if the owner of the list does not exist
 * (404).
 */
export function list<R extends ShippedRoute>(
  row: R,
  work: (request: Request<R>) => Promise<Answer | undefined>,
): Promise<Handler> {
  const order = replyOrder(row.reply);
  const handler = endpoint(row, [admitCaller, countRate], async (exchange) => {
    const page = await work(requestOf<R>(exchange, loaderFor(exchange), order));
    if (page === undefined) throw refused(notFound().refusal);
    return page;
  });
  return warmedUp(row, handler);
}

/** Parts of a command that most commands do without. */
interface CommandOptions<T> {
  /** How a stored answer with a secret is sealed; `secretCommand` passes it. */
  readonly sealingOf?: SealingOf;
  /**
   * Follow-up work in the remaining time of the function. It may be cut off, so a sweep must be able to complete it.
   */
  readonly afterCommit?: AfterCommit<T>;
}

/**
 * An endpoint that changes state: `decide` loads and decides, and may run several times; its changes, events and stored
 * answer are committed in one transaction. `show` makes the representation of the result. For an endpoint that shows a
 * secret use `secretCommand`.
 */
export function command<R extends ShippedRoute, T>(
  row: R,
  decide: (request: CommandRequest<R>) => Promise<Committable<T>>,
  show: (result: T) => object,
  { sealingOf, afterCommit }: CommandOptions<T> = {},
): Promise<Handler> {
  const order = replyOrder(row.reply);
  const work = async (exchange: Exchange): Promise<Answer> => {
    let shown: { readonly result: T } | undefined;
    const outcome = await execute<T>({
      tenant_id: callerIn(exchange).tenant_id,
      standing: standingOf(exchange, callerIn(exchange)),
      idempotency: exchange.idempotency,
      newContext: () => contextOf(exchange, originOf(exchange)),
      decide: (load, context) => {
        shown = undefined;
        return decide({
          ...requestOf<R>(exchange, load, order),
          context,
          expectVersion: (version) => expectVersion(exchange, version),
        });
      },
      show: (result) => {
        shown = { result };
        return resourceReplyOf(row, order, show(result));
      },
      audited: (result, changes) => {
        const keys = personsIn(changes);
        const shown = shownChange(row, targetOf(exchange), show(result), changes);
        return sealedChange(callerIn(exchange).tenant_id, shown, (person) => keys.get(person));
      },
      showRefusal: (refusal) => refusalAnswer(exchange, refusal),
      remainingMs: () => exchange.ends_ms - nowMs(),
    });
    if (outcome.kind === "key_reused") {
      throw new HttpProblem("idempotency_key_reused", "This Idempotency-Key was used with another request.");
    }
    if (outcome.kind === "contended") {
      throw new HttpProblem(
        "service_unavailable",
        "Too many concurrent requests change this resource. Nothing was changed.",
        {
          headers: { "Retry-After": String(limits.commit.retry_after_seconds) },
        },
      );
    }
    if (outcome.kind === "fresh" && shown !== undefined) await followUp(exchange, shown.result, afterCommit);
    return { ...outcome.reply, replayed: outcome.kind === "replayed" };
  };
  return warmedUp(row, endpoint(row, [admitCaller, countRate], work, sealingOf));
}

type AfterCommit<T> = (result: T, remainingMs: () => number) => Promise<void>;

/** Runs the work after a commit. Its failure does not change the answer, because the change is committed. */
async function followUp<T>({ lambda, row }: Exchange, result: T, afterCommit?: AfterCommit<T>): Promise<void> {
  if (afterCommit === undefined) return;
  const work = () => afterCommit(result, () => lambda.getRemainingTimeInMillis());
  await withinBudget(wholeTimeMs(lambda), work).catch((error: unknown) => {
    log.error("Work after a commit failed; the sweep completes it.", { operation: row.id, ...causeOf(error) });
  });
}

/** Further input to the handler of an ingestion: contexts for its decisions, and its time limits. */
export interface IngestRequest<R extends ShippedRoute> extends Request<R> {
  readonly newContext: () => Context;
  /** The same with whom the audit names: a commit with it has its entry. */
  readonly newCommandContext: () => Context;
  /** Reports for the audit that the request gave something out without a commit. */
  readonly reportGiven: () => Promise<void>;
  /**
   * Runs work that consists of many parts in the whole time of the function, beyond the budget of other requests. The
   * answer names the parts for which there was no time.
   */
  readonly inFullTime: <T>(work: () => Promise<T>) => Promise<T>;
  /** Milliseconds until Lambda ends the function. */
  readonly remainingMs: () => number;
}

/**
 * An endpoint that ingests numbered or named parts: each part is applied once, however often it is sent, in its own
 * transaction, and the answer has the result of each. So it takes no Idempotency-Key. `work` returns the
 * representation of the result, or undefined if the resource of the path does not exist (404).
 */
export function ingest<R extends ShippedRoute>(
  row: R,
  work: (request: IngestRequest<R>) => Promise<object | undefined>,
): Promise<Handler> {
  const order = replyOrder(row.reply);
  const handler = endpoint(row, [admitCaller, countRate], async (exchange) => {
    await checkStanding(exchange, callerIn(exchange));
    const receipt = await work({
      ...requestOf<R>(exchange, loaderFor(exchange), order),
      newContext: () => contextOf(exchange),
      newCommandContext: () => contextOf(exchange, originOf(exchange)),
      reportGiven: () => reportGiven(exchange, callerIn(exchange)),
      inFullTime: (part) => withinBudget(wholeTimeMs(exchange.lambda), part),
      remainingMs: () => exchange.lambda.getRemainingTimeInMillis(),
    });
    if (receipt === undefined) throw refused(notFound().refusal);
    return resourceReplyOf(row, order, receipt);
  });
  return warmedUp(row, handler);
}

function resourceReplyOf(row: ShippedRoute, order: MemberOrder, body: object): Answer {
  return resourceReply(row.status, inOrder(order, body, absolute) as ResourceBody);
}

function requestOf<R extends ShippedRoute>(exchange: Exchange, load: Load, order: MemberOrder): Request<R> {
  return {
    // API Gateway matches a path only with a value for every parameter of it.
    path: (exchange.event.pathParameters ?? {}) as Request<R>["path"],
    query: exchange.query,
    body: exchange.body as Request<R>["body"],
    caller: callerIn(exchange),
    place: { path: exchange.event.requestContext.path, query: exchange.query, order },
    load,
  };
}

function loaderFor(exchange: Exchange): Load {
  const { tenant_id } = callerIn(exchange);
  return (refs) => loadItems(tenant_id, refs);
}

function callerIn(exchange: Exchange): Caller {
  if (exchange.caller === undefined) throw new HttpProblem("unauthenticated", "A valid access token is required.");
  return exchange.caller;
}

function contextOf(exchange: Exchange, origin?: Origin): Context {
  const { tenant_id, actor, scopes, role } = callerIn(exchange);
  const { request_id } = exchange;
  return newContext({ tenant_id, actor, request_id, scopes, role, ...(origin === undefined ? {} : { origin }) });
}

/** The resource that the path of a request names; the brokerage where it names none. */
function targetOf(exchange: Exchange): string {
  return exchange.event.pathParameters?.["id"] ?? callerIn(exchange).tenant_id;
}

/** The audit's record of a request: names of an operator are sealed. */
function originOf(exchange: Exchange): Origin {
  const { row, event, sender } = exchange;
  const { tenant_id, actor, audit_key } = callerIn(exchange);
  return originFor(tenant_id, { actor, action: row.id, ip: sender.address, user_agent: userAgentOf(event) }, audit_key);
}

function expectVersion(exchange: Exchange, version: number): void {
  const header = headerOf(exchange.event, "If-Match");
  if (header === undefined || matchesVersion(header, version)) return;
  throw new HttpProblem("precondition_failed", "The current version of the resource does not match If-Match.", {
    errors: [{ header: "If-Match", code: "precondition_failed", detail: "does not match the current version" }],
    headers: { ETag: `"${version}"` },
  });
}
