import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { limits } from "../limits.ts";
import { bounded } from "../runtime/budget.ts";
import { env } from "../runtime/env.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import type { StreamMeter } from "./meter.ts";

/** One try of a second: what is not taken by then must not delay the others, and is sent again by the next pass. */
function requestHandler() {
  const postMs = limits.stream.post_ms * env.budgetFactor;
  return { ...limits.calls.handler, connectionTimeout: postMs, requestTimeout: postMs };
}

let client: ApiGatewayManagementApiClient | undefined;

/** Made at the first call, since its address is that of the API of this stage. */
function connections(): ApiGatewayManagementApiClient {
  client ??= bounded(
    new ApiGatewayManagementApiClient({
      endpoint: env.streamEndpoint,
      maxAttempts: 1,
      requestHandler: requestHandler(),
    }),
  );
  return client;
}

/** Result of a message: the connection took it, there is no such connection, or it was not taken in time. */
export type Posted = "sent" | "gone" | "slow";

/** A connection, who holds it, and what counts its messages. */
export interface Recipient {
  readonly connection_id: string;
  readonly holder_id: string;
  readonly meter: StreamMeter;
}

/** Sends a text to a connection, once and within a second. A message that was not taken may still arrive. */
export async function postTo({ connection_id, holder_id, meter }: Recipient, text: string): Promise<Posted> {
  try {
    await connections().send(new PostToConnectionCommand({ ConnectionId: connection_id, Data: text }));
    meter.countSent(holder_id, Buffer.byteLength(text));
    return "sent";
  } catch (error) {
    const { $metadata: { httpStatusCode: status } = {} } = error as {
      readonly $metadata?: { readonly httpStatusCode?: number };
    };
    if (status === 410) return "gone";
    // A message that is too large or not allowed stays so: it is a fault of this service, which an alarm must see.
    if (status === 403 || status === 413) {
      log.error("A message could not be sent to a connection.", causeOf(error));
      countMetric("StreamPostFailed");
    }
    return "slow";
  }
}

/** Closes a connection; one that is gone, or that cannot be closed now, is none: API Gateway closes it later. */
export async function closeConnection(connectionId: string): Promise<void> {
  try {
    await connections().send(new DeleteConnectionCommand({ ConnectionId: connectionId }));
  } catch (error) {
    const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
    if (status !== 410) log.warn("A connection could not be closed.", causeOf(error));
  }
}
