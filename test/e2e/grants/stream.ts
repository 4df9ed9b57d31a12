import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { expect } from "vitest";
import { accessToken } from "../../../infra/tools/api-call.ts";
import type { StreamConnection } from "../../../shared/domain/stream/connection.ts";
import { limits } from "../../../shared/limits.ts";
import { streamConnections, streamFlags, streamHolders, streamSets } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../../support/stack/cloud-tables.ts";
import type { Stack } from "../../support/stack/stack.ts";
import { handshakeStatus, openStream, type StreamSocket } from "../../support/stack/stream-client.ts";
import { eventually } from "../../support/wait.ts";
import { missing, needed, patiently, put, quoteSymbol } from "./stack.ts";

/** Of a message, or of a member of a batch. */
interface Received {
  readonly type: string;
  readonly channel?: string;
  readonly connection_id?: string;
  readonly messages?: readonly Received[];
}

const typed = (wanted: string) => (message: Received) => message.type === wanted;

/**
 * Connections that end in other ways than by their close: one that sends too much, one that finds no place left, and
 * those that the sweeps find gone.
 */
export async function tellOfStream(stack: Stack): Promise<void> {
  const { baseUrl, cloud } = stack;
  const url = cloud.streamUrl ?? "";
  // Time passes so fast that a connection lasts for 24 seconds, and its functions may need as long to start.
  await patiently(() => subscribeToAll(stack));

  const other = await stack.newApplication();
  const token = await accessToken(baseUrl, other.credentials);
  const loud = await openStream(url, token);
  const { connection_id = "" } = (await loud.next(typed("hello"))) as Received;
  await exhaust(stack, streamConnections.key(other.tenant_id, connection_id));
  loud.send({ type: "ping" });
  await loud.next(typed("closing"));
  await fillUp(stack, other.tenant_id, other.application_id);
  expect(await handshakeStatus(url, token)).toBe(429);
  await wakeByFlags(stack);
  await needed(stack, "stream-sweep", "stream-deliver", "stream-message DeleteStream", "stream-connect DeleteStream");
}

/**
 * Sets of brokerages that no sweep knows, as if their connections had been opened long ago: the publisher and the
 * margin watch wake the worker for them, which finds one connection gone, and hands over the run that looks for long.
 */
async function wakeByFlags(stack: Stack): Promise<void> {
  const [priced, fresh] = [await stack.newApplication(), await stack.newApplication()];
  await standing(stack, priced.tenant_id, 1);
  await standing(stack, fresh.tenant_id, Date.now() + 30_000);
  const made = await fresh.api.call("POST", "/clients", { body: someClient() });
  expect(made.status).toBe(201);
  const wanted = ["publish SendSets", "watch SendSets", "stream-deliver DeleteStream", "stream-deliver SendSets"];
  // The watch remembers for a second that there was no flag: the next price finds it.
  const afterAPrice = async () => {
    await quoteSymbol({ ...stack, tenant_id: priced.tenant_id });
    return missing(stack, ...wanted);
  };
  await expect.poll(afterAPrice, { timeout: 60_000, interval: 500 }).toEqual([]);
}

/** A set with a connection that is gone, and one of which nothing is stored but its place. */
async function standing(stack: Stack, tenant_id: string, created_at_ms: number): Promise<void> {
  const closes_at = Math.floor(Date.now() / 1000) + limits.stream.connection_seconds;
  const [set, revision, expires_at] = [0, 1, closes_at];
  const gone: StreamConnection = {
    ...{
      tenant_id,
      connection_id: "gone=",
      holder: { type: "application", id: "app_gone" },
      client_id: "",
      scopes: [],
    },
    ...{ set, closes_at, expires_at, connected_at: "2026-11-20T08:00:00.000Z", subscriptions: [], revision: 0 },
    ...{ rate_second: 0, rate_count: 0 },
  };
  const members = { [gone.connection_id]: closes_at, lost: closes_at };
  const sets = { [String(set)]: { connections: 2, revision, prices: 1 } };
  await put(
    stack,
    "volatile",
    itemOf(streamConnections, gone),
    itemOf(streamSets, { tenant_id, set, members, revision, expires_at }),
    itemOf(streamFlags, { tenant_id, created_at_ms, revision, sets }),
  );
}

/**
 * A connection with a ticket that receives every channel; afterwards nothing of it follows prices. It is one of a
 * brokerage of its own: a connection that an earlier try left behind would follow prices for longer.
 */
async function subscribeToAll(stack: Stack): Promise<void> {
  const { api, tenant_id } = await stack.newApplication();
  const { account_id } = await fundedAccount(api, "100.00");
  await quoteSymbol({ ...stack, tenant_id });
  const { body: ticket } = await api.call<{ ticket: string }>("POST", "/stream_tickets");
  const client = await openStream(`${stack.cloud.streamUrl}?ticket=${ticket.ticket}`);
  // The gateway's limit of quiet time is two seconds here.
  const pings = setInterval(() => client.send({ type: "ping" }), 1400);
  try {
    await client.next(typed("hello"));
    const channels = [
      { name: "events", after_sequence: "0" },
      { name: "accounts", ids: [account_id] },
      { name: "margin" },
      { name: "quotes", symbols: ["EURUSD"] },
    ];
    client.send({ type: "subscribe", id: "1", channels });
    await synchronized(client, channels.length);
    client.send({ type: "unsubscribe", id: "1" });
    await client.next(typed("unsubscribed"));
    await eventually(() => missing(stack, "stream-sweep UpdateStream").length === 0 || undefined);
  } finally {
    clearInterval(pings);
    await client.close();
  }
}

/** Waits until so many channels have sent what there was. */
async function synchronized(client: StreamSocket, channels: number): Promise<void> {
  const ended = new Set<string>();
  while (ended.size < channels) {
    const { messages = [] } = (await client.next(typed("batch"))) as Received;
    for (const { type, channel = "" } of messages) if (type === "sync_end") ended.add(channel);
  }
}

/** Has the next message of a connection end it, as if it had sent too many in this second. */
async function exhaust(stack: Stack, { pk, sk }: { readonly pk: string; readonly sk: string }): Promise<void> {
  const client = tableClient(stack.cloud);
  const rate = { ":second": Math.floor(Date.now() / 1000) + 60, ":count": 2 * limits.stream.messages_per_second };
  await client.send(
    new UpdateItemCommand({
      TableName: tableNameOf(stack.cloud, "volatile"),
      Key: marshall({ pk, sk }),
      UpdateExpression: "SET rate_second = :second, rate_count = :count",
      ExpressionAttributeValues: marshall(rate),
    }),
  );
  client.destroy();
}

/** Gives an application as many connections as there may be, none of which was opened. */
async function fillUp(stack: Stack, tenant_id: string, holder_id: string): Promise<void> {
  const closes_at = Math.floor(Date.now() / 1000) + limits.stream.connection_seconds;
  const ids = Array.from({ length: limits.stream.connections_per_holder }, (_, at) => `never${at}`);
  const common = { tenant_id, expires_at: closes_at };
  const holder = { type: "application", id: holder_id } as const;
  const connections = ids.map(
    (connection_id): StreamConnection => ({
      ...{ ...common, connection_id, holder, client_id: "", scopes: [], set: 0, closes_at },
      ...{ connected_at: new Date().toISOString(), subscriptions: [], revision: 0, rate_second: 0, rate_count: 0 },
    }),
  );
  await put(stack, "volatile", ...connections.map((connection) => itemOf(streamConnections, connection)));
  const places = Object.fromEntries(ids.map((id) => [id, closes_at]));
  await put(stack, "volatile", itemOf(streamHolders, { ...common, holder_id, connections: places }));
}
