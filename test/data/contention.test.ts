import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { brokerage, clientRequest } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { cancelled, failure, type Interference, type TableCall } from "../support/emulator/watched-endpoint.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);
afterEach(() => {
  api.watched.interfere = () => undefined;
});
afterAll(async () => expect(await findings(api.emulator)).toEqual([]));

const caller = newCaller();
const broker = brokerage(api, caller);

/** Interferes with the first calls of an operation and lets the rest through. */
function onFirst(count: number, operation: string, what: (call: TableCall) => Interference): void {
  let left = count;
  api.watched.interfere = (call) => {
    if (call.operation !== operation || left === 0) return undefined;
    left -= 1;
    return what(call);
  };
}

/** A cancelled transaction in which every member has this code. */
const every = (code: string) => (call: TableCall) =>
  cancelled(...(call.input["TransactItems"] as unknown[]).map(() => code));

/** A cancelled transaction in which only the member that adjusts the balance has this code. */
const onBalance = (code: string) => (call: TableCall) =>
  cancelled(
    ...(call.input["TransactItems"] as { Update?: { Key: { sk: { S: string } } } }[]).map(({ Update: update }) =>
      update?.Key.sk.S === "BALANCE" ? code : "None",
    ),
  );

const withdraw = (account: { id: string }, amount: string, parts: RequestParts = {}) =>
  api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id: account.id, amount }, ...parts });

/** The operations of one call of the API on the main table. */
function operations(): string[] {
  const calls = api.watched.takeCalls();
  return calls.filter(({ tables }) => tables.includes(api.emulator.tableName)).map(({ operation }) => operation);
}

const oneTry = ["BatchGetItem", "BatchGetItem", "TransactWriteItems"];

describe("a transaction that meets another one", () => {
  it("is sent again from a new read when it was cancelled by a conflict", async () => {
    const account = await broker.account("100.00");
    api.watched.takeCalls();
    onFirst(3, "TransactWriteItems", onBalance("TransactionConflict"));
    const answer = await withdraw(account, "10.00");
    expect(answer.status).toBe(201);
    expect(operations()).toEqual([...oneTry, ...oneTry, ...oneTry, ...oneTry]);
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
  });

  it.each([["ThrottlingError"], ["ProvisionedThroughputExceeded"]])(
    "is sent again as it is when it was cancelled by %s alone",
    async (code) => {
      const account = await broker.account("100.00");
      api.watched.takeCalls();
      onFirst(2, "TransactWriteItems", onBalance(code));
      expect((await withdraw(account, "10.00")).status).toBe(201);
      expect(operations()).toEqual([...oneTry, "TransactWriteItems", "TransactWriteItems"]);
      expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
    },
  );

  it("is sent again when the whole call was throttled", async () => {
    const account = await broker.account("100.00");
    onFirst(1, "TransactWriteItems", () => failure("ProvisionedThroughputExceededException"));
    expect((await withdraw(account, "10.00")).status).toBe(201);
  });

  it("is decided again when its condition failed, and refused when the money is gone meanwhile", async () => {
    const account = await broker.account("100.00");
    const rival = brokerage(api, newCaller({ tenant_id: caller.tenant_id }));
    let raced = false;
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems" || raced) return undefined;
      raced = true;
      await rival.withdrawal(account, "95.00");
      return undefined;
    };
    expect(await withdraw(account, "10.00")).toMatchObject({ status: 422, body: { available_balance: "5.00" } });
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("95.00");
  });

  it("that is never let through is answered with a retry, has no effect and is not kept under its key", async () => {
    const account = await broker.account("100.00");
    api.watched.interfere = (call) =>
      call.operation === "TransactWriteItems" ? onBalance("TransactionConflict")(call) : undefined;
    const headers = { "Idempotency-Key": "never-through" };
    const started = performance.now();
    const answer = await withdraw(account, "10.00", { headers, timeoutMs: 2500 });
    expect(performance.now() - started).toBeLessThan(2500);
    expect(answer).toMatchObject({
      status: 503,
      body: { code: "service_unavailable" },
      headers: { "Retry-After": "1", "X-RateLimit-Limit": "1000" },
    });
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("0.00");
    api.watched.interfere = () => undefined;
    const again = await withdraw(account, "10.00", { headers });
    expect([again.status, again.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
  });

  it("whose condition always fails is given up after a few decisions", async () => {
    const account = await broker.account("100.00");
    api.watched.takeCalls();
    api.watched.interfere = (call) =>
      call.operation === "TransactWriteItems" ? onBalance("ConditionalCheckFailed")(call) : undefined;
    expect((await withdraw(account, "10.00")).status).toBe(503);
    const tries = operations().filter((each) => each === "TransactWriteItems").length;
    // The pauses between two tries are drawn, so the budget may end before the tries do.
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThanOrEqual(limits.commit.decision_tries);
  });

  it("is a conflict before it is a taken value: who is first is not known yet", async () => {
    onFirst(1, "TransactWriteItems", (call) => {
      const members = call.input["TransactItems"] as { Put?: { Item: { et: { S: string } } } }[];
      const codes = members.map(({ Put: put }) =>
        put?.Item.et.S === "UQ" ? "ConditionalCheckFailed" : "TransactionConflict",
      );
      return cancelled(...codes);
    });
    expect((await api.call(caller, "POST", "/clients", { body: clientRequest() })).status).toBe(201);
  });
});

describe("a number that the service drew", () => {
  it("is drawn again when it is taken", async () => {
    const client = await broker.client();
    const drawn: string[] = [];
    onFirst(2, "TransactWriteItems", (call) => {
      const members = call.input["TransactItems"] as { Put?: { Item: Record<string, { S: string }> } }[];
      const place = members.findIndex(({ Put: put }) => put?.Item["pk"]?.S.endsWith("|UQ|account_number"));
      drawn.push(members[place]?.Put?.Item["sk"]?.S ?? "");
      return cancelled(...members.map((_, index) => (index === place ? "ConditionalCheckFailed" : "None")));
    });
    const answer = await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } });
    expect(answer.status).toBe(201);
    expect(new Set(drawn).size).toBe(2);
  });
});

describe("an answer of the table that is lost", () => {
  it.each(["with", "without"])("leaves one effect %s a key: the same transaction is asked about again", async (key) => {
    const account = await broker.account("100.00");
    onFirst(1, "TransactWriteItems", () => "lose_answer");
    const headers: Record<string, string> = key === "with" ? { "Idempotency-Key": "lost-answer" } : {};
    const answer = await withdraw(account, "10.00", { headers });
    expect(answer.status).toBe(201);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "10.00" });
    expect(await broker.get(`/transactions/${answer.body.id}`)).toMatchObject({ status: "pending" });
  });

  it("of which every repetition is lost as well is found by its key", async () => {
    const account = await broker.account("100.00");
    const headers = { "Idempotency-Key": "all-lost" };
    onFirst(3, "TransactWriteItems", () => "lose_answer");
    const unknown = await withdraw(account, "10.00", { headers });
    expect(unknown).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
    const told = await withdraw(account, "10.00", { headers });
    expect([told.status, told.headers["Idempotent-Replayed"]]).toEqual([201, "true"]);
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
  });
});

describe("a read", () => {
  it("asks again for what the table did not process", async () => {
    const account = await broker.account("100.00");
    onFirst(2, "BatchGetItem", ({ input }) => ({
      status: 200,
      body: { Responses: {}, UnprocessedKeys: input["RequestItems"] },
    }));
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "100.00" });
  });

  it("that fails is a plain 500 that tells nothing of the inside", async () => {
    const client = await broker.client();
    const inside = "arn:aws:dynamodb:eu-west-1:000000000000:table/brokerage-test is not for role/secret";
    api.watched.interfere = ({ operation }) =>
      operation === "BatchGetItem" ? failure("AccessDeniedException", inside) : undefined;
    const answer = await api.call(caller, "GET", `/clients/${client.id}`);
    expect(answer).toMatchObject({ status: 500, body: { code: "internal_error" } });
    expect(`${answer.text}${JSON.stringify(answer.headers)}`).not.toMatch(/arn:|brokerage-test|role|AccessDenied|\.ts/);
  });
});

describe("every member of a cancelled transaction", () => {
  it("in conflict is one conflict, not a refusal", async () => {
    onFirst(1, "TransactWriteItems", every("TransactionConflict"));
    const headers = { "Idempotency-Key": "all-conflict" };
    expect((await api.call(caller, "POST", "/clients", { body: clientRequest(), headers })).status).toBe(201);
  });
});
