import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { processName } from "../../infra/folder-lock.ts";
import type { PoolAddresses } from "../../infra/local/pool/index.ts";
import { sourceDigest } from "../../infra/local/synthesis.ts";
import { accessToken } from "../../infra/tools/api-call.ts";
import { invokeFunction } from "../../infra/tools/operator.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { startCommandProcess } from "../support/command-process.ts";
import { machineNode } from "../support/machine-node.ts";
import { apiClient } from "../support/stack/api-client.ts";
import { exchangeIdToken, poolClient } from "../support/stack/pool-client.ts";
import { Browser, signIn, signInFirst } from "../support/stack/sign-in.ts";
import { eventually } from "../support/wait.ts";
import { alive, temporaryFolder } from "./fixture.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules", "tsx", "dist", "loader.mjs");
const startFile = join(root, "infra", "local", "start.ts");
const startArgs = ["--import", tsx, startFile, "--port", "0"];
const folder = temporaryFolder();
const local = join(folder.path, ".local");
const readyFile = join(local, "ready.json");
/** Commands of the operator and starts that end by themselves, in the folder of the service, as in a terminal. */
const commands = startCommandProcess(folder.path);
const startLimitMs = 60_000;
/** Clients that are acknowledged before the kill -9; each may start a process of its function, before and after. */
const keptClients = Number(process.env["START_CLIENTS"] ?? 3);
const running: ChildProcess[] = [];

interface Ready {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly tenant_id: string;
  readonly pid: number;
  readonly dashboard_url: string;
  readonly sign_in: PoolAddresses;
}

/** Puts the assembly of the test run where `npm start` keeps it, so that each start need not synthesize. */
function seed(stage: Stage): string {
  const directory = join(local, "cdk", `${stage}-${sourceDigest(stage)}`);
  cpSync(inject("assemblyDir"), directory, { recursive: true });
  return directory;
}

interface Run {
  readonly child: ChildProcess;
  /** All that was printed so far. */
  text(): string;
}

function run(args: readonly string[], cwd = folder.path, env: Record<string, string> = {}): Run {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(machineNode, args, { cwd, env: { PATH, HOME, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  return { child, text: () => text };
}

/** Runs a command in the folder of the service; returns its exit code and what it printed. */
async function runThere(file: string, words: readonly string[], more: Record<string, string> = {}) {
  const { PATH = "", HOME = "" } = process.env;
  const ran = await commands.run(file, words, { PATH, HOME, ...more });
  return { code: ran.code, text: ran.stdout + ran.stderr };
}

/** Runs a command of the operator. */
const operator = (name: string, words: readonly string[], more?: Record<string, string>) =>
  runThere(join(root, "infra", "tools", `${name}.ts`), words, more);

/** A start that does not get as far as to run, by which the process need not end. */
const refusedStart = (...words: readonly string[]) => runThere(startFile, ["--port", "0", ...words]);

/** `npm run application` on the service that runs here. */
const application = (words: readonly string[], more?: Record<string, string>) =>
  operator("create-application", ["create", "--local", ...words], more);

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

async function started(
  more: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Run & { ready: Ready }> {
  const start = run([...startArgs, ...more], folder.path, env);
  const ready = await eventually(() => {
    if (start.child.exitCode !== null) throw new Error(start.text());
    return start.text().includes("Ready.") ? JSON.parse(readFileSync(readyFile, "utf8")) : undefined;
  }, startLimitMs);
  return { ...start, ready };
}

/** Settles all that waits for provisioning, as the schedule would within a minute. */
async function provisionAll(): Promise<void> {
  const variables: Record<string, string> = JSON.parse(readFileSync(join(local, "operator.json"), "utf8"));
  const { AWS_ENDPOINT_URL = "", AWS_REGION = "", AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = variables;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const config = { endpoint: AWS_ENDPOINT_URL, region: AWS_REGION, credentials };
  const nothing = { settled: 0, failed: 0 };
  await eventually(async () => {
    const found = await invokeFunction("brokerage-sandbox-provision", { action: "reconcile" }, config);
    return isDeepStrictEqual(found, nothing) || undefined;
  });
}

/** A token of the API for an operator's id token. */
async function operatorToken(baseUrl: string, idToken: string | undefined): Promise<string> {
  const answer = await exchangeIdToken(baseUrl, idToken);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Every process below one, by the system's list of parents. */
function descendants(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(file) ? readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number) : [];
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** Ends every process that a test has started and waits for it. */
async function stopAll(): Promise<void> {
  const children = running.splice(0);
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map(ended));
}

beforeAll(() => void seed("sandbox"));
afterAll(async () => {
  await stopAll();
  await commands.stop();
  folder.remove();
});

describe("npm start", { timeout: 90_000 }, () => {
  let first: Run & { ready: Ready };
  beforeAll(async () => {
    first = await started();
  });

  it("tells how to call it and how to sign in", async () => {
    expect(statSync(readyFile).mode & 0o777).toBe(0o600);
    expect(statSync(join(local, "data", "demo.sandbox.json")).mode & 0o777).toBe(0o600);
    expect(first.ready).toEqual({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v2$/),
      client_id: expect.any(String),
      client_secret: expect.any(String),
      tenant_id: expect.stringMatching(/^brk_/),
      ...processName(first.child.pid ?? 0),
      reference_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/),
      dashboard_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/),
      stream_url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/v2$/),
      sign_in: {
        issuer: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/eu-west-1_[a-z0-9]{9}$/),
        client_id: expect.stringMatching(/^[a-z0-9]{26}$/),
        operators: ["owner", "finance"].map((role) => ({
          role,
          email: `${role}@demo.example`,
          password: expect.any(String),
          totp_secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        })),
      },
    });
    const known = await operator("sign-in-code", ["owner@demo.example"]);
    expect(known).toEqual({ code: 0, text: expect.stringMatching(/^\d{6}\n$/) });
    const unknown = await operator("sign-in-code", ["eva@demo.example"]);
    const text = expect.stringContaining("there are owner@demo.example, finance@demo.example");
    expect(unknown).toEqual({ code: 1, text });
  });

  it("refuses a second runner on the same data, and the operator's command works on the first", async () => {
    const text = expect.stringContaining(`Another runner (process ${first.ready.pid}) uses .local/data`);
    expect(await refusedStart()).toEqual({ code: 1, text });

    const { tenant_id: tenant, base_url } = first.ready;
    const made = await application(["--brokerage", tenant, "--name", "Second", "--scopes", "clients:read"]);
    expect(made.code, made.text).toBe(0);
    const own = JSON.parse(made.text);
    expect(own).toMatchObject({
      tenant_id: tenant,
      scopes: ["clients:read"],
      client_secret: expect.any(String),
    });
    const api = apiClient(base_url, await accessToken(base_url, own));
    expect((await api.call("GET", "/clients")).status).toBe(200);
    const wrong = await application(["--brokerage", tenant, "--name", "Third", "--scopes", "nothing:read"]);
    expect(wrong).toEqual({ code: 1, text: expect.stringContaining('--scopes holds "nothing:read"') });
    // The README's words; credentials and addresses of AWS in the environment do not count here.
    const elsewhere = { AWS_PROFILE: "absent", AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:9", AWS_REGION: "eu-west-9" };
    const bare = ["--name", "CRM"];
    const readme = [await application(bare, elsewhere), await application([...bare, "--brokerage", "new"])];
    expect(readme.map(({ code }) => code)).toEqual([0, 0]);
    expect(new Set([tenant, ...readme.map(({ text }) => JSON.parse(text).tenant_id)]).size).toBe(3);
    const unknown = await application([...bare, "--brokerage", "brk_01JD0000000000000000000009"]);
    expect(unknown.code).toBe(1);
    expect(unknown.text).toMatch(/^The function \S+ failed: There is no tenant brk_01JD0000000000000000000009\.\n$/);
  });

  it("erases the audit of a closed client by the command of the README, and of no other", async () => {
    const { base_url } = first.ready;
    const own = JSON.parse((await application(["--name", "CRM"])).text);
    const { tenant_id: tenant } = own;
    const api = apiClient(base_url, await accessToken(base_url, own));
    const body = { email: "gone@example.com", first_name: "Ana", last_name: "Silva" };
    const { id } = (await api.call<{ id: string }>("POST", "/clients", { body })).body;
    const erase = (client: string) =>
      operator("erase-client", ["client", "--local", "--brokerage", tenant, "--client", client]);
    const text = expect.stringContaining("The client is active: only a closed one can be erased from the audit.");
    expect(await erase(id)).toEqual({ code: 1, text });
    expect((await api.call("PATCH", `/clients/${id}`, { body: { status: "closed" } })).status).toBe(200);
    for (const erased_now of [true, false]) {
      const erased = await erase(id);
      expect(erased).toEqual({ code: 0, text: expect.stringContaining(id) });
      expect(JSON.parse(erased.text)).toEqual({ client_id: id, erased_now });
    }
    expect(await erase("cli_1")).toEqual({ code: 1, text: expect.stringContaining("--client must be") });
  });

  it("lets events be numbered above those that receivers saw, by the command of the runbook on a restore", async () => {
    const { base_url } = first.ready;
    const own = JSON.parse((await application(["--name", "CRM"])).text);
    const { tenant_id: tenant } = own;
    const api = apiClient(base_url, await accessToken(base_url, own));
    const body = { email: "seen@example.com", first_name: "Ana", last_name: "Silva" };
    expect((await api.call("POST", "/clients", { body })).status).toBe(201);
    const path = "/events?sort=-sequence&limit=1";
    const newest = async () =>
      (await api.call<{ data: { type: string; sequence: string }[] }>("GET", path)).body.data[0];
    const last = await eventually(newest);
    const stated = ["--last-valid", last.sequence, "--restored-to", "2026-01-31T12:00:00Z"];
    const numbers = (...words: string[]) =>
      operator("restore", ["numbers", "--local", "--brokerage", tenant, ...stated, ...words]);
    const after = Number(last.sequence) + 1000;
    const low = await numbers("--after", last.sequence, "--last-valid", "99");
    expect(low).toEqual({ code: 1, text: expect.stringContaining("--after must not be below") });
    const raised = await numbers("--after", String(after));
    expect(raised.code, raised.text).toBe(0);
    expect(JSON.parse(raised.text)).toEqual({ resumed_after: after, void_events: 1000 });
    const announced = await eventually(async () => {
      const found = await newest();
      return found?.type === "brokerage.restored" ? found : undefined;
    });
    expect(announced.sequence).toBe(String(after + 1));
  });

  it("makes a brokerage whose first owner, invited by mail, sets up a second factor and calls the API", async () => {
    const email = "ana.silva@example.com";
    const made = await application(["--name", "CRM", "--owner", email]);
    expect(made.code, made.text).toBe(0);
    const { base_url, dashboard_url, sign_in, ...stranger } = first.ready;
    const { tenant_id, owner_id: id, ...own } = JSON.parse(made.text);
    const api = apiClient(base_url, await accessToken(base_url, own));
    await provisionAll();
    const mail = new RegExp(`Mail to ${email}: your temporary password is (\\S+)`);
    const temporary_password = await eventually(() => mail.exec(first.text())?.[1]);

    const client = poolClient(sign_in, new URL("/signed-in", dashboard_url).href);
    const begin = async () => (await client.createSigninRequest({})).url;
    const invited = { email, temporary_password, password: "Correct-Horse-7-Battery" };
    const { url, user } = await signInFirst(new Browser(), await begin(), invited);
    const { id_token } = await client.processSigninResponse(url);
    const owner = apiClient(base_url, await operatorToken(base_url, id_token));
    expect((await owner.call("GET", "/me")).body).toMatchObject({ tenant_id, operator: { id, email, role: "owner" } });
    const { body: operators } = await api.call("GET", "/operators");
    expect(operators).toMatchObject({ data: [{ id, email, role: "owner", status: "active" }] });
    const body = { email: "client@example.com", first_name: "Rui", last_name: "Costa" };
    const client_id = (await owner.call<{ id: string }>("POST", "/clients", { body })).body.id;
    expect(await api.call("GET", `/clients/${client_id}`)).toMatchObject({ status: 200, body });
    const other = apiClient(base_url, await accessToken(base_url, stranger));
    expect((await other.call("GET", `/clients/${client_id}`)).status).toBe(404);

    const again = await client.processSigninResponse(await signIn(new Browser(), await begin(), user));
    await operatorToken(base_url, again.id_token);
    const browser = new Browser();
    const page = await browser.open(await begin());
    const refused = await browser.open(page.url, { email, password: temporary_password });
    expect(refused.html).toContain("Incorrect email or password.");
    const logs = () => readdirSync(join(local, "logs")).map((name) => readFileSync(join(local, "logs", name), "utf8"));
    await eventually(() => logs().some((text) => text.includes(id)) || undefined);
    const { client_secret } = own;
    const secrets = [email, temporary_password, invited.password, user.totp_secret, owner.token, client_secret];
    expect(secrets.filter((secret) => logs().some((text) => text.includes(secret)))).toEqual([]);
  });

  it("leaves the announcement of a runner on other data alone when its own start fails", async () => {
    const { port } = new URL(first.ready.base_url);
    const second = await refusedStart("--port", port, "--data", join(folder.path, "other"));
    expect(second).toEqual({ code: 1, text: expect.stringContaining("The port is taken") });
    expect(JSON.parse(readFileSync(readyFile, "utf8"))).toEqual(first.ready);
  });

  it("keeps what was acknowledged through a kill -9, and leaves no process", async () => {
    const api = apiClient(first.ready.base_url, await accessToken(first.ready.base_url, first.ready));
    const emails = Array.from({ length: keptClients }, (_, at) => `kept-${at}@example.com`);
    const made = await Promise.all(
      emails.map((email) =>
        api.call<{ id: string }>("POST", "/clients", { body: { email, first_name: "A", last_name: "B" } }),
      ),
    );
    expect(made.map(({ status }) => status)).toEqual(emails.map(() => 201));
    const pids = descendants(first.ready.pid);
    expect(pids.length).toBeGreaterThanOrEqual(4);
    first.child.kill("SIGKILL");
    await eventually(() => (pids.some(alive) ? undefined : true), 5_000);

    const second = await started();
    expect(second.ready).toMatchObject({ client_id: first.ready.client_id, tenant_id: first.ready.tenant_id });
    const again = apiClient(second.ready.base_url, await accessToken(second.ready.base_url, second.ready));
    const kept = await Promise.all(made.map(({ body }) => again.call<{ email: string }>("GET", `/clients/${body.id}`)));
    expect(kept.map(({ body }) => body.email)).toEqual(emails);
    // An event that was not delivered before the runner died is delivered after its restart.
    const told = await eventually(async () => {
      const { body } = await again.call<{ data: { type: string }[] }>("GET", "/events?type=client.created&limit=100");
      return body.data.length >= emails.length ? body.data.map(({ type }) => type) : undefined;
    });
    expect(told).toEqual(emails.map(() => "client.created"));

    const others = descendants(second.ready.pid);
    const asked = Date.now();
    second.child.kill("SIGTERM");
    expect(await ended(second.child)).toBe(0);
    expect(Date.now() - asked).toBeLessThan(5_000);
    expect(others.filter(alive)).toEqual([]);
    expect([readyFile, join(local, "pids")].filter((file) => existsSync(file))).toEqual([]);
  });

  it("forgets everything with --fresh, and stops when the npm that started it is killed", async () => {
    await stopAll();
    const npm = join(folder.path, "npm.mjs");
    writeFileSync(
      npm,
      `import { spawn } from "node:child_process";
       spawn(process.execPath, ${JSON.stringify([...startArgs, "--fresh"])}, { stdio: "inherit" });
       setInterval(() => {}, 1e6);`,
    );
    const launcher = run([npm], folder.path, { npm_lifecycle_event: "start" });
    const ready: Ready = await eventually(() => {
      return launcher.text().includes("Ready.") ? JSON.parse(readFileSync(readyFile, "utf8")) : undefined;
    }, startLimitMs);
    expect(ready.tenant_id).not.toBe(first.ready.tenant_id);
    const pids = [ready.pid, ...descendants(ready.pid)];
    launcher.child.kill("SIGKILL");
    await eventually(() => (pids.some(alive) ? undefined : true), 6_000);
  });

  it("says that it synthesizes before it does", async () => {
    const other = temporaryFolder();
    try {
      const start = run(startArgs, other.path);
      const isSaid = () => start.text().includes("synthesizing the stage sandbox") || undefined;
      await eventually(isSaid, startLimitMs);
      expect(start.text()).not.toContain("synthesized");
      // The synthesis would go on without the runner, so it ends first.
      const pids = await eventually(() => {
        const found = descendants(start.child.pid ?? 0);
        return found.length > 0 ? found : undefined;
      });
      for (const pid of pids) process.kill(pid, "SIGKILL");
      start.child.kill("SIGTERM");
      expect(await ended(start.child)).toBe(1);
    } finally {
      other.remove();
    }
  });

  it("names the resource type that it does not know and starts nothing", async () => {
    // In the place of a stage that no other test starts.
    const file = join(seed("production"), "brokerage-sandbox.template.json");
    const template = JSON.parse(readFileSync(file, "utf8"));
    template.Resources.Files = { Type: "AWS::EFS::FileSystem", Properties: {} };
    writeFileSync(file, JSON.stringify(template));
    const { code, text } = await refusedStart("--stage", "production", "--data", join(folder.path, "unknown"));
    expect(code).toBe(1);
    expect(text).toContain("brokerage-sandbox/Files: the resource type AWS::EFS::FileSystem is not known");
    expect(text).not.toMatch(/\n\s+at /);
  });

  it("shows its help and ends", async () => {
    const start = run([...startArgs, "--help"]);
    expect(await ended(start.child)).toBe(0);
    expect(start.text()).toContain("--time-scale");
  });

  it.each([
    [["--time-scale", "0"], "--time-scale must be"],
    [["--what"], "The option --what is not known"],
  ])("with %j exits with 1", async (words, text) => {
    expect(await refusedStart(...words)).toEqual({ code: 1, text: expect.stringContaining(text) });
  });
});
