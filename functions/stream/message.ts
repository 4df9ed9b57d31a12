import type { APIGatewayProxyResult } from "aws-lambda";
import { receiveMessage } from "../../shared/stream/receive.ts";
import { connectionOf, type SocketEvent } from "../../shared/stream/socket-event.ts";

/** `$default` of the stream: a message of a client, which is answered on its connection. */
export async function handler(event: SocketEvent): Promise<APIGatewayProxyResult> {
  await receiveMessage(connectionOf(event), event);
  return { statusCode: 200, body: "" };
}
