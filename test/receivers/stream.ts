/**
 * A client of the stream in TypeScript, without dependencies: prints every event once, in order, wherever the
 * connection or the process breaks.
 * `BROKERAGE_URL=https://.../v2 BROKERAGE_CLIENT_ID=... BROKERAGE_CLIENT_SECRET=... node stream.ts`, with
 * `POSITION_FILE` for another file than `position`
 * (Node 22.18 or later).
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const { BROKERAGE_URL = "", BROKERAGE_CLIENT_ID = "", BROKERAGE_CLIENT_SECRET = "" } = process.env;
const positionFile = process.env["POSITION_FILE"] ?? "position";
const firstDelayMs = 500;
const longestDelayMs = 30_000;
const openMs = 15_000;
const answerMs = 30_000;
/** The service sends a heartbeat every five minutes. */
const quietMs = 330_000;

/** Errors of the service that pass. To subscribe twice is to subscribe once. */
const temporary = new Set(["service_unavailable", "internal_error", "rate_limit_exceeded"]);

interface Message {
  readonly type?: string;
  readonly code?: string;
  readonly detail?: string;
  readonly messages?: readonly Message[];
  readonly sequence?: string;
  readonly event?: { readonly id: string; readonly type: string };
}

/** Number of the last event that was handled. Keep it where your data is, in the transaction that handles the event. */
let position = readPosition();

function readPosition(): number {
  try {
    return Number(readFileSync(positionFile, "utf8"));
  } catch {
    return 0;
  }
}

function handle({ sequence, event }: Message): void {
  // An event may come again, on the same connection too: drop what is not higher.
  if (Number(sequence) <= position) return;
  console.log(`event ${sequence} ${event?.type} ${event?.id}`);
  position = Number(sequence);
  // The file is replaced, so that the end of the process leaves the old number or the new one, and never an empty file.
  writeFileSync(`${positionFile}.new`, String(position));
  renameSync(`${positionFile}.new`, positionFile);
}

async function post(path: string, init: RequestInit): Promise<Record<string, string>> {
  const limit = new AbortController();
  // A timer keeps the process while it waits; AbortSignal.timeout does not, nor does a fetch without a connection.
  const timer = setTimeout(() => limit.abort(new Error(`${path} got no answer.`)), answerMs);
  try {
    const reply = await fetch(BROKERAGE_URL + path, { method: "POST", signal: limit.signal, ...init });
    if (reply.status === 401 || reply.status === 403) throw new Refused(`${path} answered ${reply.status}.`);
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}.`);
    return (await reply.json()) as Record<string, string>;
  } finally {
    clearTimeout(timer);
  }
}

/** No later attempt can succeed. */
class Refused extends Error {}

/** An address with a ticket, which opens one connection. */
async function address(): Promise<string> {
  const credentials = { client_id: BROKERAGE_CLIENT_ID, client_secret: BROKERAGE_CLIENT_SECRET };
  const body = new URLSearchParams({ grant_type: "client_credentials", ...credentials });
  const { access_token } = await post("/oauth/token", { body });
  const { url = "" } = await post("/stream_tickets", { headers: { Authorization: `Bearer ${access_token}` } });
  return url;
}

/** Receives until the connection ends; returns whether anything came, and the last message if it is `closing`. */
function receive(url: string): Promise<{ readonly received: boolean; readonly closing?: Message }> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, ["brokerage.v2+json"]);
    let received = false;
    let closing: Message | undefined;
    const end = () => {
      clearTimeout(timer);
      socket.close();
      resolve({ received, ...(closing && { closing }) });
    };
    let timer = setTimeout(end, openMs);
    const channels = [{ name: "events", after_sequence: String(position) }];
    const subscribe = () => socket.send(JSON.stringify({ type: "subscribe", id: "all", channels }));
    socket.onopen = subscribe;
    socket.onmessage = ({ data }) => {
      clearTimeout(timer);
      timer = setTimeout(end, quietMs);
      received = true;
      const message = JSON.parse(String(data)) as Message;
      if (message.type === "error") console.log(`error ${message.code} ${message.detail}`);
      // The gateway answers a message that it could not pass on by one without a type.
      const isLost = message.type === undefined || temporary.has(message.code ?? "");
      if (isLost) setTimeout(subscribe, 1000);
      if (message.type === "closing") closing = message;
      for (const each of message.messages ?? []) if (each.type === "event") handle(each);
    };
    socket.onclose = end;
    socket.onerror = end;
  });
}

for (let failures = 0; ; failures += 1) {
  try {
    const { received, closing } = await receive(await address());
    if (closing?.code === "access_ended") throw new Refused(closing.detail);
    console.log(`connection ended ${closing?.code ?? ""}`);
    if (received) failures = 0;
  } catch (error) {
    if (error instanceof Refused) throw error;
    console.log(`no connection: ${error instanceof Error ? error.message : error}`);
  }
  // Half to whole of a growing delay, at random, so that clients do not come back all at once.
  const most = Math.min(longestDelayMs, firstDelayMs * 2 ** failures);
  await pause(most / 2 + (Math.random() * most) / 2);
}
