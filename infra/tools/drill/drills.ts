import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Json } from "../api-call.ts";
import { functionOf } from "../smoke/resources.ts";
import { type Session, send } from "../smoke/session.ts";

/** A situation that an engineer may be called for, made on a running service. */
export interface Drill {
  readonly title: string;
  /** File of `infra/runbooks/`. */
  readonly runbook: string;
  /** Makes the situation; returns what to look at, as lines. */
  readonly make: (session: Session) => Promise<readonly string[]>;
}

/** A port of the loopback that no server has: it is reserved (RFC 6335 6). */
const closedPort = 1023;
const deliveryLimitMs = 30_000;
const betweenLooksMs = 250;
/** Requests that the flood sends, three times what an application has in a second. */
const floodRequests = 150;

async function made(session: Session, path: string, body: object): Promise<Json> {
  return (await session.expect(201, "POST", path, [functionOf("create_client")], { body })).body;
}

function newClient(session: Session): Promise<Json> {
  return made(session, "/clients", {
    email: `drill-${randomUUID()}@example.com`,
    first_name: "Drill",
    last_name: "One",
  });
}

/** The first delivery of an endpoint with a failed attempt. */
async function failedDelivery(session: Session, endpoint: string): Promise<Json> {
  const last = performance.now() + deliveryLimitMs;
  const path = `/webhook_endpoints/${endpoint}/deliveries`;
  for (;;) {
    const { body } = await session.expect(200, "GET", path, [functionOf("list_deliveries")]);
    const found = body.data.find((delivery: Json) => delivery.status === "retrying");
    if (found !== undefined) return found;
    if (performance.now() > last) throw new Error(`No delivery of ${endpoint} has failed within 30 seconds.`);
    await pause(betweenLooksMs);
  }
}

async function receiverDown(session: Session): Promise<readonly string[]> {
  const url = `http://127.0.0.1:${closedPort}/webhooks`;
  const { id } = await made(session, "/webhook_endpoints", { url, event_types: ["client.created"] });
  await newClient(session);
  const delivery = await failedDelivery(session, id);
  return [
    `The endpoint ${id} delivers to ${url}, where nothing listens.`,
    `Look at     GET /webhook_endpoints/${id}, /webhook_endpoints/${id}/deliveries, /deliveries/${delivery.id}`,
    `To repair   npm run receiver, then PATCH /webhook_endpoints/${id} {"url":"http://127.0.0.1:4000/"},`,
    `            then POST /webhook_endpoints/${id}/replay {"after_sequence":"0"}`,
    `To end it   DELETE /webhook_endpoints/${id}`,
  ];
}

async function flood(session: Session): Promise<readonly string[]> {
  const calm = await made(session, "/applications", { name: "Calm", scopes: ["clients:read"] });
  const issued = await session.issue({ client_id: calm.client_id, client_secret: calm.client_secret });
  const token = await session.token();
  const one = () => send(`${session.baseUrl}/me`, "GET", { token });
  const flooding = Promise.all(Array.from({ length: floodRequests }, one));
  const served = await send(`${session.baseUrl}/me`, "GET", { token: issued.body.access_token });
  const replies = await flooding;
  const refused = replies.filter(({ status }) => status === 429);
  const wait = refused[0]?.headers.get("retry-after") ?? "none";
  await session.expect(200, "DELETE", `/applications/${calm.id}`, [functionOf("revoke_application")]);
  return [
    `${refused.length} of ${replies.length} requests were answered 429, with Retry-After: ${wait}.`,
    `Another application was answered ${served.status} meanwhile.`,
    "Look at     X-RateLimit-Remaining of any answer, and the log of the gateway in .local/logs",
  ];
}

async function leakedSecret(session: Session): Promise<readonly string[]> {
  const leaked = await made(session, "/applications", { name: "Leaked", scopes: ["clients:read"] });
  const { id, client_id, client_secret } = leaked;
  const path = `/applications/${id}/rotate_secret`;
  const rotated = await session.expect(200, "POST", path, [functionOf("rotate_application_secret")], { body: {} });
  const issued = await session.issue({ client_id, client_secret });
  const reply = await send(`${session.baseUrl}/clients`, "GET", { token: issued.body.access_token });
  return [
    `The application ${id} has leaked: its secret was rotated as usual and works until ` +
      `${rotated.body.previous_secret_expires_at}; with a token for it GET /clients is answered ${reply.status}.`,
    `Client id   ${client_id}`,
    `Secret      ${client_secret}`,
    `To repair   POST /applications/${id}/rotate_secret {"grace_seconds":0}, or DELETE /applications/${id}`,
    "To verify   POST /oauth/token with the leaked secret is answered 401 invalid_client",
  ];
}

/** The number of the newest event, once so many clients more than before are announced. */
async function announced(session: Session, emails: readonly string[]): Promise<number> {
  const last = performance.now() + deliveryLimitMs;
  const path = "/events?type=client.created&sort=-sequence&limit=10";
  for (;;) {
    const { body } = await session.expect(200, "GET", path, [functionOf("list_events")]);
    const found = body.data.filter((event: Json) => emails.includes(event.data.object.email));
    if (found.length === emails.length) return Number(body.data[0].sequence);
    if (performance.now() > last) throw new Error("The events of new clients were not published within 30 seconds.");
    await pause(betweenLooksMs);
  }
}

async function restored(session: Session): Promise<readonly string[]> {
  const { tenant_id } = (await session.expect(200, "GET", "/me", [functionOf("get_me")])).body;
  const lastValid = await announced(session, [(await newClient(session)).email]);
  const moment = new Date().toISOString();
  const lost = [await newClient(session), await newClient(session)];
  const seen = await announced(
    session,
    lost.map(({ email }) => email),
  );
  return [
    `Suppose that the brokerage ${tenant_id} is restored to ${moment}:`,
    `its last event then was ${lastValid}, and receivers have seen ${seen}; the clients ${lost
      .map(({ id }) => id)
      .join(" and ")} are lost.`,
    `To repair   npm run restore -- numbers --local --brokerage ${tenant_id} --last-valid ${lastValid} \\`,
    `              --after ${seen} --restored-to ${moment}`,
    "Look at     GET /events?sort=-sequence: the event brokerage.restored tells receivers what is void",
  ];
}

/** The situations by their names. */
export const drills = {
  "receiver-down": { title: "A receiver of webhooks is down", runbook: "receiver-down.md", make: receiverDown },
  flood: { title: "An application floods the service", runbook: "brokerage-floods.md", make: flood },
  "leaked-secret": {
    title: "The secret of an application leaked",
    runbook: "leaked-application-secret.md",
    make: leakedSecret,
  },
  restore: { title: "A table is restored to a point in time", runbook: "restore.md", make: restored },
} as const satisfies Readonly<Record<string, Drill>>;
