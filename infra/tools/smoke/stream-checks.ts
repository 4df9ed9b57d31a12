import { once } from "node:events";
import WebSocket from "ws";
import type { Json } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { Finding, must, type Resource } from "./finding.ts";
import { functionOf, resources, roleOf } from "./resources.ts";

const opening: readonly Resource[] = [
  resources.streamApi,
  functionOf("stream-authorize"),
  roleOf("stream-authorize"),
  functionOf("stream-connect"),
  roleOf("stream-connect"),
];
const delivering: readonly Resource[] = [
  functionOf("publish"),
  resources.streamQueue,
  functionOf("stream-deliver"),
  roleOf("stream-deliver"),
];

/** A connection whose messages are waited for one after the other, those of a batch apart. */
class Connection {
  private readonly socket: WebSocket;
  private readonly patienceMs: number;
  private readonly messages: Json[] = [];
  private wake: () => void = () => undefined;

  constructor(url: string, patienceMs: number) {
    this.patienceMs = patienceMs;
    this.socket = new WebSocket(url, ["brokerage.v2+json"], { handshakeTimeout: patienceMs });
    this.socket.on("message", (data) => {
      const message: Json = JSON.parse(String(data));
      this.messages.push(...(message.type === "batch" ? message.messages : [message]));
      this.wake();
    });
  }

  /** Resolves when the connection is open; rejects with an Error whose message holds the status otherwise. */
  async opened(): Promise<void> {
    await once(this.socket, "open");
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => this.wake());
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The next message of a type; those before it are dropped. */
  async next(type: string, named: readonly Resource[]): Promise<Json> {
    const last = performance.now() + this.patienceMs;
    for (;;) {
      const found = this.messages.shift();
      if (found?.type === type) return found;
      if (found?.type === "error" || found?.type === "closing") {
        throw new Finding(`The stream says ${JSON.stringify(found)} instead of ${type}`, named);
      }
      if (found !== undefined) continue;
      const leftMs = last - performance.now();
      if (leftMs <= 0 || this.socket.readyState > WebSocket.OPEN) {
        throw new Finding(`The stream sent no ${type} within ${this.patienceMs / 1000} s`, named);
      }
      await this.arrival(leftMs);
    }
  }

  close(): void {
    this.socket.close();
  }

  /** Resolves when something has come, or the connection or the time is over. */
  private arrival(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Result of a handshake: undefined, or the words of the refusal. */
async function refusedBecause(connection: Connection): Promise<string | undefined> {
  return await connection.opened().then(
    () => undefined,
    (error: Error) => error.message,
  );
}

/** Subscribes to changes of the client, makes one, and compares its event with that of the API. */
async function follow({ session, story }: Context, connection: Connection): Promise<string> {
  const { client } = await story.open();
  const { head_sequence } = await connection.next("hello", delivering);
  must(/^\d+$/.test(String(head_sequence)), `hello names the number ${head_sequence}`, delivering);
  connection.send({ type: "subscribe", id: "1", channels: [{ name: "events", types: ["client.updated"] }] });
  await connection.next("subscribed", [functionOf("stream-message"), roleOf("stream-message")]);
  await connection.next("sync_end", delivering);
  const body = { metadata: { smoke: `stream ${Date.now()}` } };
  await session.expect(200, "PATCH", `/clients/${client.id}`, [functionOf("update_client")], { body });
  const startMs = performance.now();
  const { sequence, event } = await connection.next("event", delivering);
  const ms = Math.round(performance.now() - startMs);
  const same = await session.expect(200, "GET", `/events/${event.id}`, [functionOf("get_event")]);
  const differs = `The event ${event.id} differs from that of GET /events/${event.id}`;
  must(same.text === JSON.stringify(event) && sequence === event.sequence, differs, delivering);
  connection.send({ type: "unsubscribe", id: "1" });
  await connection.next("unsubscribed", [functionOf("stream-message")]);
  return `number ${sequence}, ${ms} ms after the answer to its commit`;
}

/** Checks of the way from a commit to a client that is connected. */
export const streamChecks: readonly Check[] = [
  {
    name: "stream",
    title: "a connection of the stream receives an event, and a ticket opens one connection",
    async run(context) {
      const { session, options } = context;
      const named = [functionOf("create_stream_ticket"), roleOf("create_stream_ticket")];
      const { url } = (await session.expect(201, "POST", "/stream_tickets", named)).body;
      must(/^wss?:\/\/.+\?ticket=stk_/.test(String(url)), "The ticket has no address", named);
      const connection = new Connection(String(url), options.patienceMs);
      const refusal = await refusedBecause(connection);
      must(refusal === undefined, `The handshake is refused: ${refusal}`, opening);
      try {
        const again = await refusedBecause(new Connection(String(url), options.patienceMs));
        must(again?.includes("401") === true, `A used ticket: ${again ?? "opens a connection"}`, opening);
        return await follow(context, connection);
      } finally {
        connection.close();
      }
    },
  },
];
