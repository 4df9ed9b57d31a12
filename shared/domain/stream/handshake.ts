import type { Scope } from "../../schema/scope.ts";
import { channelScopes } from "./subscription.ts";

/** The subprotocol of the stream, which a client may ask for (RFC 6455 1.9). */
export const streamProtocol = "brokerage.v2+json";

/** Credential in a handshake. */
export type Credential =
  | { readonly type: "bearer" }
  | { readonly type: "ticket"; readonly ticket: string }
  | { readonly type: "none" };

/** A ticket: its prefix and a random word. */
const ticketPattern = /^stk_[A-Za-z0-9]{43}$/;

/**
 * The one credential of a handshake: a token in the header, or a ticket in the query. Addresses are logged and kept by
 * machines on the way, so the query takes nothing but one ticket, and never a token.
 */
export function credentialOf(
  authorization: readonly string[],
  query: Readonly<Record<string, readonly string[] | undefined>>,
): Credential {
  const parameters = Object.entries(query);
  if (parameters.length === 0) return { type: authorization.length === 1 ? "bearer" : "none" };
  const [[name, values = []] = [""], ...others] = parameters;
  const [ticket = "", ...more] = values;
  const isAlone = others.length === 0 && more.length === 0 && authorization.length === 0;
  return name === "ticket" && isAlone && ticketPattern.test(ticket) ? { type: "ticket", ticket } : { type: "none" };
}

/** Whether scopes allow any channel of the stream. */
export function allowsStream(scopes: readonly string[]): boolean {
  const needed: readonly Scope[] = Object.values(channelScopes);
  return needed.some((scope) => scopes.includes(scope));
}

/** Whether a client asks for our subprotocol: it is answered only then (RFC 6455 4.2.2). */
export function asksForProtocol(header: readonly string[]): boolean {
  return header.flatMap((value) => value.split(",")).some((value) => value.trim() === streamProtocol);
}
