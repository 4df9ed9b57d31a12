import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { functionNode } from "../../infra/local/functions/function-node.mjs";
import {
  FunctionCrash,
  type FunctionDefinition,
  Functions,
  FunctionTimeout,
} from "../../infra/local/functions/functions.ts";
import { Guard } from "../../infra/local/guard.ts";
import { eventually } from "../support/wait.ts";
import { alive, temporaryFolder } from "./fixture.ts";

const folder = temporaryFolder();
const guard = new Guard();
let functions: Functions | undefined;
beforeAll(() => mkdirSync(join(folder.path, "logs")));
afterEach(async () => functions?.stop());
afterAll(async () => {
  await guard.stop();
  folder.remove();
});

function define(name: string, code: string, more: Partial<FunctionDefinition> = {}): FunctionDefinition {
  const asset = join(folder.path, name);
  mkdirSync(asset, { recursive: true });
  writeFileSync(join(asset, "index.mjs"), code);
  const arn = `arn:aws:lambda:eu-west-1:000000000000:function:${name}`;
  const fixed = { role_arn: "", handler: "index.handler", environment: { FROM_TEMPLATE: "yes" } };
  return { name, arn, asset, ...fixed, memory_mb: 256, timeout_seconds: 5, ...more };
}

function run(
  definitions: readonly FunctionDefinition[],
  maxEnvironments = 8,
  maxStarting = 2,
  polled: readonly string[] = [],
  patience: { readonly patienceMs?: number } = { patienceMs: 10 },
): Functions {
  const variables = () => ({ FROM_RUNNER: "too" });
  functions = new Functions({
    definitions,
    variables,
    guard,
    logs: join(folder.path, "logs"),
    maxEnvironments,
    maxStarting,
    polled,
    ...patience,
  });
  return functions;
}

describe("an invocation", () => {
  it("gets its event and a context, only the environment given, and the same process the next time", async () => {
    const code = `
      let count = 0;
      export const handler = async (event, context) => ({
        count: (count += 1), pid: process.pid, event,
        name: context.functionName, memory: context.memoryLimitInMB, arn: context.invokedFunctionArn,
        id: context.awsRequestId, left: context.getRemainingTimeInMillis(),
        env: [process.env.FROM_TEMPLATE, process.env.FROM_RUNNER, process.env.HOME],
      });`;
    const all = run([define("context", code)]);
    const first = (await all.invoke("context", { a: 1 })).payload as Record<string, unknown>;
    expect(first).toMatchObject({
      count: 1,
      event: { a: 1 },
      name: "context",
      memory: "256",
      env: ["yes", "too", null],
    });
    expect(first["arn"]).toBe("arn:aws:lambda:eu-west-1:000000000000:function:context");
    expect(first["left"]).toBeGreaterThan(4_000);
    expect(first["left"]).toBeLessThanOrEqual(5_000);
    const second = (await all.invoke(String(first["arn"]), {})).payload as Record<string, unknown>;
    expect([second["count"], second["pid"]]).toEqual([2, first["pid"]]);
    expect(second["id"]).not.toBe(first["id"]);
  });

  it("gets and returns every character as it is, those that end a line elsewhere included", async () => {
    const all = run([define("echoes", "export const handler = async (event) => ({ pid: process.pid, event });")]);
    const text = "a\u2028b\u2029c\u0085\v\f\r\n\u{1f600}";
    const first = (await all.invoke("echoes", { text, [text]: 1 })).payload as Record<string, unknown>;
    expect(first["event"]).toEqual({ text, [text]: 1 });
    expect((await all.invoke("echoes", {})).payload).toMatchObject({ pid: first["pid"] });
  });

  it("that throws answers with the error as Lambda does, and the process stays", async () => {
    const code =
      "export const handler = async (e) => { if (e.fail) throw new RangeError('too far'); return process.pid; };";
    const all = run([define("throws", code)]);
    const pid = (await all.invoke("throws", {})).payload;
    const failed = await all.invoke("throws", { fail: true });
    expect(failed).toMatchObject({
      functionError: "Unhandled",
      payload: { errorType: "RangeError", errorMessage: "too far" },
    });
    expect((failed.payload as { trace: string[] }).trace[0]).toBe("RangeError: too far");
    expect((await all.invoke("throws", {})).payload).toBe(pid);
  });

  it("whose code does not load answers with the error of the code", async () => {
    const all = run([
      define("broken", "throw new Error('at load');"),
      define("absent", "", { handler: "index.nothing" }),
    ]);
    expect(await all.invoke("broken", {})).toMatchObject({
      functionError: "Unhandled",
      payload: { errorMessage: "at load" },
    });
    expect(await all.invoke("absent", {})).toMatchObject({ payload: { errorMessage: /undefined or not exported/ } });
  });

  it("with an unhandled rejection answers with it and the process is not used again", async () => {
    const code = `export const handler = async (e) => {
      if (e.reject) { Promise.reject(new Error("forgotten")); await new Promise(() => {}); }
      return process.pid;
    };`;
    const all = run([define("rejects", code)]);
    const pid = (await all.invoke("rejects", {})).payload;
    const payload = { errorType: "Runtime.UnhandledPromiseRejection", errorMessage: "forgotten" };
    expect(await all.invoke("rejects", { reject: true })).toMatchObject({ functionError: "Unhandled", payload });
    await eventually(() => (alive(Number(pid)) ? undefined : true));
    expect((await all.invoke("rejects", {})).payload).not.toBe(pid);
  });

  it("that takes longer than its timeout is ended, and the next one gets a new process", async () => {
    const code = "export const handler = (e) => { if (e.spin) for (;;); return process.pid; };";
    const all = run([define("spins", code, { timeout_seconds: 0.3 })]);
    const pid = Number((await all.invoke("spins", {})).payload);
    const failed = await all.invoke("spins", { spin: true }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(FunctionTimeout);
    expect(String(failed)).toMatch(/Task timed out after 0\.30 seconds/);
    await eventually(() => (alive(pid) ? undefined : true));
    expect((await all.invoke("spins", {})).payload).not.toBe(pid);
  });

  it("whose process is killed fails as a crash, and others go on", async () => {
    const code = "export const handler = (e) => (e.die ? process.kill(process.pid, 'SIGKILL') : process.pid);";
    const all = run([define("dies", code)]);
    const results = await Promise.allSettled([all.invoke("dies", { die: true }), all.invoke("dies", {})]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(results[0]).toMatchObject({ reason: expect.any(FunctionCrash) });
  });

  it("leaves what it prints and how long it took in the function's log, which does not grow without end", async () => {
    const all = run([define("talks", "export const handler = () => { console.log('x'.repeat(1e6)); return 1; };")]);
    for (let turn = 0; turn < 8; turn += 1) await all.invoke("talks", {});
    const log = join(folder.path, "logs", "talks.log");
    const full = await eventually(() => (existsSync(`${log}.1`) ? readFileSync(`${log}.1`, "utf8") : undefined));
    expect(full).toMatch(/Memory Size: 256 MB\tMax Memory Used: \d+ MB/);
    expect(full.length).toBeLessThan(7_000_000);
  });
});

describe("processes", () => {
  const slow = `
    let busy = 0;
    export const handler = async () => {
      busy += 1;
      await new Promise((r) => setTimeout(r, 60));
      const most = busy;
      busy -= 1;
      return { most, pid: process.pid };
    };`;

  it("work on one request at a time, and there are as many as requests up to the limit", async () => {
    const all = run([define("slow", slow)], 3, 3);
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => all.invoke("slow", {})));
    const payloads = outcomes.map(({ payload }) => payload as { most: number; pid: number });
    expect(payloads.every(({ most }) => most === 1)).toBe(true);
    expect(all.processes.length).toBeLessThanOrEqual(3);
    expect(new Set(payloads.map(({ pid }) => pid)).size).toBeGreaterThan(1);
  });

  it("of one function are started in addition only for a request that has waited", async () => {
    const all = run([define("quick", "export const handler = () => process.pid;")], 8, 8, [], { patienceMs: 60_000 });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => all.invoke("quick", {})));
    expect(new Set(outcomes.map(({ payload }) => payload)).size).toBe(1);
    expect(all.processes).toHaveLength(1);
  });

  it("are not started in addition for a request that waits for less time than a start took of late", async () => {
    const code = `
      await new Promise((r) => setTimeout(r, 1500));
      export const handler = async () => {
        await new Promise((r) => setTimeout(r, 150));
        return process.pid;
      };`;
    const all = run([define("loads", code)], 8, 8, [], {});
    const { payload: pid } = await all.invoke("loads", {});
    const outcomes = await Promise.all([all.invoke("loads", {}), all.invoke("loads", {})]);
    expect(outcomes.map(({ payload }) => payload)).toEqual([pid, pid]);
    expect(all.processes).toHaveLength(1);
  });

  it("make room: the one that has been idle for longest ends", async () => {
    const code = "export const handler = () => process.pid;";
    const all = run(
      ["a", "b", "c"].map((name) => define(name, code)),
      2,
    );
    const oldest = Number((await all.invoke("a", {})).payload);
    const kept = Number((await all.invoke("b", {})).payload);
    await all.invoke("c", {});
    await eventually(() => (alive(oldest) ? undefined : true));
    expect(all.processes.map(({ function: name }) => name).sort()).toEqual(["b", "c"]);
    expect((await all.invoke("b", {})).payload).toBe(kept);
  });

  describe("of functions that queues and streams invoke", () => {
    const gate = join(folder.path, "gate");
    /** Works until the gate is open, as a delivery to a receiver that does not answer. */
    const stuck = `
      import { existsSync } from "node:fs";
      export const handler = async () => {
        while (!existsSync(${JSON.stringify(gate)})) await new Promise((r) => setTimeout(r, 5));
      };`;
    const quick = "export const handler = () => process.pid;";
    const open = () => writeFileSync(gate, "");
    afterEach(() => rmSync(gate, { force: true }));

    it("leave a third to those that a caller waits for, however long their backlog is", async () => {
      const all = run([define("stuck", stuck), define("api", quick)], 6, 3, ["stuck"]);
      const backlog = Array.from({ length: 20 }, () => all.invoke("stuck", {}));
      await eventually(() => (all.processes.length === 4 ? true : undefined));
      // Both get processes beside the stuck ones, at the same time, and the backlog never takes their places.
      await Promise.all([all.invoke("api", {}), all.invoke("api", {})]);
      const names = all.processes.map(({ function: name }) => name);
      expect(names.filter((name) => name === "stuck")).toHaveLength(4);
      open();
      await Promise.all(backlog);
      expect(all.processes.filter(({ function: name }) => name === "stuck")).toHaveLength(4);
    });

    it("leave each other a place, by ending what is idle when it has to be", async () => {
      const names = ["stuck", "other", "third"];
      const definitions = [define("stuck", stuck), define("other", quick), define("third", quick)];
      const all = run(definitions, 6, 3, names);
      const backlog = Array.from({ length: 20 }, () => all.invoke("stuck", {}));
      await eventually(() => (all.processes.length === 2 ? true : undefined));
      for (const name of ["other", "third", "other", "third"]) await all.invoke(name, {});
      expect(all.processes.map(({ function: name }) => name).sort()).toEqual(["other", "stuck", "stuck", "third"]);
      open();
      await Promise.all(backlog);
    });

    it("load in all places but one, which is for a function that a caller waits for", async () => {
      const all = run([define("queued", quick), define("api", quick)], 8, 2, ["queued"]);
      const queued = Array.from({ length: 3 }, () => all.invoke("queued", {}));
      const asked = all.invoke("api", {});
      await eventually(() => (all.processes.length === 2 ? true : undefined));
      expect(all.processes.map(({ function: name }) => name)).toEqual(["queued", "api"]);
      await Promise.all([...queued, asked]);
    });
  });

  it("all end with stop, and what waited is refused", async () => {
    const all = run([define("slow", slow)], 1);
    const pid = ((await all.invoke("slow", {})).payload as { pid: number }).pid;
    const waiting = Promise.allSettled([all.invoke("slow", {}), all.invoke("slow", {})]);
    await all.stop();
    expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(alive(pid)).toBe(false);
  });
});

it.runIf(existsSync("/proc/self/fd"))(
  "a process that cannot be started is refused, and leaves no connection to it open",
  async () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    await guard
      .open({ command: process.execPath, args: ["-e", "0"], cwd: folder.path, env: {} })
      .then(({ ended, output }) => {
        output.resume();
        return ended;
      });
    const before = descriptors();
    const absent = { command: join(folder.path, "nothing-here"), args: [], cwd: folder.path, env: {} };
    for (let times = 0; times < 3; times += 1) await expect(guard.open(absent)).rejects.toThrow("ENOENT");
    await eventually(() => descriptors() <= before || undefined);
  },
);

/** Writes a module that imports from the runner by `module(name)`, and runs it under a Node. */
function runModule(name: string, text: (module: (name: string) => string) => string, node = process.execPath) {
  const file = join(folder.path, name);
  writeFileSync(
    file,
    text((each) => JSON.stringify(new URL(`../../infra/local/${each}.ts`, import.meta.url).href)),
  );
  const tsx = new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url).href;
  return promisify(execFile)(node, ["--import", tsx, file]);
}

it("a runner on the Node of the functions hears every character that functions and servers send", async () => {
  const echoes = define("echoes", "export const handler = (event) => event;");
  const { stdout } = await runModule(
    "newer.mts",
    (module) => `
      import { Functions } from ${module("functions/functions")};
      import { Guard } from ${module("guard")};
      const guard = new Guard();
      const functions = new Functions({
        definitions: ${JSON.stringify([echoes])}, variables: () => ({}), guard,
        logs: ${JSON.stringify(join(folder.path, "logs"))}, maxEnvironments: 1, maxStarting: 1,
      });
      const { payload } = await functions.invoke("echoes", "a\\u2028b\\u2029c");
      const refused = await guard.run({ command: "/absent\\u2028", args: [], env: {}, log: "/dev/null" }).catch(String);
      await functions.stop();
      await guard.stop();
      console.log(JSON.stringify([payload, refused]));`,
    functionNode(),
  );
  expect(JSON.parse(stdout)).toEqual(["a\u2028b\u2029c", "Error: spawn /absent\u2028 ENOENT"]);
});

describe("when the runner is killed", () => {
  it("every process ends, one in an endless loop and a server included", async () => {
    const looping = define("loops", "export const handler = () => { for (;;); };", { timeout_seconds: 600 });
    const idle = define("idles", "export const handler = () => 1;");
    const ran = runModule(
      "runner.mts",
      (module) => `
       import { Functions } from ${module("functions/functions")};
       import { Guard } from ${module("guard")};
       const guard = new Guard();
       const args = ["-e", "setInterval(() => {}, 1e6)"];
       const server = await guard.run({ command: process.execPath, args, env: {}, log: "/dev/null" });
       const functions = new Functions({
         definitions: ${JSON.stringify([looping, idle])}, variables: () => ({}), guard,
         logs: ${JSON.stringify(join(folder.path, "logs"))}, maxEnvironments: 4, maxStarting: 2,
       });
       functions.invoke("loops", {}).catch(() => {});
       await functions.invoke("idles", {});
       while (functions.processes.length < 2) await new Promise((r) => setTimeout(r, 5));
       console.log(JSON.stringify([guard.pid, server.pid, ...functions.processes.map(({ pid }) => pid)]));
       process.kill(process.pid, "SIGKILL");`,
    ).catch((error: { stdout: string }) => error);
    const pids = JSON.parse((await ran).stdout) as number[];
    expect(pids).toHaveLength(4);
    await eventually(() => (pids.some(alive) ? undefined : true), 5_000);
  });
});
