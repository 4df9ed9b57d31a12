import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../shared/runtime/ids.ts";
import { atOnce, brokerage, clientRequest, statusCounts } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { newCaller, type TestCaller, withScopes } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi("stream");
afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});

const caller = newCaller();
const broker = brokerage(api, caller);

let keys = 0;
const newKey = () => {
  keys += 1;
  return `key-${keys}`;
};

function send(key: string, method: string, address: string, body: unknown, as: TestCaller = caller, more: object = {}) {
  return api.call(as, method, address, { body, headers: { "Idempotency-Key": key, ...more } });
}

const withdraw = (key: string, account: { id: string }, amount: string) =>
  send(key, "POST", "/transactions/withdrawal", { account_id: account.id, amount });

/** The stored answers of the callers' tenant. */
async function storedReplies() {
  const items = await scanTable(api.emulator);
  return items.filter((item) => item["et"] === "IDEM" && item["tenant_id"] === caller.tenant_id);
}

/** The part of an answer that must be the same when it is given again. */
function repeated({ status, text, headers }: TestAnswer) {
  return [status, text, headers["ETag"], headers["Location"], headers["Content-Type"]];
}

describe("a request with two keys", () => {
  it("has no effect, in either order, and neither key is used up", async () => {
    const account = await broker.account("100.00");
    const [one, other] = [newKey(), newKey()];
    const body = { account_id: account.id, amount: "10.00" };
    for (const headers of [{ "Idempotency-Key": [one, other] }, { "Idempotency-Key": [other, one] }]) {
      const answer = await api.call(caller, "POST", "/transactions/deposit", { body, headers });
      expect([answer.status, answer.body.code]).toEqual([400, "idempotency_key_invalid"]);
    }
    const made = await send(one, "POST", "/transactions/deposit", body);
    expect([made.status, made.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
    const { data } = await broker.get(`/accounts/${account.id}/transactions?status=pending`);
    expect(data.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
  });
});

describe("the same key with the same request", () => {
  it("has one effect and one answer, byte for byte, with its tag and address; the request id is new", async () => {
    const account = await broker.account("100.00");
    const key = newKey();
    const first = await withdraw(key, account, "10.00");
    const second = await withdraw(key, account, "10.00");
    expect(first.status).toBe(201);
    expect(first.headers["Idempotent-Replayed"]).toBeUndefined();
    expect(repeated(second)).toEqual(repeated(first));
    expect(second.headers["Idempotent-Replayed"]).toBe("true");
    expect(second.headers["X-Request-Id"]).not.toBe(first.headers["X-Request-Id"]);
    expect(Number(second.headers["X-RateLimit-Remaining"])).toBeGreaterThanOrEqual(0);
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
  });

  it("has it bare and in quotes alike", async () => {
    const key = newKey();
    const body = clientRequest();
    const first = await send(key, "POST", "/clients", body);
    expect(repeated(await send(`"${key}"`, "POST", "/clients", body))).toEqual(repeated(first));
  });

  it("50 at once: one withdrawal, 50 equal answers, 49 of them marked as replayed", async () => {
    const account = await broker.account("1000.00");
    const key = newKey();
    const answers = await atOnce(50, () => withdraw(key, account, "100.01"));
    expect(statusCounts(answers)).toEqual({ 201: 50 });
    expect(new Set(answers.map((answer) => JSON.stringify(repeated(answer)))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers["Idempotent-Replayed"] === "true")).toHaveLength(49);
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ held: "100.01", available_balance: "899.99" });
  });

  it.each([
    ["a client", () => ["POST", "/clients", clientRequest()] as const],
    ["a deposit that is completed", undefined],
  ])("20 at once of %s: one effect, 20 equal answers", async (_, request) => {
    const account = await broker.account();
    const deposit = { account_id: account.id, amount: "5.00", status: "completed" };
    const [method, address, body] = request?.() ?? (["POST", "/transactions/deposit", deposit] as const);
    const key = newKey();
    const answers = await atOnce(20, () => send(key, method, address, body));
    expect(statusCounts(answers)).toEqual({ 201: 20 });
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it("moves a transaction once, and tells the same after the state is another one", async () => {
    const account = await broker.account("50.00");
    const withdrawal = await broker.withdrawal(account, "20.00");
    const key = newKey();
    const complete = () => send(key, "PATCH", `/transactions/${withdrawal.id}`, { status: "completed" });
    const first = await complete();
    expect(first.body.status).toBe("completed");
    expect(repeated(await complete())).toEqual(repeated(first));
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("30.00");
  });

  it("gives the first answer of a patch although the client has changed since", async () => {
    const client = await broker.client();
    const key = newKey();
    const rename = () => send(key, "PATCH", `/clients/${client.id}`, { first_name: "Eva" });
    const first = await rename();
    await api.call(caller, "PATCH", `/clients/${client.id}`, { body: { first_name: "Ida" } });
    expect(repeated(await rename())).toEqual(repeated(first));
    expect((await broker.get(`/clients/${client.id}`)).first_name).toBe("Ida");
  });

  it("gives the first answer of a patch that changed nothing", async () => {
    const client = await broker.client();
    const key = newKey();
    const empty = () => send(key, "PATCH", `/clients/${client.id}`, {});
    const first = await empty();
    await api.call(caller, "PATCH", `/clients/${client.id}`, { body: { first_name: "Ida" } });
    expect(repeated(await empty())).toEqual(repeated(first));
  });

  it("is asked for before If-Match is", async () => {
    const client = await broker.client();
    const key = newKey();
    const rename = () =>
      send(key, "PATCH", `/clients/${client.id}`, { first_name: "Eva" }, caller, { "If-Match": '"1"' });
    expect((await rename()).status).toBe(200);
    expect((await rename()).status).toBe(200);
  });
});

describe("the same key with another request", () => {
  it.each([
    ["another amount", { amount: "11.00" }],
    ["another member", { amount: "10.00", description: "x" }],
    ["the amount as a number", { amount: 10.0 }],
    ["the amount in other digits", { amount: "10.0" }],
  ])("is refused and has no effect: %s", async (_, other) => {
    const account = await broker.account("100.00");
    const key = newKey();
    await withdraw(key, account, "10.00");
    const answer = await send(key, "POST", "/transactions/withdrawal", { account_id: account.id, ...other });
    expect(answer).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
  });

  it("is refused when the members only stand in another order, or the path is another", async () => {
    const account = await broker.account("100.00");
    const key = newKey();
    const text = `{"account_id":"${account.id}","amount":"10.00"}`;
    await send(key, "POST", "/transactions/withdrawal", text);
    const turned = await send(
      key,
      "POST",
      "/transactions/withdrawal",
      `{"amount":"10.00","account_id":"${account.id}"}`,
    );
    const elsewhere = await send(key, "POST", "/transactions/deposit", text);
    for (const answer of [turned, elsewhere]) {
      expect(answer).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
    }
  });

  it("is read without a byte order mark at its start, with which it is another request", async () => {
    const account = await broker.account("100.00");
    const key = newKey();
    const text = `{"account_id":"${account.id}","amount":"10.00"}`;
    const marked = await send(key, "POST", "/transactions/withdrawal", `\ufeff${text}`);
    expect(marked).toMatchObject({ status: 201, body: { amount: "10.00" } });
    expect((await send(key, "POST", "/transactions/withdrawal", `\ufeff${text}`)).text).toBe(marked.text);
    const bare = await send(key, "POST", "/transactions/withdrawal", text);
    expect(bare).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
    const twice = await send(newKey(), "POST", "/transactions/withdrawal", `\ufeff\ufeff${text}`);
    expect(twice).toMatchObject({ status: 400, body: { code: "malformed_json" } });
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("10.00");
  });

  it("is refused when it would change nothing, too", async () => {
    const client = await broker.client();
    const key = newKey();
    await send(key, "PATCH", `/clients/${client.id}`, {});
    const answer = await send(key, "PATCH", `/clients/${client.id}`, { first_name: "Ana" });
    expect(answer).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
  });

  it("50 at once with 50 bodies: one effect, 49 refused", async () => {
    const account = await broker.account("1000.00");
    const key = newKey();
    const answers = await atOnce(50, (index) => withdraw(key, account, `1.${String(index + 10)}`));
    expect(statusCounts(answers)).toEqual({ 201: 1, 422: 49 });
    const [won] = answers.filter(({ status }) => status === 201);
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe(won?.body.amount);
  });
});

describe("a key belongs to one application", () => {
  it("and another one, of the same tenant or another, does not see it", async () => {
    const key = newKey();
    const colleague = newCaller({ tenant_id: caller.tenant_id });
    const body = clientRequest();
    expect((await send(key, "POST", "/clients", body)).status).toBe(201);
    expect((await send(key, "POST", "/clients", clientRequest(), colleague)).status).toBe(201);
    const foreign = await send(key, "POST", "/clients", body, newCaller());
    expect([foreign.status, foreign.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
  });
});

describe("a refusal", () => {
  it("of the business is kept: the same answer although the reason is gone", async () => {
    const account = await broker.account();
    const key = newKey();
    const first = await withdraw(key, account, "10.00");
    expect(first).toMatchObject({ status: 422, body: { code: "insufficient_funds" } });
    await broker.deposit(account, "100.00", { status: "completed" });
    const second = await withdraw(key, account, "10.00");
    expect(repeated(second)).toEqual(repeated(first));
    expect(second.headers["Idempotent-Replayed"]).toBe("true");
    expect((await withdraw(newKey(), account, "10.00")).status).toBe(201);
  });

  it("for a value that is taken is kept", async () => {
    const client = await broker.client();
    const key = newKey();
    const body = clientRequest({ email: client.email });
    const first = await send(key, "POST", "/clients", body);
    expect(first.status).toBe(409);
    await api.call(caller, "PATCH", `/clients/${client.id}`, { body: { email: "away@example.com" } });
    expect(repeated(await send(key, "POST", "/clients", body))).toEqual(repeated(first));
  });

  it("20 at once with one key: 20 equal refusals", async () => {
    const account = await broker.account();
    const key = newKey();
    const answers = await atOnce(20, () => withdraw(key, account, "10.00"));
    expect(statusCounts(answers)).toEqual({ 422: 20 });
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it("for a fault of the request is not kept: validation, scope, precondition, unknown id", async () => {
    const client = await broker.client();
    const address = `/clients/${client.id}`;
    const before = (await storedReplies()).length;
    const poor = withScopes(caller, "clients:write");
    const key = newKey();
    const faults = [
      await send(key, "POST", "/clients", { email: "x" }),
      await send(key, "POST", "/clients", clientRequest({ first_name: undefined, last_name: null })),
      await send(key, "PATCH", address, { verification_status: "pending" }),
      await send(key, "PATCH", address, { verification_status: "verified" }, poor),
      await send(key, "PATCH", address, { first_name: "Eva" }, caller, { "If-Match": '"9"' }),
      await send(key, "PATCH", `/clients/${newId("cli")}`, { first_name: "Eva" }),
      await send(key, "POST", "/clients", "{"),
      await send(key, "POST", "/clients", {}, caller, { "Content-Type": "text/plain" }),
    ];
    expect(faults.map(({ status }) => status)).toEqual([422, 422, 422, 403, 412, 404, 400, 415]);
    expect((await storedReplies()).length).toBe(before);
    expect((await send(key, "PATCH", address, { verification_status: "verified" })).status).toBe(200);
  });

  it("for too many requests is not kept", async () => {
    const busy = newCaller({ tenant_id: caller.tenant_id });
    const atMs = 1_900_000_000_000;
    await atOnce(50, () => api.call(busy, "GET", "/clients?limit=1", { atMs }));
    const key = newKey();
    const body = clientRequest();
    const headers = { "Idempotency-Key": key };
    expect((await api.call(busy, "POST", "/clients", { body, headers, atMs })).status).toBe(429);
    const later = await api.call(busy, "POST", "/clients", { body, headers, atMs: atMs + 1000 });
    expect([later.status, later.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
  });
});

describe("a stored answer", () => {
  it("holds neither the key nor the tenant of another, and ends after 24 hours", async () => {
    const key = "my-very-secret-key";
    await send(key, "POST", "/clients", clientRequest());
    const items = await storedReplies();
    expect(JSON.stringify(items)).not.toContain(key);
    for (const item of items) {
      const { number } = item["expires_at"] as { number: string };
      expect(Math.abs(Number(number) - Date.now() / 1000 - 24 * 3600)).toBeLessThan(120);
    }
  });

  it("that is past its time is none, though it is still in the table: the request is done again", async () => {
    const account = await broker.account("100.00");
    const key = newKey();
    const first = await withdraw(key, account, "10.00");
    await expire(first.body.id);
    const answers = await atOnce(10, () => withdraw(key, account, "10.00"));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers[0]?.body.id).not.toBe(first.body.id);
    expect((await broker.get(`/accounts/${account.id}`)).held).toBe("20.00");
  });

  it("of a refusal that is past its time is none either", async () => {
    const account = await broker.account();
    const key = newKey();
    const first = await withdraw(key, account, "10.00");
    await broker.deposit(account, "10.00", { status: "completed" });
    await expire(first.body.request_id);
    expect((await withdraw(key, account, "10.00")).status).toBe(201);
  });
});

describe("a day and an hour later", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["external_id", { external_id: "booked-once" }, "external_id_taken"],
    ["provider reference", { provider: "psp", provider_reference: "booked-once" }, "duplicate_provider_reference"],
  ])("a deposit with the same key and %s is still booked once", async (_, sets, code) => {
    const account = await broker.account();
    const key = newKey();
    const body = { account_id: account.id, amount: "10.00", status: "completed", ...sets };
    expect((await send(key, "POST", "/transactions/deposit", body)).status).toBe(201);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * 3_600_000 });
    const again = await send(key, "POST", "/transactions/deposit", body);
    expect([again.status, again.body.code]).toEqual([409, code]);
    expect((await broker.get(`/accounts/${account.id}`)).balance).toBe("10.00");
  });

  it("the key alone makes a new request of it, although the old answer is still in the table", async () => {
    const account = await broker.account("100.00");
    const key = newKey();
    const first = await withdraw(key, account, "10.00");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * 3_600_000 });
    const again = await withdraw(key, account, "10.00");
    expect([again.status, again.body.id === first.body.id]).toEqual([201, false]);
  });

  it("a clock that went back lets no moment of a client go back", async () => {
    const made = await broker.client();
    const path = `/clients/${made.id}`;
    const after = (await send(newKey(), "PATCH", path, { first_name: "Eva" })).body;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
    const last = (await send(newKey(), "PATCH", path, { first_name: "Ida" })).body;
    expect(last.version).toBe(3);
    expect(Date.parse(last.updated_at)).toBeGreaterThanOrEqual(Date.parse(after.updated_at));
  });
});

/** Moves the end of the stored answer that contains this text into the past, as if a day had gone by. */
async function expire(containing: string): Promise<void> {
  const found = (await storedReplies()).filter((item) => String(item["body"]).includes(containing));
  expect(found).toHaveLength(1);
  for (const { pk, sk } of found) {
    await api.emulator.client.send(
      new UpdateItemCommand({
        TableName: api.emulator.tableName,
        Key: { pk: { S: String(pk) }, sk: { S: String(sk) } },
        UpdateExpression: "SET expires_at = :past",
        ExpressionAttributeValues: { ":past": { N: String(Math.floor(Date.now() / 1000) - 2) } },
      }),
    );
  }
}
