import { type FieldError, type Refusal, refuseFields } from "../domain/kernel/decision.ts";
import { readJson } from "../http/body.ts";
import { HttpProblem } from "../http/problem.ts";
import { checkedValue } from "../http/validate.ts";
import { limits } from "../limits.ts";
import { ClientMessage, type ClientMessageBody } from "../schema/stream/client-messages.ts";

/** A message as the gateway passes it. */
export interface ReceivedMessage {
  readonly body?: string | null;
  readonly isBase64Encoded: boolean;
}

/** A message that was understood, or why it was not; `id` is the client's own name of it, where it can be read. */
export type ParsedMessage =
  | { readonly ok: true; readonly message: ClientMessageBody }
  | { readonly ok: false; readonly id: string | undefined; readonly refusal: Refusal };

/** Bytes of a message. */
export function bytesOf({ body, isBase64Encoded }: ReceivedMessage): number {
  return Buffer.byteLength(body ?? "", isBase64Encoded ? "base64" : "utf8");
}

/** Reads a message of a client as strictly as the body of a request. */
export function parseMessage(received: ReceivedMessage): ParsedMessage {
  let value: unknown;
  try {
    value = JSON.parse(readJson(received, limits.stream.max_message_bytes).json);
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    const errors = error.details.errors as readonly FieldError[] | undefined;
    const { code, message: detail } = error;
    return { ok: false, id: undefined, refusal: { code, detail, ...(errors === undefined ? {} : { errors }) } };
  }
  const checked = checkedValue(ClientMessage, value, "#");
  if (checked.ok) return { ok: true, message: checked.value as ClientMessageBody };
  const { refusal } = refuseFields(checked.errors);
  return { ok: false, id: idIn(value as Readonly<Record<string, unknown>>), refusal };
}

function idIn({ id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof id === "string" && id.length <= limits.stream.max_id_characters ? id : undefined;
}
