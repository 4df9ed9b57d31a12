import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { bridge, opening } from "../support/builders/bridge.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import {
  cancelled,
  closedDoor,
  failure,
  type Interference,
  type TableCall,
} from "../support/emulator/watched-endpoint.ts";
import { findings } from "../support/oracles/oracle.ts";
import { startTokenService } from "../support/stack/token-service.ts";

// Here the budgets themselves are what is looked at.
process.env["BUDGET_FACTOR"] = "1";
const api = await startApi("stream", "watched");
const service = await startTokenService(api);
const { handler: authorize } = await import("../../functions/oauth/authorize.ts");
afterAll(api.stop);
afterEach(() => {
  api.watched.interfere = () => undefined;
});

const caller = newCaller();
const broker = brokerage(api, caller);
await putMarket(api, caller.tenant_id);
const { newSource, trader } = bridge(api, caller);
const source = await newSource();
const application = await service.application();
const token = (await service.grant(application)).body.access_token as string;

const withdraw = (account: { id: string }, parts: RequestParts = {}) =>
  api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount: "10.00" }, ...parts });

const held = async (account: { id: string }) => (await broker.get(`/accounts/${account.id}`)).held;

/** A cancelled transaction in which the table throttled every member. */
const throttledMembers = ({ input }: TableCall): Interference =>
  cancelled(...(input["TransactItems"] as unknown[]).map(() => "ThrottlingError"));

const throttled = () => failure("ProvisionedThroughputExceededException");

describe("a request that changes something asks a table that throttles", () => {
  const attempts = (operation: string) => Array.from({ length: limits.calls.attempts }, () => operation);
  const reads = ["BatchGetItem", "BatchGetItem"];

  it.each<[string, (call: TableCall) => Interference, readonly string[]]>([
    ["everything", throttled, attempts("BatchGetItem")],
    [
      "part of every read",
      ({ operation, input }) =>
        operation === "BatchGetItem"
          ? { status: 200, body: { Responses: {}, UnprocessedKeys: input["RequestItems"] } }
          : undefined,
      attempts("BatchGetItem"),
    ],
    [
      "writes",
      ({ operation }) => (operation === "TransactWriteItems" ? throttled() : undefined),
      [...reads, ...attempts("TransactWriteItems")],
    ],
    [
      "members of transactions",
      (call) => (call.operation === "TransactWriteItems" ? throttledMembers(call) : undefined),
      [...reads, ...attempts("TransactWriteItems")],
    ],
  ])("by %s no more often than one layer of tries does", async (_, interfere, expected) => {
    const account = await broker.account("100.00");
    api.watched.takeCalls();
    api.watched.interfere = interfere;
    const answer = await withdraw(account);
    const operations = api.watched.takeCalls().map(({ operation }) => operation);
    expect(answer).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
    expect(operations).toEqual(["UpdateItem", ...expected]);
    api.watched.interfere = () => undefined;
    expect(await held(account)).toBe("0.00");
  });
});

describe("a commit whose answer is lost, and which is throttled when it is asked about", () => {
  /** Carries the first transaction out, loses its answer and throttles what repeats it; another one would pass. */
  function loseThenThrottle(): void {
    let sent = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      sent += 1;
      if (sent > limits.calls.attempts) return undefined;
      return sent === 1 ? "lose_answer" : throttled();
    };
  }

  it.each([["ThrottlingError"], ["TransactionConflict"]])(
    "has one effect when what repeats it is cancelled by %s: it is asked about by its token",
    async (code) => {
      const account = await broker.account("100.00");
      let sent = 0;
      api.watched.interfere = ({ operation, input }) => {
        if (operation !== "TransactWriteItems") return undefined;
        sent += 1;
        if (sent === 1) return "lose_answer";
        return sent === 2 ? cancelled(...(input["TransactItems"] as unknown[]).map(() => code)) : undefined;
      };
      expect((await withdraw(account)).status).toBe(201);
      api.watched.interfere = () => undefined;
      expect(await held(account)).toBe("10.00");
    },
  );

  it("is not decided again: it has one effect, and the answer says that it is not known", async () => {
    const account = await broker.account("100.00");
    loseThenThrottle();
    const answer = await withdraw(account);
    expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining("may or may not") } });
    api.watched.interfere = () => undefined;
    expect(await held(account)).toBe("10.00");
    expect(await findings(api.emulator)).toEqual([]);
  });
});

describe("a batch of a feed that meets a failing table", () => {
  it("defers the item, which is applied once when it is sent again", async () => {
    const [{ raw }, { id, login }] = [await newSource(), await trader()];
    const batch = { first_seq: "1", items: [{ ...opening(login, "t-1", "tp-1"), seq: "1" }] };
    let carriedOut = false;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      if (carriedOut) return { ...failure("InternalServerError"), status: 500 };
      carriedOut = true;
      return "lose_answer";
    };
    expect((await raw(batch)).body.results).toMatchObject([{ status: "deferred", code: "service_unavailable" }]);
    api.watched.interfere = () => undefined;
    expect((await raw(batch)).body.results).toMatchObject([{ status: "duplicate" }]);
    expect((await broker.get(`/accounts/${id}/positions`)).data).toHaveLength(1);
  });
});

const unknownAccount = { id: "acc_01JD0000000000000000000002" };
const unknownLogin = opening("1", "t-1", "tp-1");

/** A request of each kind: its time in milliseconds, and how it is sent. */
const kinds = {
  "a read": [limits.request.read_budget_ms, () => api.call(caller, "GET", `/accounts/${unknownAccount.id}`)],
  "a list": [limits.request.read_budget_ms, () => api.call(caller, "GET", "/clients")],
  "a change with a key": [
    limits.request.write_budget_ms,
    () => withdraw(unknownAccount, { headers: { "Idempotency-Key": "never-there" } }),
  ],
  "a batch of a feed": [
    limits.request.write_budget_ms,
    () => source.raw({ first_seq: "1", items: [{ ...unknownLogin, seq: "1" }] }),
  ],
  "the keys of tokens": [limits.request.read_budget_ms, () => api.call(undefined, "GET", "/.well-known/jwks.json")],
  "a token": [limits.request.write_budget_ms, () => service.grant(application)],
  "a revocation": [
    limits.request.write_budget_ms,
    () => service.post("/oauth/revoke", { token, ...application.credentials }),
  ],
} as const satisfies Readonly<Record<string, readonly [number, () => Promise<TestAnswer>]>>;

/** Sends a request of every kind at once; each is answered 503 within its time, and what a slow machine takes. */
async function expectUnavailable(): Promise<void> {
  const started = performance.now();
  const asked = Object.entries(kinds).map(async ([kind, [budget_ms, send]]) => {
    const answer = await send();
    expect(performance.now() - started, kind).toBeLessThan(budget_ms + 2000);
    const { status, headers, body } = answer;
    expect([kind, status, headers["Retry-After"]]).toEqual([kind, 503, String(limits.request.retry_after_seconds)]);
    expect(headers["Cache-Control"]).toBe("no-store");
    const oauth = kind === "a token" || kind === "a revocation";
    expect(body).toMatchObject(oauth ? { error: "temporarily_unavailable" } : { code: "service_unavailable" });
  });
  await Promise.all([...asked, expectNotAuthorized(started)]);
}

/** Asks the authorizer, which fails: only the word Unauthorized would say that the token is not good. */
async function expectNotAuthorized(started: number): Promise<void> {
  const event = {
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:api/stage/GET/clients",
    multiValueHeaders: { Authorization: [`Bearer ${token}`] },
    requestContext: { requestId: "test" },
  } as unknown as APIGatewayRequestAuthorizerEvent;
  await expect(authorize(event)).rejects.not.toThrow("Unauthorized");
  expect(performance.now() - started).toBeLessThan(limits.request.read_budget_ms + 2000);
}

describe("a request of every kind is answered 503 with Retry-After", () => {
  it("while the table throttles", async () => {
    api.watched.interfere = throttled;
    await expectUnavailable();
  });

  it("while the table fails", async () => {
    api.watched.interfere = () => ({ ...failure("InternalServerError"), status: 500 });
    await expectUnavailable();
  });

  it("while the table is silent, within the time that it has", async () => {
    const door = closedDoor();
    api.watched.interfere = async () => {
      await door.opened;
      return undefined;
    };
    await expectUnavailable().finally(door.open);
  });

  it("while the table of volatile items is gone, where it reads or writes one", async () => {
    const account = await broker.account("1000.00", { type: "demo" });
    const trade = { account_id: account.id, symbol: "EURUSD", side: "buy", lots: "0.01" };
    const { volatileTableName } = api.emulator;
    api.watched.interfere = ({ input }) =>
      JSON.stringify(input).includes(volatileTableName) ? failure("ResourceNotFoundException") : undefined;
    const answers = await Promise.all([
      api.call(caller, "GET", "/quotes/EURUSD"),
      api.call(caller, "GET", "/quotes?symbols=EURUSD"),
      api.call(caller, "POST", "/sandbox/trades", { body: trade }),
      api.call(caller, "POST", "/stream_tickets", { body: {} }),
    ]);
    const after = String(limits.request.retry_after_seconds);
    for (const { status, headers, text } of answers)
      expect([status, headers["Retry-After"], text]).toMatchObject([
        503,
        after,
        expect.stringContaining("service_unavailable"),
      ]);
    expect((await api.call(caller, "GET", `/accounts/${unknownAccount.id}`)).status).toBe(404);
  });

  // It is the last one: the way to the table stays closed.
  it("while the table cannot be reached", async () => {
    await api.watched.stop();
    await expectUnavailable();
  });
});
