import type { ClosingCode, ServerMessageBody } from "../../schema/stream/server-messages.ts";
import type { Refusal } from "../kernel/decision.ts";
import type { StreamConnection } from "./connection.ts";

type Hello = Extract<ServerMessageBody, { type: "hello" }>;
type ErrorReply = Extract<ServerMessageBody, { type: "error" }>;
type Closing = Extract<ServerMessageBody, { type: "closing" }>;

/** The first message of a connection. */
export function helloMessage(
  { connection_id, closes_at }: Pick<StreamConnection, "connection_id" | "closes_at">,
  headSequence: number,
): Hello {
  const expires_at = new Date(closes_at * 1000).toISOString();
  return { type: "hello", connection_id, head_sequence: String(headSequence), expires_at };
}

/** Why a message was refused; `id` is the client's own name of it, where it has one. */
export function errorMessage(
  { code, detail, errors }: Pick<Refusal, "code" | "detail" | "errors">,
  id: string | undefined,
): ErrorReply {
  return {
    type: "error",
    ...(id === undefined ? {} : { id }),
    ...{ code, detail },
    ...(errors === undefined ? {} : { errors: [...errors] }),
  };
}

const closingDetails: Readonly<Record<ClosingCode, string>> = {
  expired: "The connection has been open for two hours. Connect again and resume.",
  access_ended: "The application, operator or token has no access any more.",
  access_changed: "The scopes of the application or operator, or its client secret, have changed. Connect again.",
  too_slow: "Messages were not taken in time. Connect again and resume.",
  too_many_messages: "The connection sent too many messages.",
  going_away: "The service has ended the connection. Connect again and resume.",
};

/** The last message of a connection. */
export function closingMessage(code: ClosingCode): Closing {
  return { type: "closing", code, detail: closingDetails[code] };
}
