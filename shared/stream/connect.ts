import type { APIGatewayProxyResult } from "aws-lambda";
import { asksForProtocol, streamProtocol } from "../domain/stream/handshake.ts";
import { headerValues } from "../http/body.ts";
import { callerOf } from "../http/caller.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { joinStream } from "./membership.ts";
import { connectionOf, type SocketEvent } from "./socket-event.ts";
import { holderOf } from "./tickets.ts";
import { wakeSet } from "./wake.ts";

/**
 * Opens the connection of a handshake that was authorized.
 * @returns the answer of the handshake: 200 with our subprotocol if it was asked for; 429 when the holder has as many
 * connections as there may be; 503 when it could not be stored
 */
export async function openConnection(event: SocketEvent): Promise<APIGatewayProxyResult> {
  const place = connectionOf(event);
  const { actor, client_id, family_id, session, scopes, source_ids } = callerOf(event);
  const principal = {
    ...{ holder: holderOf(actor), client_id, ...(family_id !== "" && { family_id }), scopes },
    ...(source_ids.length > 0 && { source_ids }),
    ...(session !== undefined && { session }),
  };
  try {
    const joined = await joinStream(principal, place);
    if (joined === undefined) return refusal(429, `At most ${limits.stream.connections_per_holder} connections.`);
    await wakeSet(joined, "connected");
  } catch (error) {
    log.error("A connection could not be opened.", { ...place, ...causeOf(error) });
    return refusal(503, "The service is not available right now.");
  }
  const asked = asksForProtocol(headerValues({ multiValueHeaders: event.multiValueHeaders ?? null }, protocolHeader));
  return { statusCode: 200, ...(asked && { headers: { [protocolHeader]: streamProtocol } }), body: "" };
}

const protocolHeader = "Sec-WebSocket-Protocol";

function refusal(statusCode: number, body: string): APIGatewayProxyResult {
  return { statusCode, body };
}
