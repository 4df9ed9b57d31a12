import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { csvRows, flat, hashOf } from "../../support/builders/exports.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import type { TestAnswer } from "../../support/emulator/api.ts";
import { startBucketEndpoint } from "../../support/emulator/bucket-endpoint.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { asOperator, lambdaContext, newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const bucket = await startBucketEndpoint();
const api = await startJudgedApi();
Object.assign(process.env, bucket.environment);
afterAll(bucket.stop);
afterEach(() => {
  bucket.interfere = () => undefined;
});

const { handler } = await import("../../../functions/jobs/run.ts");
const { publishWaiting } = await import("../../support/emulator/publishing.ts");

/** Moves the clock on, for the service and its buckets. */
function moveOn(seconds: number): void {
  const now = Date.now() + seconds * 1000;
  vi.useFakeTimers({ toFake: ["Date"], now });
}
const run = () => handler({}, lambdaContext(600_000));

async function start(caller: TestCaller, type: string, parameters: object = {}): Promise<TestAnswer["body"]> {
  const answer = await api.call(caller, "POST", "/jobs", { body: { type, parameters } });
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  return answer.body;
}

async function shown(caller: TestCaller, id: string): Promise<TestAnswer["body"]> {
  return (await api.call(caller, "GET", `/jobs/${id}`)).body;
}

/** The files of a job that succeeded by their names, each as its hash in the manifest says. */
async function files(caller: TestCaller, id: string): Promise<Map<string, Buffer>> {
  const { status, body } = await api.call(caller, "POST", `/jobs/${id}/links`);
  expect(status).toBe(201);
  const { result } = await shown(caller, id);
  const contents = new Map<string, Buffer>();
  for (const { name, signed_url } of body.files) {
    const answer = await fetch(signed_url);
    expect([answer.status, answer.headers.get("content-disposition")]).toEqual([200, `attachment; filename="${name}"`]);
    contents.set(name, Buffer.from(await answer.arrayBuffer()));
  }
  const [[, manifest = Buffer.alloc(0)] = [], ...rest] = contents;
  expect(hashOf(manifest)).toBe(result.sha256);
  const told = JSON.parse(manifest.toString());
  expect(told.files).toEqual(result.files);
  expect(rest.map(([name, content]) => [name, content.byteLength, hashOf(content)])).toEqual(
    result.files.map(({ name, bytes, sha256 }: Record<string, unknown>) => [name, bytes, sha256]),
  );
  return new Map(rest);
}

async function rowsOf(caller: TestCaller, id: string): Promise<Record<string, string>[]> {
  return [...(await files(caller, id))].flatMap(([name, content]) => csvRows(content, name));
}

/** Every item of a list, oldest first. */
async function listed(caller: TestCaller, path: string, sort = "created_at"): Promise<TestAnswer["body"][]> {
  const items: TestAnswer["body"][] = [];
  let next: string | undefined = `${path}?limit=100&sort=${sort}`;
  while (next !== undefined) {
    const { body }: TestAnswer = await api.call(caller, "GET", next);
    items.push(...body.data);
    next = body._links.next?.href.replace(/^.*\/v2(?=\/)/, "");
  }
  return items;
}

const hostile = ["=1+1", "@SUM(A1)", 'a "quoted", b', "'t Hooft", "'=2", "علي حسن", "-5.00 x"];

/** A brokerage with clients of hostile names, their accounts, and money that moved. */
async function someBrokerage(): Promise<TestCaller> {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  await putMarket(api, caller.tenant_id);
  for (const last_name of hostile) {
    const client = await broker.client({ last_name, metadata: { note: last_name } });
    const response = await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } });
    await broker.deposit(response.body, "100.05", { status: "completed" });
    await broker.deposit(response.body, "7.00");
  }
  return caller;
}

describe("an export", () => {
  it.each([
    ["transactions", "/transactions", "created_at"],
    ["clients", "/clients", "created_at"],
    ["accounts", "/accounts", "created_at"],
  ])("of %s has each row of the list once, with the values of the API", async (type, path, sort) => {
    const caller = await someBrokerage();
    const job = await start(caller, type);
    expect([job.status, job.created_by, job.result]).toEqual(["queued", caller.application_id, null]);
    await run();
    expect((await shown(caller, job.id)).status).toBe("queued");
    moveOn(61);
    await run();
    const rows = await rowsOf(caller, job.id);
    const columns = Object.keys(rows[0] ?? {});
    expect(columns).not.toContain("_links");
    const wanted = (await listed(caller, path, sort)).map((item) => flat(item, columns));
    const timeless = (row: Record<string, string>) => ({ ...row, metrics_as_of: "" });
    expect(rows.map(timeless)).toEqual(wanted.map(timeless));
    const after = await shown(caller, job.id);
    expect(after).toMatchObject({ status: "succeeded", progress: { percent: 100, rows: wanted.length, files: 1 } });
    expect(after.result.files[0].name).toMatch(new RegExp(`^${type}-\\d{8}-001\\.csv$`));
  });

  it("has names where they are asked for, and what was made before it alone", async () => {
    const caller = await someBrokerage();
    const parameters = { include_names: true, status: "completed" };
    const job = await start(caller, "transactions", parameters);
    moveOn(1);
    await brokerage(api, caller).account("1.00");
    moveOn(61);
    await run();
    const rows = await rowsOf(caller, job.id);
    expect(rows.map((row) => row["client_name"])).toEqual(hostile.map((name) => `Ana ${name}`));
    expect(new Set(rows.map(({ status, amount }) => `${status} ${amount}`))).toEqual(new Set(["completed 100.05"]));
    const { data } = (await api.call(caller, "GET", "/accounts")).body;
    expect(data.map(({ number }: { number: string }) => number)).toContain(rows[0]?.["account_number"]);
  });

  it("of the ledger and of balances is of an instant, whatever is booked later", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const account = await broker.account("100.00");
    moveOn(60);
    await broker.deposit(account, "11.00", { status: "completed" });
    const body = { account_id: account.id, direction: "in", amount: "9.00", reason: { code: "bonus" } };
    const credit = await api.call(caller, "POST", "/transactions/credit", { body });
    const second = asOperator(caller, "Ola", "finance");
    const given = { body: { status: "completed" } };
    expect((await api.call(second, "PATCH", `/transactions/${credit.body.id}`, given)).status).toBe(200);
    moveOn(60);
    const at = new Date(Date.now() - 30_000).toISOString();
    await broker.deposit(account, "5.00", { status: "completed" });
    const early = await api.call(caller, "POST", "/jobs", { body: { type: "balances", parameters: { at } } });
    expect([early.status, early.body.code]).toEqual([422, "instant_too_recent"]);
    moveOn(900);
    const entries = await start(caller, "ledger", { from: new Date(Date.parse(at) - 60_000).toISOString(), to: at });
    const money = await start(caller, "balances", { at });
    await run();
    const rows = await rowsOf(caller, entries.id);
    const known = (await listed(caller, `/accounts/${account.id}/ledger`, "balance_version")).slice(1, 3);
    expect(rows.map(({ id, amount, balance_after }) => ({ id, amount, balance_after }))).toEqual(
      known.map(({ id, amount, balance_after }) => ({ id, amount, balance_after })),
    );
    const [balance] = await rowsOf(caller, money.id);
    expect(balance).toMatchObject({ account_id: account.id, balance: "111.00", balance_version: "3", at });
    expect([rows.at(-1)?.["balance_after"], rows.at(-1)?.["credit_after"]]).toEqual([
      balance?.["balance"],
      balance?.["credit"],
    ]);
  });

  it("of events has those that GET shows, by their numbers", async () => {
    const caller = await someBrokerage();
    await publishWaiting(api.emulator, caller.tenant_id);
    moveOn(61);
    const job = await start(caller, "events", { after_sequence: "3", to_sequence: "30" });
    await run();
    const [[name, content] = ["", Buffer.alloc(0)]] = await files(caller, job.id);
    expect(name).toMatch(/\.ndjson$/);
    const lines = content.toString().trimEnd().split("\n");
    const events = (await listed(caller, "/events", "sequence")).slice(3, 30);
    expect(lines.map((line) => JSON.parse(line))).toEqual(events);
  });
});

describe("a job", () => {
  it("is nothing of another brokerage's, of viewers or of support", async () => {
    const caller = newCaller();
    const job = await start(caller, "clients");
    const stranger = newCaller();
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
      ["POST", "/links"],
    ] as const) {
      expect((await api.call(stranger, method, `/jobs/${job.id}${path}`)).status).toBe(404);
    }
    for (const role of ["viewer", "support"] as const) {
      const person = asOperator(caller, "Vic", role);
      const body = { type: "clients", parameters: {} };
      expect((await api.call(person, "POST", "/jobs", { body })).status).toBe(403);
      expect((await api.call(person, "POST", `/jobs/${job.id}/cancel`)).status).toBe(403);
      expect((await api.call(person, "POST", `/jobs/${job.id}/links`)).status).toBe(403);
      expect((await api.call(person, "GET", `/jobs/${job.id}`)).status).toBe(role === "viewer" ? 200 : 403);
    }
    const finance = asOperator(caller, "Fin", "finance");
    expect((await api.call(finance, "POST", `/jobs/${job.id}/cancel`)).status).toBe(200);
  });

  it("needs the scopes that read its rows, also for its links", async () => {
    const caller = newCaller();
    const narrow = withScopes(caller, "reports:read", "reports:write", "transactions:read");
    const body = { type: "transactions", parameters: { include_names: true } };
    const refused = await api.call(narrow, "POST", "/jobs", { body });
    expect([refused.status, refused.body.scope]).toEqual([403, "clients:read"]);
    expect((await api.call(narrow, "POST", "/jobs", { body: { type: "clients", parameters: {} } })).status).toBe(403);
    const job = await start(caller, "clients");
    expect((await api.call(narrow, "POST", `/jobs/${job.id}/links`)).status).toBe(403);
    const early = await api.call(caller, "POST", `/jobs/${job.id}/links`);
    expect([early.status, early.body.code]).toEqual([409, "job_not_succeeded"]);
  });

  it("is one of ten that have not ended, and of a hundred on a day, however many are started at once", async () => {
    const caller = newCaller();
    const body = { type: "clients", parameters: {} };
    const tries = await Promise.all(
      Array.from({ length: 14 }, () => api.call(caller, "POST", "/jobs", { body, timeoutMs: 30_000 })),
    );
    const made = tries.filter(({ status }) => status === 202);
    expect(made).toHaveLength(limits.jobs.max_open);
    const refused = await api.call(caller, "POST", "/jobs", { body });
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_jobs"]);
    const [first] = made;
    const cancelled = await api.call(caller, "POST", `/jobs/${first?.body.id}/cancel`);
    expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
    const again = await api.call(caller, "POST", `/jobs/${first?.body.id}/cancel`);
    expect([again.status, again.body.version]).toEqual([200, cancelled.body.version]);
    expect((await api.call(caller, "POST", "/jobs", { body })).status).toBe(202);
    const list = (await api.call(caller, "GET", "/jobs?status=queued&limit=100")).body;
    expect(list.data).toHaveLength(limits.jobs.max_open);
    moveOn(61);
    await run();
    const ended = (await api.call(caller, "GET", "/jobs?status=succeeded,cancelled&type=clients")).body;
    expect(ended.data).toHaveLength(limits.jobs.max_open + 1);
    const late = await api.call(caller, "POST", `/jobs/${made[1]?.body.id}/cancel`);
    expect([late.status, late.body.code]).toEqual([409, "illegal_transition"]);
  });

  it("gives links for five minutes, files for seven days, and one entry of the audit for each command", async () => {
    const caller = await someBrokerage();
    const job = await start(caller, "clients");
    moveOn(61);
    await run();
    const { body } = await api.call(caller, "POST", `/jobs/${job.id}/links`);
    const address = body.files[1].signed_url;
    expect((await fetch(address)).status).toBe(200);
    const changed = address.replace("manifest", "x").replace("clients-", "client-");
    expect((await fetch(changed)).status).toBe(403);
    moveOn(limits.jobs.link_seconds + 1);
    expect((await fetch(address)).status).toBe(403);
    await api.call(caller, "POST", `/jobs/${job.id}/links`);
    expect((await shown(caller, job.id)).downloads).toBe(2);
    moveOn(limits.jobs.result_days * 86_400);
    const ended = await api.call(caller, "POST", `/jobs/${job.id}/links`);
    expect([ended.status, ended.body.code]).toEqual([410, "result_expired"]);
    await publishWaiting(api.emulator, caller.tenant_id);
    const log = (await api.call(caller, "GET", `/audit_log?resource=${job.id}&sort=sequence`)).body;
    const actions = log.data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(["create_job", "create_job_links", "create_job_links"]);
    expect(JSON.stringify(log)).not.toContain("X-Amz-Signature");
  });

  it("has each row once and ends once, whichever call its workers die at and however many there are", async () => {
    const steps: readonly (readonly ["table" | "lost" | "bucket" | "bucket_lost" | "doubled", number])[] = [
      ...([0, 1, 2, 3, 4, 6] as const).map((at) => ["table", at] as const),
      ...([2, 5] as const).map((at) => ["lost", at] as const),
      ...([0, 1] as const).map((at) => ["bucket", at] as const),
      ...([0, 1] as const).map((at) => ["bucket_lost", at] as const),
      ["doubled", 0],
    ];
    const caller = await someBrokerage();
    const wanted = (await listed(caller, "/transactions")).map(({ id }) => id);
    for (const [kind, at] of steps) {
      const job = await start(caller, "transactions");
      moveOn(61);
      let [calls, puts] = [0, 0];
      const isHit = (count: number) => count === at;
      api.watched.interfere = ({ operation }) => {
        if (operation === "Query") return undefined;
        calls += 1;
        if (!isHit(calls - 1)) return undefined;
        return kind === "table" ? failure("AccessDeniedException") : kind === "lost" ? "lose_answer" : undefined;
      };
      bucket.interfere = () => {
        puts += 1;
        if (!isHit(puts - 1)) return undefined;
        return kind === "bucket" ? "refuse" : kind === "bucket_lost" ? "lose_answer" : undefined;
      };
      await Promise.all(Array.from({ length: kind === "doubled" ? 3 : 1 }, () => run().catch(() => undefined)));
      api.watched.interfere = () => undefined;
      bucket.interfere = () => undefined;
      for (let tries = 0; tries < 3; tries += 1) {
        moveOn(181);
        await run();
      }
      expect([kind, at, (await rowsOf(caller, job.id)).map(({ id }) => id)]).toEqual([kind, at, wanted]);
      await publishWaiting(api.emulator, caller.tenant_id);
      const events = (await api.call(caller, "GET", `/events?resource_id=${job.id}`)).body;
      expect(events.data.map(({ type }: { type: string }) => type)).toEqual(["job.completed"]);
    }
    const [count] = await itemsOf(api.emulator, { type: "JOBCOUNT", tenant: caller.tenant_id });
    expect(count).toMatchObject({ open: { number: "0" }, started: { number: String(steps.length) } });
  });

  it("stays cancelled where a worker is at it, and fails after five tries of a step", async () => {
    const caller = await someBrokerage();
    const job = await start(caller, "clients");
    moveOn(61);
    let cancelled: TestAnswer | undefined;
    bucket.interfere = async () => {
      cancelled ??= await api.call(caller, "POST", `/jobs/${job.id}/cancel`);
      return undefined;
    };
    await run();
    expect(cancelled?.body.status).toBe("cancelled");
    moveOn(181);
    await run();
    expect(await shown(caller, job.id)).toMatchObject({ status: "cancelled", result: null });
    const other = await start(caller, "clients");
    bucket.interfere = () => "refuse";
    for (let tries = 0; tries < 6; tries += 1) {
      moveOn(181);
      await run().catch(() => undefined);
    }
    expect(await shown(caller, other.id)).toMatchObject({ status: "failed", error: { code: "not_completed" } });
  });
});
