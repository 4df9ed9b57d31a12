import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";

/** How a receiver behaves. */
export interface ReceiverOptions {
  /** 0 takes any free port. */
  readonly port: number;
  /** Secrets that may have signed; without any nothing is verified. */
  readonly secrets: readonly string[];
  readonly status: number;
  /** Attempts of each event that are answered 500 first. */
  readonly failFirst: number;
  readonly delayMs: number;
  /** Receives what would be printed. */
  readonly print: (text: string) => void;
  /** Receives the body of each attempt, and what was found of its signatures. */
  readonly seen?: (body: string, signature: string) => void;
}

/** A receiver that listens. */
export interface Receiver {
  /** Address to register as an endpoint. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Larger bodies are no webhook. */
const maxBytes = 1_048_576;
const failedStatus = 500;
const refusedStatus = 400;

/** The signatures that a request carries: header, and how the package of that scheme verifies it. */
const schemes: readonly {
  readonly header: string;
  readonly verify: (body: string, headers: IncomingHttpHeaders, secret: string) => void;
}[] = [
  {
    header: "webhook-signature",
    verify: (body, headers, secret) => {
      const named = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
      new Webhook(secret).verify(body, Object.fromEntries(named));
    },
  },
  {
    header: "x-service-signature",
    verify: (body, headers, secret) => {
      Stripe.webhooks.constructEvent(body, String(headers["x-service-signature"]), secret);
    },
  },
];

/** The fault of the signatures of a request; undefined when each of them is good under one of the secrets. */
function faultOf(body: string, headers: IncomingHttpHeaders, secrets: readonly string[]): string | undefined {
  const faults = schemes.flatMap(({ header, verify }) => {
    if (headers[header] === undefined) return [`no ${header}`];
    const wrong = secrets.map((secret) => faultIn(() => verify(body, headers, secret)));
    // The first line says what is wrong; some packages add advice below it.
    return wrong.includes(undefined) ? [] : [`${header}: ${String(wrong[0]).split("\n")[0]}`];
  });
  return faults.length === 0 ? undefined : faults.join("; ");
}

function faultIn(verify: () => void): string | undefined {
  try {
    verify();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Text of a header, without what could move the cursor of a terminal. */
function headerText(value: string | string[] | undefined): string {
  return value === undefined ? "-" : String(value).replace(/[^\x20-\x7e]/g, "?");
}

/** JSON over several lines; other text as a string of JSON, so that it cannot control a terminal either. */
function shownBody(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return JSON.stringify(text);
  }
}

async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Starts a receiver on the loopback. Rejects when the port is taken. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { secrets, status, failFirst, delayMs, print } = options;
  const attempts = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return void response.writeHead(405, { Allow: "POST" }).end();
    const body = await textOf(request);
    if (body === undefined) return void response.writeHead(413, { Connection: "close" }).end();
    const { headers } = request;
    const id = headerText(headers["webhook-id"]);
    const seen = attempts.get(id) ?? 0;
    const fault = secrets.length === 0 ? undefined : faultOf(body, headers, secrets);
    if (fault === undefined) attempts.set(id, seen + 1);
    const answer = fault !== undefined ? refusedStatus : seen < failFirst ? failedStatus : status;
    const signature = secrets.length === 0 ? "not verified" : (fault ?? "good");
    const words = [
      `${new Date().toISOString()}  POST ${headerText(request.url)}  ${headerText(headers["x-service-event"])}  ${id}`,
      `  delivery ${headerText(headers["x-service-delivery"])}, attempt ${headerText(headers["x-service-attempt"])}`,
      `  signature: ${headerText(signature)}; answered ${answer}`,
      shownBody(body),
    ];
    print(words.join("\n"));
    options.seen?.(body, signature);
    const reply = (): void => {
      response.writeHead(answer, { "content-type": "text/plain" }).end(answer < 300 ? "received\n" : "refused\n");
    };
    if (delayMs === 0) return reply();
    const timer = setTimeout(() => {
      timers.delete(timer);
      reply();
    }, delayMs);
    timers.add(timer);
  }

  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
