/**
 * The application behind every peer, so that what differs is the framework: the same decisions, schemas, items,
 * representations and headers as the service's own, and the AWS SDK as it is published. Events, routes, bodies and
 * replies are the framework's part.
 */
import type { APIGatewayProxyEvent } from "aws-lambda";
import { safeParse } from "zod/v4/core";
import { clientBody, openClient } from "../../../shared/domain/accounts/client.ts";
import { shownChange } from "../../../shared/http/audited.ts";
import { callerOf } from "../../../shared/http/caller.ts";
import { type ResourceBody, resourceReply } from "../../../shared/http/reply.ts";
import { createClient as createRow, getClient as getRow } from "../../../shared/routes/clients.ts";
import type { ShippedRoute } from "../../../shared/routes/route.ts";
import { nowMs } from "../../../shared/runtime/clock.ts";
import { absolute } from "../../../shared/runtime/links.ts";
import { log } from "../../../shared/runtime/log.ts";
import { drawPersonKey } from "../../../shared/runtime/person-key.ts";
import type { CreateClient } from "../../../shared/schema/client.ts";
import { inOrder, replyOrder } from "../../../shared/schema/member-order.ts";
import { personsIn } from "../../../shared/table/audit/announcement.ts";
import { originFor, sealedChange } from "../../../shared/table/audit/sealing.ts";
import { execute } from "../../../shared/table/commit/execute.ts";
import { newContext } from "../../../shared/table/context.ts";
import { countRequest, type RateVerdict } from "../../../shared/table/counters.ts";
import { loadItems, type Reply, ref } from "../../../shared/table/store.ts";

/** Milliseconds that a command may take. */
const commandMs = 5000;

/** `GET /clients/{id}`: counts the request and reads the client at the same time. */
export async function getClient(event: APIGatewayProxyEvent, id: string): Promise<Reply> {
  const caller = callerIn(event, getRow);
  const counting = countedFor(event);
  const { client } = await loadItems(caller.tenant_id, { client: ref.client(id) });
  const reply = client === undefined ? refusal(404) : shownAs(getRow, clientBody(client));
  return answered(event, reply, await counting);
}

/** `POST /clients` with a body that the framework has parsed: counts the request, then commits the client. */
export async function createClient(event: APIGatewayProxyEvent, body: unknown): Promise<Reply> {
  const { tenant_id, actor, scopes } = callerIn(event, createRow);
  const counting = countedFor(event);
  const checked = safeParse(createRow.body, body);
  if (!checked.success) return answered(event, refusal(422), await counting);
  const { requestId: request_id, identity } = event.requestContext;
  const user_agent = event.headers["User-Agent"] ?? null;
  const sender = { actor, action: createRow.id, ip: identity.sourceIp, user_agent };
  const ends_ms = nowMs() + commandMs;
  const outcome = await execute({
    tenant_id,
    newContext: () => newContext({ tenant_id, actor, request_id, scopes, origin: originFor(tenant_id, sender) }),
    decide: async (_load, context) => {
      const decision = openClient(checked.data as CreateClient, drawPersonKey(), context);
      await counting;
      return decision;
    },
    show: (client) => shownAs(createRow, clientBody(client)),
    audited: (client, changes) => {
      const keys = personsIn(changes);
      const shown = shownChange(createRow, tenant_id, clientBody(client), changes);
      return sealedChange(tenant_id, shown, (person) => keys.get(person));
    },
    showRefusal: () => ({ reply: refusal(409), stored: false }),
    remainingMs: () => ends_ms - nowMs(),
  });
  return answered(event, "reply" in outcome ? outcome.reply : refusal(503), await counting);
}

/** @throws Error when the caller has no token with the scope of the row */
function callerIn(event: APIGatewayProxyEvent, { scope }: Pick<ShippedRoute, "scope">) {
  const caller = callerOf(event);
  if (scope !== null && !caller.scopes.includes(scope)) throw new Error(`The scope ${scope} is missing.`);
  return caller;
}

function countedFor(event: APIGatewayProxyEvent): Promise<RateVerdict> {
  const { tenant_id, actor } = callerOf(event);
  return countRequest({ tenant_id, application_id: actor.id }, "standard", event.requestContext.requestTimeEpoch);
}

function shownAs(row: ShippedRoute, body: object): Reply {
  return resourceReply(row.status, inOrder(replyOrder(row.reply), body, absolute) as ResourceBody);
}

function refusal(status: number): Reply {
  return { status, headers: { "Content-Type": "application/problem+json" }, body: JSON.stringify({ status }) };
}

/** The answer with the headers that every answer has; writes the log line of the request. */
function answered(event: APIGatewayProxyEvent, { status, headers, body }: Reply, verdict: RateVerdict): Reply {
  const { requestId, requestTimeEpoch } = event.requestContext;
  log.info("request", { status, duration_ms: nowMs() - requestTimeEpoch, request_id: requestId });
  const common = {
    "Cache-Control": "private, no-store",
    "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": requestId,
    "X-RateLimit-Limit": String(verdict.limit),
    "X-RateLimit-Remaining": String(verdict.remaining),
    "X-RateLimit-Reset": String(verdict.reset_seconds),
  };
  return { status: verdict.allowed ? status : 429, headers: { ...common, ...headers }, body };
}
