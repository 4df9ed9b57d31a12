import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { bundle } from "../../infra/bundle.ts";
import type { Handler } from "../../shared/http/endpoint.ts";
import { limits } from "../../shared/limits.ts";
import { type Emulator, functionEnvironment, startEmulator } from "../support/emulator/emulator.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "../support/emulator/fault-proxy.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, proxyEvent } from "../support/emulator/request.ts";
import { cancelled } from "../support/emulator/watched-endpoint.ts";

interface Bundled {
  readonly handler: Handler;
}

describe("a deployed function whose connections were idle", () => {
  let outdir: string;
  let emulator: Emulator;
  let proxy: FaultProxy;
  let handler: Handler;
  let create: Handler;
  let caller = newCaller();
  let lines: string[] = [];

  beforeAll(async () => {
    outdir = await mkdtemp(join(tmpdir(), "idle-connections-"));
    emulator = await startEmulator();
    proxy = await startFaultProxy(emulator.endpoint);
    Object.assign(process.env, functionEnvironment(emulator), {
      AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
      POWERTOOLS_LOG_LEVEL: "INFO",
    });
    const root = new URL("../../functions/", import.meta.url).pathname;
    const files = ["clients/get", "clients/create"];
    await bundle({ entries: files.map((file) => ({ name: file, file })), root, outdir });
    const bundled = files.map((file) => import(pathToFileURL(join(outdir, file, "index.mjs")).href));
    [{ handler }, { handler: create }] = (await Promise.all(bundled)) as [Bundled, Bundled];
  });

  afterAll(async () => {
    await Promise.all([proxy.stop(), emulator.stop()]);
    await rm(outdir, { recursive: true, force: true });
  });

  beforeEach(async () => {
    caller = newCaller();
    proxy.begin([]);
    lines = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
    // Two connections: one for the read and one for the counter beside it.
    expect(await remainingAfter()).toBe(999);
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    expect(lines.filter((line) => /"level":"(?:ERROR|WARN)"|CloudWatchMetrics/.test(line))).toEqual([]);
  });

  const atMs = Date.UTC(2027, 0, 1);

  /** The remaining requests after one more, which finds that its client does not exist. */
  async function remainingAfter(): Promise<number> {
    const { event } = proxyEvent(caller, "GET", "/clients/cli_01JD0000000000000000000001", { atMs });
    const { statusCode, headers } = await handler(event, lambdaContext());
    expect(statusCode).toBe(404);
    return Number(headers?.["X-RateLimit-Remaining"]);
  }

  const later = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  const connections = () => proxy.seen().map(({ connection }) => connection);

  it("answers and counts every request although each of them meets connections that are closed", async () => {
    proxy.begin((served) => (served > 0 ? "cut" : "pass"));
    for (let count = 1; count <= 10; count += 1) expect(await remainingAfter()).toBe(999 - count);
    expect(connections().length).toBeGreaterThan(30);
  });

  it("counts a request once or twice, never not at all, when its answer is lost with the connection", async () => {
    proxy.begin((served) => (served > 0 ? "cut_after" : "pass"));
    let before = 999;
    for (let count = 1; count <= 10; count += 1) {
      const after = await remainingAfter();
      expect([1, 2]).toContain(before - after);
      before = after;
    }
    expect(before).toBeLessThan(989);
  });

  it("commits a change once when the answer of its commit is lost with the connection", async () => {
    const body = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };
    const parts = { body, atMs, headers: { "Idempotency-Key": "idle" } };
    const post = () => create(proxyEvent(caller, "POST", "/clients", parts).event, lambdaContext());
    proxy.begin((served) => (served > 0 ? "cut_after" : "pass"));
    // The connection that its counter opened is reused by its commit.
    const made = await post();
    expect([made.statusCode, made.headers?.["Idempotent-Replayed"]]).toEqual([201, undefined]);
    const stored = (await scanTable(emulator)).filter(({ tenant_id }) => tenant_id === caller.tenant_id);
    expect(stored.filter(({ et }) => et === "CLIENT")).toHaveLength(1);
    const sent = proxy.seen().filter(({ headers }) => headers["x-amz-target"]?.endsWith("TransactWriteItems"));
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ body: text }) => JSON.parse(text.toString()).ClientRequestToken)).size).toBe(1);
  });

  it("does not decide a change again that lost its answer and whose repetition meets another", async () => {
    const body = { email: "eva@example.com", first_name: "Eva", last_name: "Silva" };
    const { status, body: conflict } = cancelled("TransactionConflict");
    const planned: Fault[] = ["cut_after", { status, body: JSON.stringify(conflict) }];
    proxy.begin((_, target) => (target.endsWith("TransactWriteItems") ? planned.shift() : undefined) ?? "pass");
    const made = await create(proxyEvent(caller, "POST", "/clients", { body, atMs }).event, lambdaContext());
    const sent = proxy.seen().filter(({ headers }) => headers["x-amz-target"]?.endsWith("TransactWriteItems"));
    expect(made.statusCode).toBe(201);
    expect(new Set(sent.map(({ body: text }) => JSON.parse(text.toString()).ClientRequestToken)).size).toBe(1);
  });

  it("uses no connection that slept for longer than the service keeps it", async () => {
    proxy.begin((served) => (served > 0 ? "silence" : "pass"));
    later(limits.calls.handler.idleConnectionTimeout);
    expect(await remainingAfter()).toBe(998);
    expect(connections()).toEqual([0, 1]);
  });

  it("uses no connection of which a clock that was set back cannot tell how long it slept", async () => {
    proxy.begin((served) => (served > 0 ? "silence" : "pass"));
    later(-1000);
    expect(await remainingAfter()).toBe(998);
  });

  it("uses the same connections again before that", async () => {
    proxy.begin((served) => (served > 0 ? "pass" : "cut"));
    later(limits.calls.handler.idleConnectionTimeout - 1000);
    expect(await remainingAfter()).toBe(998);
    expect(connections().toSorted()).toEqual([0, 1]);
  });
});
