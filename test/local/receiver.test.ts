import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { afterEach, describe, expect, it } from "vitest";
import { type Receiver, type ReceiverOptions, startReceiver } from "../../infra/tools/receiver/receiver.ts";
import { machineNode } from "../support/machine-node.ts";
import { eventually } from "../support/wait.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const other = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
const body = JSON.stringify({ id: "evt_1", type: "client.created" });

let receiver: Receiver | undefined;
let printed: string[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  await receiver?.stop();
  receiver = undefined;
  printed = [];
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function start(options: Partial<ReceiverOptions> = {}): Promise<Receiver> {
  const print = (text: string) => void printed.push(text);
  receiver = await startReceiver({ port: 0, secrets: [], status: 200, failFirst: 0, delayMs: 0, print, ...options });
  return receiver;
}

/** Headers of an attempt, signed by the packages themselves. */
function headersOf(signedBy: string, id = "evt_1", text = body): Record<string, string> {
  const now = new Date();
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(signedBy).sign(id, now, text),
    "x-service-signature": Stripe.webhooks.generateTestHeaderString({ payload: text, secret: signedBy }),
    "x-service-event": "client.created",
    "x-service-delivery": "dlv_1",
    "x-service-attempt": "2",
  };
}

async function post(headers: Record<string, string>, text = body, path = ""): Promise<number> {
  const { status } = await fetch(`${receiver?.url}${path}`, { method: "POST", headers, body: text });
  return status;
}

describe("a receiver that knows the secret", () => {
  it.each<[string, () => Record<string, string>, string, RegExp]>([
    ["was changed", () => headersOf(secret), `${body} `, /webhook-signature: .*; x-service-signature: /],
    ["is signed with another secret", () => headersOf(other), body, /webhook-signature: .*; x-service-signature: /],
    ["is not signed", () => ({ "webhook-id": "evt_1" }), body, /no webhook-signature; no x-service-signature/],
    [
      "is signed under one scheme only",
      () => {
        const { "x-service-signature": _, ...headers } = headersOf(secret);
        return headers;
      },
      body,
      /signature: no x-service-signature/,
    ],
  ])("refuses a request that %s and says why", async (_, headers, text, why) => {
    await start({ secrets: [secret] });
    expect(await post(headers(), text)).toBe(400);
    expect(printed.join()).toMatch(why);
  });

  it("takes what is signed with any of its secrets", async () => {
    await start({ secrets: [other, secret] });
    expect(await post(headersOf(secret))).toBe(200);
    expect(await post(headersOf(other))).toBe(200);
    expect(printed).toHaveLength(2);
    for (const text of printed) expect(text).toContain("signature: good; answered 200");
  });
});

describe("a receiver", () => {
  it("answers other methods with 405, and large bodies with 413", async () => {
    const { url } = await start();
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await post({}, "x".repeat(1_048_577))).toBe(413);
    expect(printed).toEqual([]);
  });

  it("prints path, event, delivery, attempt and body, and no control characters of a stranger", async () => {
    await start();
    expect(await post(headersOf(secret), body, "hooks/crm")).toBe(200);
    expect(printed[0]).toMatch(/POST \/hooks\/crm {2}client\.created {2}evt_1\n {2}delivery dlv_1, attempt 2\n/);
    expect(printed[0]).toContain("signature: not verified; answered 200");
    expect(printed[0]).toContain('{\n  "id": "evt_1",\n  "type": "client.created"\n}');
    await post({ "webhook-id": "caf\u00e9" }, "\u001b[2Jnot JSON");
    expect(printed[1]?.split("\n").join("")).toMatch(/^[\x20-\x7e]*$/);
  });

  it("fails the first attempts of each event and then takes it", async () => {
    await start({ failFirst: 2, status: 204 });
    const statuses: number[] = [];
    for (const id of ["evt_1", "evt_1", "evt_2", "evt_1", "evt_2", "evt_2"]) {
      statuses.push(await post({ "webhook-id": id }));
    }
    expect(statuses).toEqual([500, 500, 500, 204, 500, 204]);
  });

  it("waits before it answers, and drops what waits when it is stopped", async () => {
    await start({ delayMs: 100 });
    const began = Date.now();
    await post({});
    expect(Date.now() - began).toBeGreaterThanOrEqual(99);
    const slow = await start({ delayMs: 3_600_000 });
    const dropped = post({}).catch((error: unknown) => error);
    await eventually(() => (printed.length === 2 ? true : undefined));
    await slow.stop();
    expect(await dropped).toBeInstanceOf(Error);
  });
});

describe("npm run receiver", () => {
  const file = fileURLToPath(new URL("../../infra/tools/receiver/run.ts", import.meta.url));
  const tsx = join(file, "..", "..", "..", "..", "node_modules", "tsx", "dist", "loader.mjs");

  function run(...args: string[]): { child: ChildProcess; text: () => string } {
    const child = spawn(machineNode, ["--import", tsx, file, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (text += String(chunk)));
    return { child, text: () => text };
  }

  it("tells its address and ends on SIGTERM", async () => {
    const { child, text } = run("--port", "0");
    const url = await eventually(() => /Receiving at (\S+)/.exec(text())?.[1]);
    expect((await fetch(url, { method: "POST", body })).status).toBe(200);
    await eventually(() => (text().includes('"type": "client.created"') ? true : undefined));
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
  });
});
