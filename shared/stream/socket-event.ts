import type { HeaderHolder } from "../http/body.ts";
import { callerOf } from "../http/caller.ts";
import type { ConnectionPlace } from "./membership.ts";

/** Event of API Gateway for a handshake, a message or the end of a connection. */
export interface SocketEvent extends Partial<HeaderHolder> {
  readonly body?: string | null;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly connectionId: string;
    /** It decides, not the route: a message chooses its route by what stands in it. */
    readonly eventType?: "CONNECT" | "MESSAGE" | "DISCONNECT";
    /** Answer of the authorizer at the handshake; the gateway keeps it as long as the connection. */
    readonly authorizer?: unknown;
  };
}

/** Where a connection is, and the application or operator that holds it. */
export interface HeldPlace extends ConnectionPlace {
  readonly holder_id: string;
}

/**
 * Whether a client has sent this. API Gateway compares `type` of a message with the keys of all routes (AWS docs: route
 * selection expressions), so a client could name that of the handshake or of the end.
 */
export function isMessage({ requestContext }: SocketEvent): boolean {
  return requestContext.eventType === "MESSAGE";
}

/**
 * The connection of an event, in the brokerage of who opened it.
 * @throws HttpProblem `unauthenticated` when the event has passed no authorizer
 */
export function connectionOf(event: SocketEvent): HeldPlace {
  const { tenant_id, actor } = callerOf(event);
  return { tenant_id, connection_id: event.requestContext.connectionId, holder_id: actor.id };
}
