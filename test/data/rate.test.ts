import { afterAll, describe, expect, it, vi } from "vitest";
import { limits } from "../../shared/limits.ts";
import { bridge, moneyMoved } from "../support/builders/bridge.ts";
import { atOnce, brokerage, clientRequest, statusCounts } from "../support/builders/brokerage.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { asOperator, newCaller } from "../support/emulator/request.ts";
import { closedDoor, failure } from "../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);
const { countRequest } = await import("../../shared/table/counters.ts");

/** The start of a clock minute that no other test counts in. */
let minutes = 0;
const newMinute = () => {
  minutes += 1;
  return 1_900_000_020_000 + minutes * 60_000;
};

const tally = (verdicts: readonly { readonly allowed: boolean }[]) => verdicts.filter(({ allowed }) => allowed).length;

describe("the counter of an application", () => {
  it("allows 50 of 60 in one second, in any order, and 50 again in the next", async () => {
    const caller = newCaller();
    const start = newMinute();
    const first = await atOnce(60, (index) => countRequest(caller, "standard", start + index));
    expect(tally(first)).toBe(50);
    for (const verdict of first) {
      expect(verdict).toMatchObject({ limit: 1000, reset_seconds: start / 1000 + 60 });
      expect(verdict.violated).toEqual(verdict.allowed ? [] : ["burst"]);
      if (!verdict.allowed) expect(verdict.retry_after_seconds).toBe(1);
    }
    expect(tally(await atOnce(60, () => countRequest(caller, "standard", start + 1000)))).toBe(50);
  });

  it("allows 1000 of 1200 that are spread over a minute, and does not count what it refuses", async () => {
    const caller = newCaller();
    const start = newMinute();
    const verdicts: Awaited<ReturnType<typeof countRequest>>[] = [];
    for (let second = 0; second < 24; second += 1) {
      verdicts.push(...(await atOnce(50, () => countRequest(caller, "standard", start + second * 1000 + 999))));
    }
    expect(tally(verdicts)).toBe(limits.rate.per_minute);
    expect(new Set(verdicts.flatMap(({ allowed, remaining }) => (allowed ? [remaining] : [])))).toEqual(
      new Set(Array.from({ length: 1000 }, (_, index) => index)),
    );
    for (const verdict of verdicts.filter(({ allowed }) => !allowed)) {
      expect(verdict).toMatchObject({ remaining: 0, violated: ["minute"], reset_seconds: start / 1000 + 60 });
    }
    const late = await countRequest(caller, "standard", start + 59_999);
    expect(late).toMatchObject({ allowed: false, retry_after_seconds: 1, violated: ["minute"] });
    const early = await countRequest(caller, "standard", start + 24_000);
    expect(early.retry_after_seconds).toBe(36);
    expect(await countRequest(caller, "standard", start + 60_000)).toMatchObject({ allowed: true, remaining: 999 });
  });

  it("counts what is left only from what was allowed", async () => {
    const caller = newCaller();
    const start = newMinute();
    await atOnce(80, () => countRequest(caller, "standard", start));
    expect((await countRequest(caller, "standard", start + 1000)).remaining).toBe(949);
  });

  it("counts quotes by themselves: 100 in a second, which take nothing from the others", async () => {
    const caller = newCaller();
    const start = newMinute();
    const quotes = await atOnce(120, () => countRequest(caller, "quotes", start));
    expect(tally(quotes)).toBe(100);
    for (const verdict of quotes) expect(verdict).toMatchObject({ limit: 100, reset_seconds: start / 1000 + 1 });
    expect(quotes.filter(({ allowed }) => !allowed).every(({ violated }) => violated.join() === "quotes")).toBe(true);
    expect(await countRequest(caller, "standard", start)).toMatchObject({ allowed: true, remaining: 999 });
    expect(tally(await atOnce(120, () => countRequest(caller, "quotes", start + 1000)))).toBe(100);
  });

  it("keeps applications apart, also two of one tenant", async () => {
    const one = newCaller();
    const other = newCaller({ tenant_id: one.tenant_id });
    const start = newMinute();
    await atOnce(60, () => countRequest(one, "standard", start));
    expect(tally(await atOnce(50, () => countRequest(other, "standard", start)))).toBe(50);
  });

  it("is one item of the tenant per minute, which ends by itself", async () => {
    const caller = newCaller();
    const start = newMinute();
    await countRequest(caller, "standard", start);
    await countRequest(caller, "standard", start + 59_999);
    await countRequest(caller, "standard", start + 60_000);
    const items = await scanTable(api.emulator, api.emulator.volatileTableName);
    const own = items.filter(({ pk }) => String(pk).startsWith(caller.tenant_id));
    expect(own.map(({ n }) => n)).toEqual(expect.arrayContaining([{ number: "2" }, { number: "1" }]));
    for (const { expires_at } of own) {
      expect(Number((expires_at as { number: string }).number)).toBeGreaterThan(start / 1000 + 60);
    }
  });
});

describe("a request", () => {
  it("gets the three headers with every answer that was counted, also a refusal", async () => {
    const caller = newCaller();
    const atMs = newMinute() + 500;
    const reset = String(Math.floor(atMs / 60_000) * 60 + 60);
    const answers = [
      await api.call(caller, "GET", "/clients", { atMs }),
      await api.call(caller, "GET", "/clients?nope=1", { atMs }),
      await api.call(caller, "POST", "/clients", { body: {}, atMs }),
      await api.call(caller, "POST", "/clients", { body: clientRequest(), atMs }),
      await api.call(caller, "GET", "/clients/nonsense", { atMs }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 422, 201, 404]);
    expect(answers.map(({ headers }) => headers["X-RateLimit-Remaining"])).toEqual(["999", "998", "997", "996", "995"]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({ "X-RateLimit-Limit": "1000", "X-RateLimit-Reset": reset });
    }
  });

  it("beyond the burst is refused with 429 and has no effect", async () => {
    const caller = newCaller();
    const atMs = newMinute();
    const bodies = Array.from({ length: 60 }, () => clientRequest());
    const answers = await atOnce(60, (index) => api.call(caller, "POST", "/clients", { body: bodies[index], atMs }));
    expect(statusCounts(answers)).toEqual({ 201: 50, 429: 10 });
    for (const { status, headers, body } of answers) {
      if (status !== 429) continue;
      expect(headers).toMatchObject({
        "Retry-After": "1",
        "Content-Type": "application/problem+json",
        "X-RateLimit-Limit": "1000",
        "X-RateLimit-Reset": String(atMs / 1000 + 60),
      });
      expect(body).toMatchObject({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        status: 429,
        code: "rate_limit_exceeded",
        "violated-policies": ["burst"],
      });
    }
    const stored = await scanTable(api.emulator);
    const clients = stored.filter(({ et, tenant_id }) => et === "CLIENT" && tenant_id === caller.tenant_id);
    expect(clients).toHaveLength(50);
  });

  it.each(["/clients?limit=1", "/clients/cli_01JD0000000000000000000001", "/accounts/nonsense", "/clients?nope=1"])(
    "to read %s is refused beyond the burst as well, whatever the answer would have been",
    async (address) => {
      const caller = newCaller();
      const atMs = newMinute();
      const answers = await atOnce(60, () => api.call(caller, "GET", address, { atMs }));
      expect(statusCounts(answers)[429]).toBe(10);
      for (const { status, headers } of answers) if (status === 429) expect(headers["Retry-After"]).toBe("1");
    },
  );

  it("of an operator is one of 60 in a second, of any class, and a refusal says when to come again", async () => {
    const caller = newCaller();
    const operators = ["Ana", "Eva"].map((name) => asOperator(caller, name, "owner"));
    const [ana = caller, eva = caller] = operators;
    const atMs = newMinute();
    const paths = ["/clients", "/quotes?symbols=EURUSD"];
    const answers: Awaited<ReturnType<typeof api.call>>[] = [];
    // All of one second of the gateway, however long they take here: 75 at once would wait for connections, and a
    // request does not wait for a counter that is slow.
    for (let sent = 0; sent < 75; sent += 5) {
      const some = await atOnce(5, (index) =>
        api.call(ana, "GET", paths[index % 2] ?? "", { atMs: atMs + sent + index }),
      );
      answers.push(...some);
    }
    expect(statusCounts(answers)).toEqual({ 200: limits.rate.operator_per_second, 429: 15 });
    const served = answers.filter(({ status }) => status === 200);
    expect(new Set(served.map(({ headers }) => headers["X-RateLimit-Remaining"])).size).toBe(60);
    for (const { headers, body } of answers.filter(({ status }) => status === 429)) {
      expect([headers["Retry-After"], headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]]).toEqual([
        "1",
        "60",
        "0",
      ]);
      expect([body.code, body["violated-policies"]]).toEqual(["rate_limit_exceeded", ["burst"]]);
    }
    const refused = await api.call(ana, "POST", "/clients", { body: clientRequest(), atMs: atMs + 999 });
    expect(refused.status).toBe(429);
    // Another operator, the application, and the next second are counted by themselves.
    for (const each of [eva, caller]) expect((await api.call(each, "GET", "/clients", { atMs })).status).toBe(200);
    const next = await api.call(ana, "GET", "/clients", { atMs: atMs + 1000 });
    expect([next.status, next.body.data]).toEqual([200, []]);
  });

  it("that reads is counted beside its read: the read does not wait for the counter", async () => {
    const caller = newCaller();
    const client = await brokerage(api, caller).client();
    const read = closedDoor();
    api.watched.interfere = async ({ operation }) => {
      if (operation === "BatchGetItem") read.open();
      if (operation === "UpdateItem") await read.opened;
      return undefined;
    };
    const answer = await api.call(caller, "GET", `/clients/${client.id}`);
    api.watched.interfere = () => undefined;
    expect([answer.status, answer.headers["X-RateLimit-Remaining"]]).toEqual([200, "998"]);
  });

  it("that changes something is counted while it reads", async () => {
    const caller = newCaller();
    const client = await brokerage(api, caller).client();
    const read = closedDoor();
    api.watched.interfere = async ({ operation }) => {
      if (operation === "BatchGetItem") read.open();
      if (operation === "UpdateItem") await read.opened;
      return undefined;
    };
    const answer = await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } });
    api.watched.interfere = () => undefined;
    expect([answer.status, answer.headers["X-RateLimit-Remaining"]]).toEqual([201, "998"]);
  });
});

describe("a request that the counter refuses late, when the handler has read and decided", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  let keys = 0;

  /** The counter refuses some turns after the handler's last call, so that a write that does not wait comes before. */
  async function refusedLate(method: string, address: string, body?: object, headers = newKey()) {
    const others: string[] = [];
    api.watched.interfere = async ({ operation, tables }) => {
      if (operation !== "UpdateItem" || tables[0] !== api.emulator.volatileTableName) {
        others.push(operation);
        return undefined;
      }
      for (let seen = -1; seen !== others.length; ) {
        seen = others.length;
        for (let turn = 0; turn < 100; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      }
      return exhausted;
    };
    const answer = await api.call(caller, method, address, { ...(body && { body }), headers });
    api.watched.interfere = () => undefined;
    return { status: answer.status, code: answer.body.code, writes: others.filter((each) => !isRead.test(each)) };
  }

  const isRead = /^(?:BatchGetItem|Query)$/;
  const newKey = () => {
    keys += 1;
    return { "Idempotency-Key": `late-${keys}` };
  };
  const exhausted = {
    status: 400,
    body: {
      __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
      message: "The conditional request failed",
      Item: { n: { N: String(limits.rate.per_minute) } },
    },
  };
  const refused = { status: 429, code: "rate_limit_exceeded", writes: [] };

  it("commits nothing and keeps no answer, so the same key works when it comes again", async () => {
    const account = await broker.account("10.00");
    const body = { account_id: account.id, amount: "1.00" };
    const headers = newKey();
    expect(await refusedLate("POST", "/transactions/withdrawal", body, headers)).toEqual(refused);
    const again = await api.call(caller, "POST", "/transactions/withdrawal", { body, headers });
    expect([again.status, again.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
    expect(await refusedLate("POST", "/transactions/withdrawal", body, headers)).toEqual(refused);
    expect((await broker.get(`/accounts/${account.id}/transactions?kind=withdrawal`)).data).toHaveLength(1);
  });

  it("keeps neither a refusal nor an answer that changes nothing under its key", async () => {
    const account = await broker.account();
    const body = { account_id: account.id, amount: "1.00" };
    expect(await refusedLate("POST", "/transactions/withdrawal", body)).toEqual(refused);
    expect(await refusedLate("PATCH", `/accounts/${account.id}`, { name: account.name })).toEqual(refused);
  });

  it("receives that refusal and not what the handler found", async () => {
    expect(await refusedLate("DELETE", "/accounts/acc_01JD0000000000000000000001")).toEqual(refused);
    expect(await refusedLate("POST", "/clients", {})).toEqual(refused);
  });

  it("stores no part of a batch, no price of a source or of the sandbox", async () => {
    await putMarket(api, caller.tenant_id);
    const source = { name: "mt5:late", platform: "mt5", authoritative: "platform" };
    const { id } = (await api.call(caller, "POST", "/feed/sources", { body: source })).body;
    const swap = { type: "swap", data: { position_id: "P-1", amount: "-6.20", for_date: "2026-11-20" } };
    const quote = { symbol: "EURUSD", bid: "1.10000", ask: "1.10010", time: new Date().toISOString(), seq: "1" };
    const prices = [{ symbol: "EURUSD", bid: "1.08500" }];
    const sent: [string, object][] = [
      [`/feed/sources/${id}/batches`, { first_seq: "1", items: [{ seq: "1", ...swap }] }],
      [`/feed/sources/${id}/quotes`, { quotes: [quote] }],
      ["/sandbox/prices", { prices }],
    ];
    for (const [address, body] of sent) expect(await refusedLate("POST", address, body)).toEqual(refused);
    expect(api.queues.takeMessages()).toEqual([]);
  });

  it("counts and logs nothing of a reject that it retries; when it comes again it does", async () => {
    const { newSource, trader, unusedLogin } = bridge(api, caller);
    const [source, login] = [await newSource(), unusedLogin()];
    const reference = { reference: "txn_01JD0000000000000000000009" };
    await source.send(moneyMoved(login, "B-1", "deposit", "1.23", reference));
    await trader(null, { platform_login: login });
    const written: string[] = [];
    vi.stubEnv("POWERTOOLS_LOG_LEVEL", "WARN");
    const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    const told = () =>
      written.splice(0).filter((line) => /UnexpectedOperation|A platform's operation differs/.test(line));
    expect(await refusedLate("POST", `${source.path}/rejects/1/retry`)).toEqual(refused);
    const ofRefused = told();
    const again = await source.retry("1");
    output.mockRestore();
    vi.unstubAllEnvs();
    expect([ofRefused, again.body.status, told().length]).toEqual([[], "applied", 2]);
  });
});

describe("when the counter does not answer", () => {
  const passing = { allowed: true, limit: 1000, remaining: 1000, violated: [] };

  it("requests pass, long before their time is over", async () => {
    const held = closedDoor();
    api.watched.interfere = async () => {
      await held.opened;
      return undefined;
    };
    vi.stubEnv("BUDGET_FACTOR", "1");
    const started = performance.now();
    expect(await countRequest(newCaller(), "standard", newMinute())).toMatchObject(passing);
    expect(performance.now() - started).toBeLessThan(3000);
    vi.unstubAllEnvs();
    held.open();
    api.watched.interfere = () => undefined;
  });

  it("but refuses the call, requests pass and are asked about once", async () => {
    api.watched.takeCalls();
    api.watched.interfere = () => failure("ProvisionedThroughputExceededException");
    expect(await countRequest(newCaller(), "standard", newMinute())).toMatchObject(passing);
    api.watched.interfere = () => undefined;
    expect(api.watched.takeCalls().map(({ operation }) => operation)).toEqual(["UpdateItem"]);
  });
});
