import { WebSocket } from "ws";
import type { Socket } from "../../sdk/stream/connection.ts";
import { StreamClient } from "../../sdk/stream/stream-client.ts";
import type { StoryHost, Streamed } from "./story.ts";

/** Receives all events of the brokerage by the stream, from the first one, into a list; close what it returns. */
export function followStream(call: StoryHost["call"], streamed: Streamed[]): StreamClient {
  return new StreamClient({
    address: async () => (await call("POST", "/stream_tickets")).body.url,
    // Node has a WebSocket of its own from version 22.
    connect: (url, protocol) => new WebSocket(url, [protocol]) as unknown as Socket,
    subscriptions: [{ id: "all", channels: [{ name: "events", after_sequence: "0" }] }],
    handlers: {
      event: ({ event: { id, type }, sequence }) => void streamed.push({ sequence: Number(sequence), type, id }),
    },
  });
}
