/**
 * A receiver of webhooks in TypeScript, without dependencies. `WEBHOOK_SECRET=whsec_... PORT=4000 node receiver.ts`
 * (Node 22.18 or later; before that with `--import tsx`).
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";

const toleranceSeconds = 300;
const maxBytes = 1_048_576;
const key = Buffer.from((process.env["WEBHOOK_SECRET"] ?? "").replace(/^whsec_/, ""), "base64");
if (key.length !== 32) throw new Error("WEBHOOK_SECRET is not the secret of an endpoint.");

/** Whether the call is ours: signed over `id.timestamp.body`, and not older than five minutes. */
function isGenuine(headers: IncomingMessage["headers"], body: Buffer): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signatures !== "string") return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // While a secret is rotated there are two signatures, one of each secret.
  return signatures.split(" ").some((signature) => {
    const given = Buffer.from(signature.startsWith("v1,") ? signature.slice(3) : "", "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** The exact bytes that were signed: a body that was parsed and written again has others. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Events that are done already. A delivery may come twice; keep these where your data is. */
const seen = new Set<string>();

interface Event {
  readonly type: string;
  readonly sequence: string | null;
  readonly resource: { readonly id: string };
}

/** The number of the newest margin event of each account; keep these where your data is. */
const newest = new Map<string, bigint>();

/** Deliveries come in any order. A margin event does not raise the version of its account: its number counts. */
function keepNewest({ type, sequence, resource }: Event): void {
  if (!["margin.call", "margin.recovered", "stop.out"].includes(type)) return;
  const { id } = resource;
  const number = BigInt(sequence ?? "0");
  if (number <= (newest.get(id) ?? 0n)) return;
  newest.set(id, number);
  console.log(`margin ${id} ${type} ${number}`);
}

/** Put the event where your own work finds it, and answer at once: after ten seconds the call counts as failed. */
function accept(id: string, event: Event): void {
  seen.add(id);
  keepNewest(event);
  console.log(`accepted ${id} ${event.type}`);
}

const server = createServer(async (request, reply) => {
  if (request.method !== "POST") return reply.writeHead(405, { Allow: "POST" }).end();
  const body = await bodyOf(request);
  if (body === undefined) return reply.writeHead(413, { Connection: "close" }).end();
  if (!isGenuine(request.headers, body)) return reply.writeHead(400).end();
  const id = String(request.headers["webhook-id"]);
  if (!seen.has(id)) accept(id, JSON.parse(body.toString()));
  return reply.writeHead(204).end();
});
server.listen(Number(process.env["PORT"] ?? "4000"), "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening ${typeof address === "object" ? address?.port : address}`);
});
