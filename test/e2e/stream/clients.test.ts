import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { machineNode } from "../../support/machine-node.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { StreamService } from "../../support/stack/stream-service.ts";
import { eventually } from "../../support/wait.ts";

/** A client of each language, and what says that its runtime is here. */
const clients = [
  { file: "stream.ts", command: machineNode, args: ["--import", "tsx"], probe: ["--version"] },
  { file: "stream.py", command: "python3", args: [], probe: ["-c", "import sys; assert sys.version_info >= (3, 9)"] },
];
const runnable = clients.filter(({ command, probe }) => spawnSync(command, probe).status === 0);

let stack: Stack;
const running: ChildProcess[] = [];
const folder = mkdtempSync(join(tmpdir(), "brokerage-stream-"));

beforeAll(async () => {
  stack = await sharedStack();
});
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack?.stop();
});

interface Started {
  readonly child: ChildProcess;
  /** Its output so far, the lines of `connection ended` and the like included. */
  readonly output: () => string;
  /** Numbers of the events that it handled, in that order. */
  readonly events: () => number[];
}

function start({ file, command, args }: (typeof clients)[number], env: Readonly<Record<string, string>>): Started {
  const path = fileURLToPath(new URL(`../../receivers/${file}`, import.meta.url));
  const child = spawn(command, [...args, path], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  const events = () => [...output.matchAll(/^event (\d+) /gm)].map(([, sequence]) => Number(sequence));
  return { child, output: () => output, events };
}

async function until(started: Started, count: number): Promise<void> {
  try {
    await eventually(() => started.events().length >= count || undefined, 30_000);
  } catch (cause) {
    throw new Error(`It printed:\n${started.output()}`, { cause });
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("the example clients of the stream", () => {
  it("are run here where their language is, that in TypeScript everywhere", () => {
    expect(runnable.map(({ file }) => file)).toContain("stream.ts");
  });
});

describe.each(runnable)("$file", (client) => {
  it("handles every event of the running service once, in order, and goes on there after it was killed", async () => {
    const { api, credentials } = await stack.newApplication();
    const env = {
      BROKERAGE_URL: stack.baseUrl,
      STREAM_URL: stack.cloud.streamUrl ?? "",
      BROKERAGE_CLIENT_ID: credentials.client_id,
      BROKERAGE_CLIENT_SECRET: credentials.client_secret,
      POSITION_FILE: join(folder, `${client.file}-service`),
    };
    const create = async (name: string) => {
      const body = { email: `${name}@example.com`, first_name: "Ana", last_name: "Silva" };
      expect((await api.call("POST", "/clients", { body })).status).toBe(201);
    };
    for (const name of ["before-1", "before-2"]) await create(name);
    const first = start(client, env);
    await until(first, 2);
    await create("live");
    await until(first, 3);
    // It prints an event before it keeps the number: killed between the two, it rightly handles that event again.
    const third = first.events().at(-1);
    await eventually(() => Number(readFileSync(env.POSITION_FILE, "utf8")) === third || undefined);
    first.child.kill("SIGKILL");
    await create("while-down");
    const second = start(client, env);
    await until(second, 1);
    await create("live-again");
    await until(second, 2);
    const { body } = await api.call<{ data: { sequence: string }[] }>("GET", "/events?limit=100");
    const listed = body.data.map(({ sequence }) => Number(sequence)).toSorted((one, other) => one - other);
    expect([...first.events(), ...second.events()]).toEqual(listed);
  });

  it("handles every event once and in order, wherever its connection breaks", async () => {
    const service = await StreamService.start();
    try {
      service.lives.push(1, 3);
      service.publish(Array(6).fill("a"));
      const started = start(client, {
        BROKERAGE_URL: `${service.url.replace("ws", "http")}v2`,
        STREAM_URL: service.url,
        BROKERAGE_CLIENT_ID: "id",
        BROKERAGE_CLIENT_SECRET: "secret",
        POSITION_FILE: join(folder, `${client.file}-breaks`),
      });
      await until(started, 6);
      service.breakAll();
      service.publish(["a", "b"]);
      await until(started, 8);
      service.repeat(5);
      service.publish(["a"]);
      await until(started, 9);
      expect(started.events()).toEqual(numbers(9));
      expect(service.handshakes).toBe(4);
      service.closeAll("access_ended");
      const [code] = await new Promise<unknown[]>((resolve) => started.child.once("exit", (...exit) => resolve(exit)));
      expect([code, started.output()]).toEqual([1, expect.stringContaining("access_ended")]);
    } finally {
      await service.stop();
    }
  });
});
