import type { FieldError } from "../domain/kernel/decision.ts";
import type { StreamConnection, StreamSet } from "../domain/stream/connection.ts";
import {
  decideEnd,
  decideSubscription,
  refuseSubscription,
  type SubscriptionDecision,
} from "../domain/stream/subscribe.ts";
import { followsPrices } from "../domain/stream/subscription.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { StreamChannel, SubscribeBody } from "../schema/stream/client-messages.ts";
import { accounts, feedSources, type Key, streamConnections, streamSets, symbols } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeAndRead } from "../table/items.ts";
import { lastSequence } from "../table/sequences.ts";
import { readKeys } from "../table/store.ts";
import { notePrices } from "./flag.ts";
import { wakeSet } from "./wake.ts";

/** Adds a subscription to a connection, if it may have it. */
export async function storeSubscription(
  connection: StreamConnection,
  message: SubscribeBody,
): Promise<SubscriptionDecision> {
  // A refusal by the message alone costs no read.
  const refusal = refuseSubscription(connection, message, nowMs());
  if (refusal !== undefined) return { ok: false, refusal };
  const { tenant_id } = connection;
  const [head_sequence, missing] = await Promise.all([lastSequence(tenant_id), missingIn(tenant_id, message.channels)]);
  return change(connection, (current) =>
    decideSubscription(current, message, { head_sequence, missing, now_ms: nowMs() }),
  );
}

/** Removes a subscription of a connection. */
export function endSubscription(connection: StreamConnection, id: string): Promise<SubscriptionDecision> {
  return change(connection, (current) => decideEnd(current, id, nowMs()));
}

/**
 * Decides on the subscriptions of a connection and stores them. Messages of one connection are answered at the same
 * time, so what another one was faster with is decided on again.
 * @throws Unavailable when others were faster every time, or when the connection has ended
 */
async function change(
  connection: StreamConnection,
  decide: (current: StreamConnection) => SubscriptionDecision,
): Promise<SubscriptionDecision> {
  let current = connection;
  for (let tries = 0; tries < limits.stream.change_tries; tries += 1) {
    const decision = decide(current);
    if (!decision.ok) return decision;
    const { subscriptions, ended_names } = decision;
    const { revision } = current;
    if (subscriptions === current.subscriptions) return decision;
    const changed = await changeAndRead<StreamConnection>(streamConnections.keyOf(current), {
      set: { subscriptions, revision: revision + 1, ...(ended_names && { ended_names }) },
      when: isStill({ revision }),
    });
    if (changed.ok) return decision;
    if (changed.item === undefined) break;
    current = changed.item;
  }
  throw new Unavailable("The subscriptions of the connection could not be changed.");
}

/**
 * Tells the worker that the subscriptions of a connection have changed: a worker that looks at the set sees its
 * revision, another one is woken. When that fails the sweep wakes it within a minute, so the message is answered.
 */
export async function announceSubscription(
  { tenant_id, connection_id, set }: StreamConnection,
  added: readonly StreamChannel[] | undefined,
): Promise<void> {
  const member = `members.${connection_id}`;
  const changed = await changeAndRead<StreamSet>(streamSets.key(tenant_id, set), {
    add: { revision: 1 },
    when: [{ attribute: member, is: "present" }],
  });
  if (!changed.ok) return;
  if (added?.some(followsPrices)) await notePrices(changed.item);
  // The end of a subscription leaves nothing to send.
  if (added !== undefined) await wakeSet({ tenant_id, set }, "subscribed");
}

/** The accounts, symbols and sources of channels that a brokerage does not have; another one's are not there. */
async function missingIn(tenant: string, channels: readonly StreamChannel[]): Promise<FieldError[]> {
  const named = channels.flatMap((channel, at) => namedIn(tenant, channel, `#/channels/${at}`));
  const found = await readKeys(named.map(({ key }) => key));
  return named.flatMap(({ pointer, code }, at) =>
    found[at] === undefined ? [{ pointer, code, detail: "does not exist" }] : [],
  );
}

interface Named {
  readonly key: Key;
  readonly pointer: string;
  readonly code: string;
}

function namedIn(tenant: string, channel: StreamChannel, at: string): Named[] {
  const account = (id: string, pointer: string) => ({
    key: accounts.key(tenant, id),
    pointer,
    code: "account_not_found",
  });
  switch (channel.name) {
    case "events":
      return channel.account_id === undefined ? [] : [account(channel.account_id, `${at}/account_id`)];
    case "accounts":
      return channel.ids.map((id, index) => account(id, `${at}/ids/${index}`));
    case "margin":
      return [];
    case "quotes":
      return channel.symbols.map((symbol, index) => ({
        ...{ key: symbols.key(tenant, symbol), pointer: `${at}/symbols/${index}`, code: "symbol_not_found" },
      }));
    case "commands": {
      const key = feedSources.key(tenant, channel.source_id);
      return [{ key, pointer: `${at}/source_id`, code: "source_not_found" }];
    }
  }
}
