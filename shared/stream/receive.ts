import type { StreamConnection } from "../domain/stream/connection.ts";
import { messageVerdict } from "../domain/stream/message-rate.ts";
import { closingMessage, errorMessage, helloMessage } from "../domain/stream/replies.ts";
import { limits } from "../limits.ts";
import { withinBudget } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import type { ClientMessageBody } from "../schema/stream/client-messages.ts";
import type { ClosingCode } from "../schema/stream/server-messages.ts";
import { streamConnections } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeAndRead, changeItem } from "../table/items.ts";
import { lastSequence } from "../table/sequences.ts";
import { bytesOf, parseMessage, type ReceivedMessage } from "./client-messages.ts";
import { closeConnection, postTo, type Recipient } from "./connections.ts";
import { type ConnectionPlace, leaveStream } from "./membership.ts";
import { StreamMeter } from "./meter.ts";
import type { HeldPlace } from "./socket-event.ts";
import { announceSubscription, endSubscription, storeSubscription } from "./subscriptions.ts";

/** Where a connection is, and what counts its messages. */
type MeteredPlace = ConnectionPlace & Recipient;

/**
 * Answers one message of a client. Whatever it holds, the client gets an answer or, above the limit for a while, the
 * end of the connection; one that sends on after its end gets nothing.
 */
export async function receiveMessage(from: HeldPlace, received: ReceivedMessage): Promise<void> {
  const meter = new StreamMeter(from.tenant_id);
  meter.countReceived(from.holder_id, bytesOf(received));
  const place = { ...from, meter };
  let id: string | undefined;
  try {
    await withinBudget(limits.request.write_budget_ms * env.budgetFactor, () =>
      receive(place, received, (named) => {
        id = named;
      }),
    );
  } catch (error) {
    log.error("A message of a stream client could not be processed.", { ...from, ...causeOf(error) });
    const code = isUnavailable(error) ? "service_unavailable" : "internal_error";
    await reply(place, errorMessage({ code, detail: "The message could not be answered. Send it again." }, id));
  } finally {
    meter.write();
  }
}

async function receive(
  place: MeteredPlace,
  received: ReceivedMessage,
  noteId: (id: string | undefined) => void,
): Promise<void> {
  const connection = await countMessage(place);
  if (connection === undefined) return endConnection(place, "going_away");
  const verdict = messageVerdict(connection);
  if (verdict === "ignore") return;
  if (verdict === "end") return endConnection(place, "too_many_messages");
  if (connection.hello_sent === undefined && !(await greet(place, connection))) return;
  const parsed = parseMessage(received);
  const id = parsed.ok ? parsed.message.id : parsed.id;
  noteId(id);
  if (verdict === "refuse") {
    const detail = "The connection has sent too many messages in this second.";
    return reply(place, errorMessage({ code: "rate_limit_exceeded", detail }, id));
  }
  return parsed.ok ? answer(place, connection, parsed.message) : reply(place, errorMessage(parsed.refusal, id));
}

async function answer(place: MeteredPlace, connection: StreamConnection, message: ClientMessageBody): Promise<void> {
  const { type, id } = message;
  if (type === "ping") return reply(place, { type: "pong", ...(id === undefined ? {} : { id }) });
  const stored =
    type === "subscribe" ? await storeSubscription(connection, message) : await endSubscription(connection, message.id);
  if (!stored.ok) return reply(place, errorMessage(stored.refusal, id));
  // The worker learns of a subscription after the client does, so that nothing comes before this answer.
  await reply(place, { type: type === "subscribe" ? "subscribed" : "unsubscribed", id });
  await announceSubscription(connection, type === "subscribe" ? message.channels : undefined);
}

/**
 * Counts a message in its clock second and returns the connection, in one write or, from the second message of a second
 * on, in two. Undefined when there is no such connection.
 */
async function countMessage({ tenant_id, connection_id }: ConnectionPlace): Promise<StreamConnection | undefined> {
  const key = streamConnections.key(tenant_id, connection_id);
  const second = Math.floor(nowMs() / 1000);
  const first = await changeAndRead<StreamConnection>(key, {
    set: { rate_second: second, rate_count: 1 },
    when: [isStored, { attribute: "rate_second", is: "below", value: second }],
  });
  if (first.ok || first.item === undefined) return first.item;
  const next = await changeAndRead<StreamConnection>(key, { add: { rate_count: 1 }, when: [isStored] });
  return next.ok ? next.item : undefined;
}

/** Sends the first message of a connection, which comes before every other; false when the connection is gone. */
async function greet(place: MeteredPlace, connection: StreamConnection): Promise<boolean> {
  const head = await lastSequence(connection.tenant_id);
  if (!(await sent(place, helloMessage(connection, head)))) return false;
  await changeItem(streamConnections.keyOf(connection), { set: { hello_sent: true }, when: [isStored] });
  return true;
}

async function reply(place: MeteredPlace, message: object): Promise<void> {
  await sent(place, message);
}

/**
 * Sends an answer, again while it is not taken, so that it may arrive twice. A connection that takes none is ended:
 * its client would wait for it in vain.
 */
async function sent(place: MeteredPlace, message: object): Promise<boolean> {
  for (let tries = 0; tries < limits.stream.answer_tries; tries += 1) {
    const posted = await postTo(place, JSON.stringify(message));
    if (posted === "sent") return true;
    if (posted === "gone") {
      await leaveStream(place);
      return false;
    }
  }
  await endConnection(place, "too_slow");
  return false;
}

/** Says why a connection ends, and ends it. */
export async function endConnection(place: MeteredPlace, code: ClosingCode): Promise<void> {
  await postTo(place, JSON.stringify(closingMessage(code)));
  await closeConnection(place.connection_id);
  await leaveStream(place);
}
