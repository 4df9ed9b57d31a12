import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signatureHeaders } from "../../shared/webhooks/signature.ts";
import { machineNode } from "../support/machine-node.ts";
import { eventually } from "../support/wait.ts";

const folder = new URL("../receivers/", import.meta.url);
const pathOf = (file: string) => fileURLToPath(new URL(file, folder));
const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
const [secret, previous, stranger] = [secretOf(251), secretOf(2), secretOf(3)];
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A receiver of each language: how it is built or started, and what tells that its runtime is here. */
const receivers = [
  { file: "receiver.ts", command: machineNode, args: ["--import", "tsx"], probe: ["--version"] },
  { file: "receiver.py", command: "python3", args: [], probe: ["-c", "import sys; assert sys.version_info >= (3, 9)"] },
  { file: "receiver.java", command: "java", args: [], probe: ["--list-modules"], says: "jdk.compiler" },
  { file: "receiver.php", command: "php", args: ["-S"], probe: ["--version"] },
  { file: "receiver.go", command: "go", args: [], build: ["build", "-o"], probe: ["version"] },
] as const;

function isHere(receiver: (typeof receivers)[number]): boolean {
  const { status, stdout } = spawnSync(receiver.command, receiver.probe, { encoding: "utf8" });
  return status === 0 && stdout.includes("says" in receiver ? receiver.says : "");
}

const runnable = receivers.filter(isHere);

interface Call {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

let calls = 0;

function call(secrets: readonly string[], timestamp = nowSeconds()): Call {
  return signed(secrets, { type: "client.created", note: "Zoë, 東京, 😀" }, timestamp);
}

function signed(secrets: readonly string[], event: object, timestamp = nowSeconds()): Call {
  calls += 1;
  const id = `evt_01JD00000000000000000${String(calls).padStart(5, "0")}`;
  const body = Buffer.from(JSON.stringify({ id, ...event }));
  return { headers: { ...signatureHeaders({ event_id: id, body, timestamp }, secrets) }, body };
}

function post(port: number, { headers, body }: Call, method = "POST"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port, host: "127.0.0.1", method, path: "/hook", headers: { ...headers }, agent: false };
    const outgoing = request(options, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    });
    outgoing.once("error", reject);
    outgoing.end(method === "POST" ? body : undefined);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Compiles a receiver; the first time on a machine its standard library too, which takes minutes under load. */
async function built(command: string, args: readonly string[], file: string, target: string): Promise<string> {
  await promisify(execFile)(command, [...args, target, pathOf(file)], { timeout: buildTimeoutMs });
  return target;
}

const buildTimeoutMs = 300_000;

describe.each(runnable)("$file", (receiver) => {
  const { file, args } = receiver;
  const temporary = mkdtempSync(join(tmpdir(), "brokerage-receiver-"));
  let child: ChildProcess;
  let port = 0;
  let output = "";

  beforeAll(async () => {
    const binary = join(temporary, "receiver");
    const made = "build" in receiver ? await built(receiver.command, receiver.build, file, binary) : undefined;
    port = await freePort();
    const address = file.endsWith(".php") ? [`127.0.0.1:${port}`] : [];
    const [command, where] = made ? [made, []] : [receiver.command, [...args, ...address, pathOf(file)]];
    const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret, TMPDIR: temporary };
    child = spawn(command, where, { env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
    const up = () =>
      post(port, call([stranger])).then(
        (status) => status,
        () => undefined,
      );
    await eventually(up, 60_000);
  }, buildTimeoutMs + 70_000);

  afterAll(() => {
    child.kill("SIGKILL");
    rmSync(temporary, { recursive: true, force: true });
  });

  const accepted = (id = "") => output.split("\n").filter((line) => line.includes(`accepted ${id}`)).length;

  it("refuses a body that was changed by one byte", async () => {
    const { headers, body } = call([secret]);
    const tampered = Buffer.from(body.toString().replace("created", "Created"));
    expect(await post(port, { headers, body: tampered })).toBe(400);
  });

  it("refuses the signature of another key", async () => {
    expect(await post(port, call([stranger]))).toBe(400);
    expect(await post(port, call([stranger, previous]))).toBe(400);
  });

  it("refuses a call that is 301 seconds old, or as far ahead, or whose time was made younger", async () => {
    expect(await post(port, call([secret], nowSeconds() - 302))).toBe(400);
    expect(await post(port, call([secret], nowSeconds() + 310))).toBe(400);
    const { headers, body } = call([secret], nowSeconds() - 302);
    expect(await post(port, { headers: { ...headers, "webhook-timestamp": String(nowSeconds()) }, body })).toBe(400);
  });

  it.each([
    ["webhook-id", "evt_another"],
    ["webhook-id", ""],
    ["webhook-timestamp", "yesterday"],
    ["webhook-timestamp", "1e9"],
    ["webhook-signature", ""],
    ["webhook-signature", "v1,"],
    ["webhook-signature", "v1,====="],
    ["webhook-signature", "v2,AAAA v1,AAAA"],
  ])("refuses a call whose %s is %j", async (name, text) => {
    const { headers, body } = call([secret]);
    expect(await post(port, { headers: { ...headers, [name]: text }, body })).toBe(400);
    const { [name]: _, ...others } = headers;
    expect(await post(port, { headers: others, body })).toBe(400);
  });

  it("refuses another method, and what is too large to be one", async () => {
    expect(await post(port, call([secret]), "GET")).toBe(405);
    const { headers } = call([secret]);
    const sent = post(port, { headers, body: Buffer.alloc(1_048_577) }).catch(() => 413);
    expect(await sent).toBe(413);
  });

  it("accepts what is genuine, a call of four minutes and during a rotation included, and tells it once", async () => {
    const genuine = [
      call([secret]),
      call([secret], nowSeconds() - 240),
      call([previous, secret]),
      call([secret, previous]),
    ];
    for (const each of genuine) {
      expect(await post(port, each)).toBe(204);
      expect(await post(port, each)).toBe(204);
    }
    for (const { headers } of genuine) {
      await eventually(() => accepted(headers["webhook-id"]) || undefined);
      expect(accepted(headers["webhook-id"])).toBe(1);
    }
    expect(accepted()).toBe(genuine.length);
  });

  it("ends with the newest margin event of each account, whatever order 2,000 events come in", async () => {
    const types = ["margin.call", "margin.recovered", "stop.out", "account.updated"] as const;
    const events = Array.from({ length: 2000 }, (_, place) => {
      const account = `acc_01JD000000000000000000000${place % 7}`;
      const type = types[(place * 7 + (place >> 3)) % 4] ?? "margin.call";
      return { type, sequence: String(place + 95), resource: { type: "account", id: account, version: 3 } };
    });
    const newest = new Map<string, string>();
    for (const { type, sequence, resource } of events) {
      if (type !== "account.updated") newest.set(resource.id, `margin ${resource.id} ${type} ${sequence}`);
    }
    const shuffled = fc.sample(fc.shuffledSubarray(events, { minLength: 2000 }), { numRuns: 1, seed: 1 })[0] ?? [];
    const waiting = shuffled.map((event) => signed([secret], event));
    const lanes = Array.from({ length: 8 }, async () => {
      for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
        expect(await post(port, each)).toBe(204);
      }
    });
    await Promise.all(lanes);
    const told = () =>
      new Map(
        output.split("\n").flatMap((line) => {
          const [whole, account = ""] = /margin (acc_\w+) \S+ \d+/.exec(line) ?? [];
          return whole === undefined ? [] : [[account, whole] as const];
        }),
      );
    const isTold = () => [...newest].every(([account, line]) => told().get(account) === line);
    await eventually(() => isTold() || undefined).catch(() => undefined);
    expect(Object.fromEntries(told())).toEqual(Object.fromEntries(newest));
  }, 120_000);
});

describe("the receivers", () => {
  it("that this machine can run are run here, that in TypeScript everywhere", () => {
    expect(runnable.map(({ file }) => file)).toContain("receiver.ts");
  });

  const comparisons: Readonly<Record<string, string>> = {
    "receiver.ts": "timingSafeEqual(given, expected)",
    "receiver.py": "hmac.compare_digest(given, expected)",
    "receiver.java": "MessageDigest.isEqual(",
    "receiver.php": "hash_equals($expected, $given)",
    "receiver.go": "hmac.Equal(given, expected)",
  };

  it.each(Object.entries(comparisons))("compare in constant time and know an age of 300 seconds: %s", (file, word) => {
    const text = readFileSync(pathOf(file), "utf8");
    expect(text).toContain(word);
    expect(text).toMatch(/tolerance\w*\W+300\b/i);
    for (const header of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      expect(text.toLowerCase().replaceAll("_", "-")).toContain(header);
    }
  });
});
