import { AwsError } from "../aws-error.ts";
import type { Incoming, Plan, Reply } from "../aws-plan.ts";
import type { LocalSockets } from "./server.ts";

/** Largest message in bytes (AWS docs: quotas for WebSocket APIs). */
const messageLimit = 128 * 1024;

const place = /^\/([^/]+)\/@connections\/([^/]+)$/;

/** Whether a request is about a connection of a WebSocket API. */
export function isForConnections(path: string): boolean {
  return place.test(path);
}

/** How a call of `@connections` is done: POST sends, GET shows and DELETE closes. */
export function connectionPlan(sockets: LocalSockets, { method, url, text }: Incoming): Plan {
  const [, stage = "", encoded = ""] = place.exec(url.pathname) ?? [];
  const id = decodeURIComponent(encoded);
  if (stage !== sockets.stage) throw new AwsError(403, "ForbiddenException", "Forbidden");
  return {
    service: "execute-api",
    action: `${method} @connections`,
    access: [{ action: "execute-api:ManageConnections", resource: sockets.arnOf(method, id) }],
    body: { connection_id: id, text },
    do: () => call(sockets, method, id, text),
  };
}

async function call(sockets: LocalSockets, method: string, id: string, text: string): Promise<Reply> {
  if (method === "POST") {
    if (Buffer.byteLength(text) > messageLimit) {
      throw new AwsError(413, "PayloadTooLargeException", "Message too long");
    }
    await sockets.post(id, text);
    return { status: 200, body: "" };
  }
  if (method === "DELETE") {
    sockets.close(id);
    return { status: 204, body: "" };
  }
  if (method === "GET") return { status: 200, body: JSON.stringify(sockets.shown(id)) };
  throw new AwsError(403, "ForbiddenException", "Forbidden");
}
