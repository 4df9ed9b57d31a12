import type { $ZodType } from "zod/v4/core";
import { channelScopes } from "../../domain/stream/subscription.ts";
import { publishedStreamUrls } from "../../hosts.ts";
import { limits } from "../../limits.ts";
import * as client from "../../schema/stream/client-messages.ts";
import * as server from "../../schema/stream/server-messages.ts";
import type { JsonObject } from "../document.ts";
import { printedJson } from "../print.ts";
import { componentName, componentSchemas, referenceTo } from "../schemas.ts";
import { withText } from "../texts.ts";
import type { AsyncApi, AsyncServer } from "./async-document.ts";
import { messageExamples } from "./examples.ts";

const { stream } = limits;

const channelTable = Object.entries(channelScopes)
  .map(([name, scope]) => `| \`${name}\` | \`${scope}\` |`)
  .join("\n");

const description = `Events, accounts, quotes and commands of a brokerage over a WebSocket, with the event ids and
sequence numbers of the REST API and its webhooks. The document has the service's point of view: it receives what
clients send.

## Connecting
Servers connect with \`Authorization: Bearer <token>\`. Browsers first send \`POST /stream_tickets\` and connect to
the \`url\` of the answer; a ticket opens one connection within ${stream.ticket_seconds} seconds. An access token in
the address is refused. Offer the subprotocol \`brokerage.v2+json\`. A refused handshake answers 401 (no valid ticket
or token, or both), 403 (no scope of a channel, or an address that is not allowed) or 429 (more than
${stream.connections_per_holder} connections of the application or operator).

## Subscribing
A connection has at most ${stream.channels_per_connection} channels in its subscriptions,
${stream.symbols_per_connection} symbols and ${stream.accounts_per_connection} accounts. It takes
${stream.messages_per_second} messages per second of at most ${stream.max_message_bytes / 1024} KB. After
\`subscribed\`, each channel sends a replay or a snapshot, then \`sync_end\`. Send a subscription again after
\`service_unavailable\`, after a message without \`type\` (the gateway could not pass one on), or without an answer
for 15 seconds: the same subscription twice changes nothing.

| channel | scope |
|---|---|
${channelTable}

## Receiving
Events arrive in the order of their numbers, at least once: one may come again, on the same connection too. Keep the
last number of each subscription, drop what is not higher, and pass it as \`after_sequence\` when you connect again.
Events of the last 90 days can be resumed. Accounts, quotes and commands are sent as they are now: a newer state
replaces one that was not sent yet.
A batch has at most ${stream.batch_bytes / 1024} KB; a larger event is its id, type, number and link.

## Ending
A connection lasts two hours, until its \`expires_at\`. \`expiring\` is sent one to two minutes before that time, and
the service ends the connection within the last minute before it, so that \`closing\` with the code \`expired\` still
arrives. The last message of a connection that the service ends is \`closing\` with its code. Connect again, with
growing delays, except after \`access_ended\`. Ignore message types and members that you do not know: a later version
may add some. It may also add values to an \`x-extensible-enum\`: show those as they are and treat them as "other".`;

interface MessageText {
  readonly schema: $ZodType;
  readonly title: string;
  readonly summary: string;
}

/** Messages that the service receives, by their type, with the types of its answers. */
const received: Readonly<Record<string, MessageText & { readonly answers: readonly string[] }>> = {
  subscribe: {
    schema: client.SubscribeMessage,
    title: "Subscribe",
    summary: "Starts to receive what channels send.",
    answers: ["subscribed", "error"],
  },
  unsubscribe: {
    schema: client.UnsubscribeMessage,
    title: "Unsubscribe",
    summary: "Ends a subscription.",
    answers: ["unsubscribed", "error"],
  },
  ping: { schema: client.PingMessage, title: "Ping", summary: "Tests the connection.", answers: ["pong", "error"] },
};

/** Messages that the service sends, by their type. */
const sent: Readonly<Record<string, MessageText>> = {
  hello: { schema: server.HelloMessage, title: "Hello", summary: "First message of a connection; it may be repeated." },
  subscribed: { schema: server.SubscribedMessage, title: "Subscribed", summary: "A subscription was stored." },
  unsubscribed: { schema: server.UnsubscribedMessage, title: "Unsubscribed", summary: "A subscription has ended." },
  pong: { schema: server.PongMessage, title: "Pong", summary: "Answers a ping." },
  error: { schema: server.ErrorMessage, title: "Error", summary: "A message was refused; the connection stays open." },
  batch: { schema: server.BatchMessage, title: "Batch", summary: "Messages of channels, in order." },
  heartbeat: {
    schema: server.HeartbeatMessage,
    title: "Heartbeat",
    summary: `Sent every ${stream.heartbeat_seconds / 60} minutes, so that a quiet connection stays open.`,
  },
  closing: { schema: server.ClosingMessage, title: "Closing", summary: "Last message of a connection." },
};

const inChannel = (type: string) => ({ $ref: `#/channels/stream/messages/${type}` });

/** The AsyncAPI 3.0 document of the stream: equal schemas give equal bytes. It has both stages, as it is committed. */
export function buildAsyncApi(): AsyncApi {
  const all = { ...received, ...sent };
  const types = Object.keys(all);
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Brokerage stream",
      version: "2.0.0",
      description,
      contact: { name: "API support", url: "https://docs.brokerage.example", email: "api@brokerage.example" },
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
      tags: [{ name: "Stream", description: "The WebSocket stream of the brokerage API." }],
    },
    defaultContentType: "application/json",
    servers: Object.fromEntries(
      Object.entries(publishedStreamUrls).map(([stage, url]) => [stage, serverOf(stage, url)]),
    ),
    channels: {
      stream: {
        address: "/",
        title: "Stream",
        description: "All messages of a connection.",
        servers: Object.keys(publishedStreamUrls).map((stage) => ({ $ref: `#/servers/${stage}` })),
        messages: Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
        bindings: { ws: handshake },
      },
    },
    operations: operations(),
    components: {
      messages: Object.fromEntries(Object.entries(all).map(([type, text]) => [type, messageOf(type, text)])),
      schemas: schemas(),
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "An access token of the REST API, in the header `Authorization`; for servers.",
        },
        ticket: {
          type: "httpApiKey",
          name: "ticket",
          in: "query",
          description: "A ticket of `POST /stream_tickets`, which opens one connection; for browsers.",
        },
      },
    },
  };
}

const handshake: JsonObject = {
  method: "GET",
  query: {
    type: "object",
    properties: { ticket: { type: "string", description: "A ticket of `POST /stream_tickets`, instead of a token." } },
  },
  headers: {
    type: "object",
    properties: {
      Authorization: { type: "string", description: "`Bearer` and an access token, instead of a ticket." },
      "Sec-WebSocket-Protocol": { type: "string", const: "brokerage.v2+json", description: "The subprotocol." },
    },
  },
  bindingVersion: "0.1.0",
};

function serverOf(stage: string, url: string): AsyncServer {
  const { host } = new URL(url);
  return {
    host,
    protocol: "wss",
    title: stage === "production" ? "Production" : "Sandbox",
    description: `WebSocket stream, ${stage}.`,
    security: [{ $ref: "#/components/securitySchemes/token" }, { $ref: "#/components/securitySchemes/ticket" }],
  };
}

function operations(): Record<string, JsonObject> {
  const channel = { $ref: "#/channels/stream" };
  const requests = Object.entries(received).map(([type, { title, summary, answers }]) => [
    type,
    {
      ...{ action: "receive", channel, title, summary, messages: [inChannel(type)] },
      reply: { channel, messages: answers.map(inChannel) },
    },
  ]);
  const answers = new Set(Object.values(received).flatMap((one) => one.answers));
  const further = Object.entries(sent).filter(([type]) => !answers.has(type));
  const pushes = further.map(([type, { title, summary }]) => [
    type,
    { action: "send", channel, title, summary, messages: [inChannel(type)] },
  ]);
  return Object.fromEntries([...requests, ...pushes]);
}

function messageOf(type: string, { schema, title, summary }: MessageText): JsonObject {
  const name = componentName(schema, type);
  const examples = messageExamples[name] ?? [];
  return { name: type, title, summary, payload: { $ref: referenceTo(name) }, examples };
}

function schemas(): Record<string, JsonObject> {
  const bodies = Object.values(received).map(({ schema }) => schema);
  const replies = Object.values(sent).map(({ schema }) => schema);
  const components = Object.entries(componentSchemas(bodies, replies));
  return Object.fromEntries(components.map(([name, one]) => [name, inDraft7(withText(name, one)) as JsonObject]));
}

/** Converts a schema of OpenAPI 3.0 to JSON Schema draft 7: `nullable` becomes the type null. */
function inDraft7(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inDraft7);
  if (typeof node !== "object" || node === null) return node;
  const { nullable, ...rest } = node as JsonObject;
  const schema = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, inDraft7(value)])) as JsonObject;
  if (nullable !== true) return schema;
  if (typeof schema["type"] === "string") return { ...schema, type: [schema["type"], "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

/** The document as it is committed and compared: two spaces, one newline at the end. */
export function printAsyncApi(document: AsyncApi): string {
  return printedJson(document);
}
