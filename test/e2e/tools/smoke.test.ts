import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { SmokeOptions } from "../../../infra/tools/smoke/check.ts";
import { functionOf, gatewayResponse, resources, roleOf } from "../../../infra/tools/smoke/resources.ts";
import { checks, type SmokeReport, smoke } from "../../../infra/tools/smoke/smoke.ts";
import { startCommandProcess } from "../../support/command-process.ts";
import type { Application } from "../../support/stack/application.ts";
import { type FaultProxy, startFaultProxy } from "../../support/stack/fault-proxy.ts";
import { type Fault, faults } from "../../support/stack/smoke-faults.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";

const root = new URL("../../..", import.meta.url).pathname;

interface Template {
  readonly Resources: Readonly<Record<string, { readonly Type: string }>>;
}

/** Checks that wait a minute, and that of the plan, run with `npm run check:long`. */
const isLong = process.env["SMOKE_SLOW"] === "1";
const longMs = 240_000;

let stack: Stack;
let api: FaultProxy;
let dashboard: FaultProxy;
/** The faults have an application of their own: the first run may use the rate of one up. */
let faulty: Application;
beforeAll(async () => {
  stack = await sharedStack();
  faulty = await stack.newApplication();
  api = await startFaultProxy(new URL(stack.baseUrl));
  dashboard = await startFaultProxy(new URL(stack.cloud.dashboardUrl ?? ""));
});
afterAll(async () => {
  await api?.stop();
  await dashboard?.stop();
  await stack?.stop();
});

const common = { quick: true, timeScale: 1, patienceMs: 20_000 };

/** Runs checks through the proxies. */
async function run(options: Partial<SmokeOptions>): Promise<SmokeReport> {
  const { client_id: clientId, client_secret: clientSecret } = faulty.credentials;
  return await smoke({ ...common, baseUrl: api.url, dashboardUrl: dashboard.url, clientId, clientSecret, ...options });
}

function plant({ at, fault }: Fault): void {
  (at === "dashboard" ? dashboard : api).plant(fault);
}

function healthy(): void {
  for (const proxy of [api, dashboard]) proxy.plant(undefined);
}

const failed = ({ results }: SmokeReport) => results.filter(({ outcome }) => outcome === "failed");

describe("the smoke test", () => {
  it(
    "passes on the running service, and names what remains of it",
    async () => {
      const { client_id: clientId, client_secret: clientSecret } = stack.credentials;
      const addresses = { baseUrl: stack.baseUrl, dashboardUrl: stack.cloud.dashboardUrl };
      const report = await smoke({ ...common, ...addresses, clientId, clientSecret, quick: !isLong });
      expect(failed(report)).toEqual([]);
      const slow = checks.filter((check) => check.slow).map(({ name }) => name);
      const skipped = report.results.filter(({ outcome }) => outcome === "skipped").map(({ name }) => name);
      expect(skipped).toEqual(isLong ? [] : slow);
      expect(report.results).toHaveLength(checks.length);
      expect(report.remaining.join("\n")).toMatch(/account acc_\w+, closed\nclient cli_\w+, closed/);
    },
    longMs,
  );

  it("leaves no webhook endpoint and no active application", async () => {
    const endpoints = await stack.api.call<{ data: unknown[] }>("GET", "/webhook_endpoints");
    expect(endpoints.body.data).toEqual([]);
    const path = "/applications?status=active";
    const applications = await stack.api.call<{ data: { client_id: string }[] }>("GET", path);
    expect(applications.body.data.map(({ client_id }) => client_id)).toEqual([stack.credentials.client_id]);
  });

  it("finds nothing through a proxy without a fault", async () => {
    healthy();
    // Settings of the dashboard, and the pool, know the service by its own address alone.
    const ownAddress = ["dashboard", "sign-in"];
    const only = [...new Set(faults.map(({ check }) => check))].filter((name) => !ownAddress.includes(name));
    expect(failed(await run({ only }))).toEqual([]);
  });

  it.each(faults.map((fault) => [fault.name, fault] as const))("finds that %s", async (_, planted) => {
    plant(planted);
    const report = await run({ only: [planted.check], ...planted.options });
    healthy();
    const [found, ...more] = failed(report);
    expect([found?.name, more]).toEqual([planted.check, []]);
    expect(found?.detail).toMatch(planted.says);
    expect(found?.resources.map(({ id }) => id)).toContain(planted.resource);
  });
});

describe("the resources that findings name", () => {
  it("are each in the templates, under one logical id", async () => {
    const directory = inject("assemblyDir");
    const templates = readdirSync(directory).filter((name) => name.endsWith(".template.json"));
    const known = templates.flatMap((name) => {
      const { Resources }: Template = JSON.parse(readFileSync(join(directory, name), "utf8"));
      return Object.entries(Resources);
    });
    const folder = new URL("../../../infra/tools/smoke/", import.meta.url);
    const areas = ["gateway", "token", "money", "event", "stream", "dashboard", "limit"];
    const files = areas.map((name) => `${name}-checks.ts`);
    const source = [...files, "story.ts", "session.ts", "smoke.ts"]
      .map((file) => readFileSync(new URL(file, folder), "utf8"))
      .join("\n");
    const called = (name: string) =>
      [...source.matchAll(new RegExp(`${name}\\("([^"]+)"\\)`, "g"))].map(([, id]) => id);
    const named = [
      ...Object.values(resources),
      ...called("functionOf").map((id = "") => functionOf(id)),
      ...called("roleOf").map((id = "") => roleOf(id)),
      ...called("gatewayResponse").map((id = "") => gatewayResponse(id)),
    ];
    expect(named.length).toBeGreaterThan(60);
    for (const { type, id } of named) {
      const pattern = new RegExp(`^${id}([0-9A-F]{8})?$`);
      const found = known.filter(([logicalId, resource]) => resource.Type === type && pattern.test(logicalId));
      expect([id, type, found.map(([logicalId]) => logicalId)]).toEqual([id, type, [expect.any(String)]]);
    }
  });
});

describe("npm run smoke", () => {
  const commands = startCommandProcess(root);
  const env = { ...process.env, BROKERAGE_CLIENT_ID: "", BROKERAGE_CLIENT_SECRET: "" };
  afterAll(() => commands.stop());

  /** Runs the command; returns its exit code and what it printed. */
  async function ends(words: readonly string[]): Promise<{ status: number | null; text: string }> {
    const { code, stdout, stderr } = await commands.run(join(root, "infra/tools/smoke/run.ts"), words, env);
    return { status: code, text: stdout + stderr };
  }

  it("lists its options and checks", async () => {
    const { status, text } = await ends(["--help"]);
    expect([status, text]).toEqual([0, expect.stringContaining("npm run smoke -- [options]")]);
    for (const { name } of checks) expect(text).toContain(`\n  ${name} `);
  });

  it("ends with 2 and says what is missing when it cannot run", async () => {
    expect(await ends(["--base-url", "http://127.0.0.1:1/v2"])).toEqual({
      status: 2,
      text: "http://127.0.0.1:1/v2 needs BROKERAGE_CLIENT_ID and BROKERAGE_CLIENT_SECRET in the environment.\n",
    });
    const credentials = ["--client-id", "app_a", "--client-secret", "sec_a"];
    const silent = await ends(["--base-url", "http://127.0.0.1:1/v2", ...credentials]);
    expect([silent.status, silent.text]).toEqual([2, expect.stringContaining("does not answer")]);
    const wrong = await ends(["--base-url", stack.baseUrl, ...credentials]);
    expect([wrong.status, wrong.text]).toEqual([2, expect.stringContaining("look at CreateTokenFunction")]);
    const unknown = await ends(["--only", "nothing", "--base-url", stack.baseUrl, ...credentials]);
    expect(unknown.text).toMatch(/--only names "nothing"/);
  });
});
