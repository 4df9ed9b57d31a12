import { expect } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { fundedAccount, getToken } from "../../support/stack/api-client.ts";
import type { Stack } from "../../support/stack/stack.ts";
import { handshakeStatus, openStream, type StreamSocket } from "../../support/stack/stream-client.ts";
import { eventually } from "../../support/wait.ts";
import { quoteSymbol, unused } from "./stack.ts";

const types = (wanted: string) => (message: { type: string }) => message.type === wanted;

/**
 * Connections from their tickets to their end: all channels, as many as there may be, one that is refused, one that
 * sends too much, and the sweeps that follow.
 */
export async function tellOfStream(stack: Stack): Promise<void> {
  const { api, baseUrl, cloud } = stack;
  const url = cloud.streamUrl ?? "";
  const { account_id } = await fundedAccount(api, "100.00");
  await quoteSymbol(stack);
  const { body: ticket } = await api.call<{ ticket: string }>("POST", "/stream_tickets");
  const first = await openStream(`${url}?ticket=${ticket.ticket}`);
  await first.next(types("hello"));
  const channels = [
    { name: "events", after_sequence: "0" },
    { name: "accounts", ids: [account_id] },
    { name: "margin" },
    { name: "quotes", symbols: ["EURUSD"] },
  ];
  first.send({ type: "subscribe", id: "1", channels });
  await first.next(types("subscribed"));
  first.send({ type: "unsubscribe", id: "1" });
  await first.next(types("unsubscribed"));
  await eventually(() => !unused(stack).includes("brokerage-sandbox-stream-sweep UpdateStream") || undefined, 60_000);
  await first.close();

  const without = await stack.newApplication({ scopes: ["clients:read"] });
  expect(await handshakeStatus(url, await getToken(baseUrl, without.credentials))).toBe(403);

  const full = await stack.newApplication();
  const token = await getToken(baseUrl, full.credentials);
  const open: StreamSocket[] = [];
  while (open.length < limits.stream.connections_per_holder) open.push(await openStream(url, token));
  expect(await handshakeStatus(url, token)).toBe(429);
  const [loud] = open as [StreamSocket];
  for (let sent = 0; sent < 60; sent += 1) loud.send({ type: "ping" });
  await loud.next(types("closing"));
  await Promise.all(open.slice(1).map((each) => each.close()));
  const later = ["DeleteStream", "DeleteStreams"].map((right) => `brokerage-sandbox-stream-sweep ${right}`);
  await eventually(() => !later.some((right) => unused(stack).includes(right)) || undefined, 60_000);
}
