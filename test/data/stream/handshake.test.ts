import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StreamConnection } from "../../../shared/domain/stream/connection.ts";
import { peekToken } from "../../../shared/oauth/token.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { dutiesOf } from "../../../shared/stream/upkeep.ts";
import { streamConnections, streamTickets } from "../../../shared/table/entities.ts";
import { readAll, readKeys } from "../../../shared/table/store.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { startStreamGateway } from "../../support/emulator/stream-gateway.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi("watched");
const service = await startTokenService(api);
const gateway = await startStreamGateway();
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 7_200_000 });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const own = await service.application({ scopes: ["clients:read", "events:read", "quotes:read"] });
const [address, elsewhere] = ["198.51.100.7", "203.0.113.9"];
const bound = await service.application({ allowed_ips: ["198.51.100.0/24"] });
const scopeless = await service.application({ scopes: ["clients:read"] });

const tokenOf = async (application: typeof own) => (await service.grant(application)).body.access_token as string;
const bearer = async (application: typeof own) => [`Bearer ${await tokenOf(application)}`];
const callerFor = ({ id, tenant_id, credentials }: typeof own, ...scopes: readonly string[]): TestCaller => ({
  ...newCaller({ tenant_id, scopes }),
  application_id: id,
  client_id: credentials.client_id,
});
async function ticketOf(caller: TestCaller): Promise<string> {
  const { status, body } = await api.call(caller, "POST", "/stream_tickets", { atMs: Date.now() });
  expect(status).toBe(201);
  return body.ticket;
}
const ownTicket = (family_id?: string) =>
  ticketOf({ ...callerFor(own, "events:read", "quotes:read"), ...(family_id !== undefined && { family_id }) });

/** The family in an access token. */
function peekedFamily(token: string): string {
  const holder = peekToken(token)?.holder;
  if (holder?.type !== "application") throw new Error("The token is of no application.");
  return holder.family;
}

describe("a handshake", () => {
  const cases: readonly (readonly [string, number, () => Promise<Parameters<typeof gateway.open>[0]>])[] = [
    ["without a credential", 401, async () => ({})],
    ["with something else than a token", 401, async () => ({ authorization: ["Bearer nonsense"] })],
    ["with credentials of another scheme", 401, async () => ({ authorization: ["Basic YTpi"] })],
    ["with two tokens", 401, async () => ({ authorization: [...(await bearer(own)), ...(await bearer(own))] })],
    ["with a token in the URL", 401, async () => ({ query: { access_token: [await tokenOf(own)] } })],
    ["with a token as ticket", 401, async () => ({ query: { ticket: [await tokenOf(own)] } })],
    [
      "with a token in the header and one in the URL",
      401,
      async () => {
        return { authorization: await bearer(own), query: { token: [await tokenOf(own)] } };
      },
    ],
    [
      "with a token and a ticket",
      401,
      async () => ({ authorization: await bearer(own), query: { ticket: [await ownTicket()] } }),
    ],
    ["with two tickets", 401, async () => ({ query: { ticket: [await ownTicket(), await ownTicket()] } })],
    ["with a ticket and another parameter", 401, async () => ({ query: { ticket: [await ownTicket()], v: ["2"] } })],
    ["with a ticket that was never issued", 401, async () => ({ query: { ticket: [`stk_${"A".repeat(43)}`] } })],
    ["with an empty ticket", 401, async () => ({ query: { ticket: [""] } })],
    ["with what is stored of a ticket", 401, async () => ({ query: { ticket: [sha256(await ownTicket())] } })],
    [
      "with a token of an application without a scope of the stream",
      403,
      async () => ({ authorization: await bearer(scopeless) }),
    ],
    [
      "with a token from a foreign address",
      403,
      async () => ({ authorization: await bearer(bound), address: elsewhere }),
    ],
    [
      "with a ticket from a foreign address",
      403,
      async () => {
        return { query: { ticket: [await ticketOf(callerFor(bound, "events:read"))] }, address: elsewhere };
      },
    ],
    ["with a token from an allowed address", 200, async () => ({ authorization: await bearer(bound), address })],
    [
      "with a ticket from an allowed address",
      200,
      async () => {
        return { query: { ticket: [await ticketOf(callerFor(bound, "events:read"))] }, address };
      },
    ],
    ["with a token", 200, async () => ({ authorization: await bearer(own), address: elsewhere })],
    [
      "with a ticket, from an address other than that of its request",
      200,
      async () => {
        return { query: { ticket: [await ownTicket()] }, address: elsewhere };
      },
    ],
  ];

  it.each(cases)("%s is answered %i", async (_name, status, partsOf) => {
    expect((await gateway.open(await partsOf())).status).toBe(status);
  });

  it("is answered with our subprotocol if it asks for it, and with none otherwise", async () => {
    const answered = async (...protocols: string[]) =>
      (await gateway.open({ authorization: await bearer(own), protocols })).headers;
    expect(await answered("brokerage.v2+json")).toEqual({ "Sec-WebSocket-Protocol": "brokerage.v2+json" });
    expect(await answered("other, brokerage.v2+json")).toEqual({ "Sec-WebSocket-Protocol": "brokerage.v2+json" });
    expect(await answered("brokerage.v2+json.x")).toEqual({});
    expect(await answered()).toEqual({});
  });

  it("of a revoked application is answered 401, by token and by a ticket from before, and reported", async () => {
    const lost = await service.application();
    const authorization = await bearer(lost);
    const ticket = await ticketOf(callerFor(lost, "events:read"));
    expect((await api.call(lost.admin, "DELETE", `/applications/${lost.id}`)).status).toBeLessThan(300);
    api.queues.takeMessages();
    expect((await gateway.open({ authorization })).status).toBe(401);
    expect((await gateway.open({ query: { ticket: [ticket] } })).status).toBe(401);
    const reported = api.queues.takeFrom("refusals").map(({ body }) => [body["action"], body["code"]]);
    expect(reported).toEqual([
      ["authenticate", "application_revoked"],
      ["authenticate", "application_revoked"],
    ]);
  });

  it("of a revoked token is answered 401, by a ticket from before as well", async () => {
    const { access_token, refresh_token } = (await service.grant(own)).body;
    const authorization = [`Bearer ${access_token}`];
    const family_id = peekedFamily(access_token);
    const [early, late] = [await ownTicket(family_id), await ownTicket(family_id)];
    expect((await gateway.open({ query: { ticket: [early] } })).status).toBe(200);
    const revoked = await service.post("/oauth/revoke", { token: refresh_token, ...own.credentials });
    expect(revoked.status).toBe(200);
    expect((await gateway.open({ authorization })).status).toBe(401);
    expect((await gateway.open({ query: { ticket: [late] } })).status).toBe(401);
    expect((await gateway.open({ query: { ticket: [await ownTicket()] } })).status).toBe(200);
  });

  it("that is not allowed is reported for the audit", async () => {
    api.queues.takeMessages();
    await gateway.open({ authorization: await bearer(scopeless) });
    await gateway.open({ authorization: await bearer(bound), address: elsewhere });
    const reported = api.queues.takeFrom("refusals").map(({ body }) => [body["tenant_id"], body["code"]]);
    expect(reported).toEqual([
      [scopeless.tenant_id, "insufficient_scope"],
      [bound.tenant_id, "address_not_allowed"],
    ]);
  });

  it("with a table that does not answer is refused without a word of why", async () => {
    const authorization = await bearer(own);
    api.watched.interfere = () => ({ status: 500, body: { __type: "InternalServerError" } });
    const { status } = await gateway.open({ authorization });
    api.watched.interfere = () => undefined;
    expect(status).toBe(500);
  });
});

describe("a ticket", () => {
  it("is shown once with its address, and only its hash is stored", async () => {
    const { body, headers } = await api.call(callerFor(own, "events:read"), "POST", "/stream_tickets", {
      atMs: Date.now(),
    });
    expect(body.ticket).toMatch(/^stk_[A-Za-z0-9]{43}$/);
    expect(body.url).toBe(`wss://stream.test.example/v2?ticket=${body.ticket}`);
    expect(Date.parse(body.expires_at) - Date.now()).toBeGreaterThan(58_000);
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(60_000);
    expect(headers["Cache-Control"]).toContain("no-store");
    const [stored] = await readKeys([streamTickets.key(sha256(body.ticket))]);
    expect(JSON.stringify(stored)).not.toContain(body.ticket);
    expect(stored).toMatchObject({ tenant_id: own.tenant_id, holder: { type: "application", id: own.id } });
  });

  it("opens one connection of several at the same time", async () => {
    const ticket = await ownTicket();
    const opened = await Promise.all(Array.from({ length: 4 }, () => gateway.open({ query: { ticket: [ticket] } })));
    expect(opened.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    expect((await gateway.open({ query: { ticket: [ticket] } })).status).toBe(401);
  });

  it("is not used up by a handshake that shows a token as well", async () => {
    const ticket = await ownTicket();
    expect((await gateway.open({ authorization: await bearer(own), query: { ticket: [ticket] } })).status).toBe(401);
    expect((await gateway.open({ query: { ticket: [ticket] } })).status).toBe(200);
  });

  it("is good for 60 seconds, also while DynamoDB has not deleted it", async () => {
    const [early, late] = [await ownTicket(), await ownTicket()];
    pass(58);
    expect((await gateway.open({ query: { ticket: [early] } })).status).toBe(200);
    pass(2);
    expect((await gateway.open({ query: { ticket: [late] } })).status).toBe(401);
  });

  it("has no scope that the application has lost since", async () => {
    const shrinking = await service.application({ scopes: ["events:read", "quotes:read"] });
    const ticket = await ticketOf(callerFor(shrinking, "events:read", "quotes:read"));
    const path = `/applications/${shrinking.id}`;
    expect((await api.call(shrinking.admin, "PATCH", path, { body: { scopes: ["quotes:read"] } })).status).toBe(200);
    const { status, connection } = await gateway.open({ query: { ticket: [ticket] } });
    expect([status, connection.context["scopes"]]).toEqual([200, "quotes:read"]);
  });

  it("is refused to a token without a scope of the stream", async () => {
    const refused = withScopes(newCaller(), "clients:read");
    const { status, body } = await api.call(refused, "POST", "/stream_tickets", { atMs: Date.now() });
    expect([status, body.code]).toEqual([403, "insufficient_scope"]);
  });
});

describe("the connections that a token opened", () => {
  it("end when it is revoked, those by its ticket as well, and no other ones of the application", async () => {
    const [lost, kept] = [(await service.grant(own)).body, (await service.grant(own)).body];
    const ticket = await ownTicket(peekedFamily(lost.access_token));
    const opened = [
      await gateway.open({ authorization: [`Bearer ${lost.access_token}`] }),
      await gateway.open({ query: { ticket: [ticket] } }),
      await gateway.open({ authorization: [`Bearer ${kept.access_token}`] }),
    ];
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200]);
    const duties = async () => {
      const keys = opened.map(({ connection }) => streamConnections.key(own.tenant_id, connection.id));
      const stored = (await readAll<StreamConnection>(streamConnections, keys)).filter((each) => each !== undefined);
      return (await dutiesOf(stored)).map(({ ends }) => ends);
    };
    expect(await duties()).toEqual([undefined, undefined, undefined]);
    await service.post("/oauth/revoke", { token: lost.refresh_token, ...own.credentials });
    expect(await duties()).toEqual(["access_ended", "access_ended", undefined]);
  });

  it("keep the sources that their application is bound to, and end when it is bound to others", async () => {
    const ids: string[] = [];
    for (const name of ["mt5:one", "mt5:two"]) {
      const made = await api.call(own.admin, "POST", "/feed/sources", { body: { name, platform: "mt5" } });
      ids.push(made.body.id);
    }
    const [one, two] = ids;
    const application = await service.application({ scopes: ["feed:read"], source_ids: [one] }, own.admin);
    const ticket = await ticketOf(callerFor(application, "feed:read"));
    const opened = [
      await gateway.open({ authorization: await bearer(application) }),
      await gateway.open({ query: { ticket: [ticket] } }),
    ];
    const stored = async () => {
      const keys = opened.map(({ connection }) => streamConnections.key(application.tenant_id, connection.id));
      return (await readAll<StreamConnection>(streamConnections, keys)).filter((each) => each !== undefined);
    };
    expect((await stored()).map(({ source_ids }) => source_ids)).toEqual([[one], [one]]);
    const bind = (source_ids: readonly (string | undefined)[]) =>
      api.call(own.admin, "PATCH", `/applications/${application.id}`, { body: { source_ids } });
    const ends = async () => (await dutiesOf(await stored())).map((duty) => duty.ends);
    await bind([one, two]);
    expect(await ends()).toEqual([undefined, undefined]);
    expect((await bind([two])).status).toBe(200);
    expect(await ends()).toEqual(["access_changed", "access_changed"]);
  });

  it("stay when it is renewed, and end with its secret and when its refresh token is used twice", async () => {
    const application = await service.application({ scopes: ["events:read"] });
    const first = (await service.grant(application)).body;
    const { status, connection } = await gateway.open({ authorization: [`Bearer ${first.access_token}`] });
    expect(status).toBe(200);
    const ends = async () => {
      const key = streamConnections.key(application.tenant_id, connection.id);
      const [stored] = await readAll<StreamConnection>(streamConnections, [key]);
      return (await dutiesOf(stored === undefined ? [] : [stored])).map((duty) => duty.ends);
    };
    const second = await service.refresh(application, first.refresh_token);
    expect([second.status, await ends()]).toEqual([200, [undefined]]);
    const path = `/applications/${application.id}/rotate_secret`;
    const rotated = await api.call(application.admin, "POST", path, { body: { grace_seconds: 0 } });
    expect(rotated.status, rotated.text).toBe(200);
    expect(await service.accepts(first.access_token)).toBe(false);
    expect(await ends()).toEqual(["access_changed"]);
    const { client_secret } = rotated.body;
    const again = { ...application, credentials: { ...application.credentials, client_secret } };
    const third = await service.refresh(again, second.body.refresh_token);
    expect([third.status, await ends()]).toEqual([200, [undefined]]);
    pass(60);
    expect((await service.refresh(again, first.refresh_token)).status).toBe(400);
    expect(await ends()).toEqual(["access_ended"]);
  });
});
