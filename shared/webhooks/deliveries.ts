import {
  PutCommand,
  type PutCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
  type UpdateCommandOutput,
} from "@aws-sdk/lib-dynamodb";
import type { Attempt, Delivery } from "../domain/delivery.ts";
import { crashOf, type Outcome } from "../domain/delivery-attempt.ts";
import { closingAfter, slotsOf } from "../domain/delivery-lane.ts";
import { inForce, type Probe, type SampleEvent, type WebhookEndpoint, type WebhookHealth } from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs, pause } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { chance } from "../runtime/ids.ts";
import type { DeliveryMessage } from "../runtime/queues.ts";
import {
  attempts,
  deliveries,
  type Entity,
  eventKeyOf,
  type PublishedEvent,
  webhookHealths,
  webhooks,
} from "../table/entities.ts";
import { backoffMs, readKeys } from "../table/store.ts";
import { readItem, readRawItem, table } from "../table/table.ts";
import { indexes } from "../table/table-shape.ts";
import { putNew, updateItem } from "../table/write.ts";

/** Everything that an attempt needs to know; what is gone is undefined. */
export interface DeliveryState {
  readonly delivery: Delivery | undefined;
  /** As it stands, see {@link inForce}. */
  readonly endpoint: WebhookEndpoint | undefined;
  readonly health: WebhookHealth | undefined;
  readonly event: PublishedEvent | SampleEvent | undefined;
}

/** Reads what the messages are about, strongly consistent, in two rounds for all of them together. */
export async function loadDeliveries(messages: readonly DeliveryMessage[]): Promise<DeliveryState[]> {
  const keys = messages.map(({ tenant_id, delivery_id }) => deliveries.key(tenant_id, delivery_id));
  const found = (await readKeys(keys)) as (Delivery | undefined)[];
  const around = found.flatMap((delivery) => {
    if (delivery === undefined) return [];
    const { tenant_id, endpoint_id } = delivery;
    return [webhooks.key(tenant_id, endpoint_id), webhookHealths.key(tenant_id, endpoint_id), eventKeyOf(delivery)];
  });
  const items = await readKeys(around);
  let at = 0;
  return found.map((delivery) => {
    if (delivery === undefined) return { delivery, endpoint: undefined, health: undefined, event: undefined };
    const [endpoint, health, event] = items.slice(at, at + 3);
    at += 3;
    return standing({ delivery, endpoint, health, event } as DeliveryState);
  });
}

function standing(state: DeliveryState): DeliveryState {
  return { ...state, endpoint: state.endpoint && inForce(state.endpoint, state.health) };
}

/** A place among the attempts of an endpoint that run at the same time. It ends by itself when its lease does. */
export interface Slot {
  readonly health: WebhookHealth;
  readonly delivery_id: string;
  readonly lease_until: string;
}

/**
 * Takes a slot of the endpoint, and clears away those whose lease has ended. Undefined when all are taken, when this
 * delivery has one already, or when the endpoint is gone.
 */
export async function takeSlot(
  health: WebhookHealth,
  deliveryId: string,
  now: string,
  leaseUntil: string,
): Promise<Slot | undefined> {
  let current: WebhookHealth | undefined = health;
  // The item of an endpoint at work changes often: what a failed condition brings along is the newest.
  for (let tried = 0; current !== undefined && tried < limits.webhooks.slots_per_endpoint; tried += 1) {
    const most = slotsOf(current, Date.parse(now), delayMs);
    if (!hasRoom(current, most, deliveryId, now)) return undefined;
    const done = await updateHealth(current, slotTaking(current.slots, most, deliveryId, now, leaseUntil));
    if (done.ok) return { health: done.health, delivery_id: deliveryId, lease_until: leaseUntil };
    current = done.health;
  }
  return undefined;
}

function hasRoom({ slots }: WebhookHealth, most: number, deliveryId: string, now: string): boolean {
  const live = Object.entries(slots).filter(([, until]) => until > now);
  return live.length < most && live.every(([id]) => id !== deliveryId);
}

/** Expected to be over by now: each is compared, so two workers never clear or take one twice. */
function slotTaking(
  slots: WebhookHealth["slots"],
  most: number,
  deliveryId: string,
  now: string,
  leaseUntil: string,
): HealthChange {
  const over = Object.keys(slots).filter((id) => (slots[id] ?? "") <= now && id !== deliveryId);
  const own = slots[deliveryId] === undefined ? 0 : 1;
  const names = Object.fromEntries(over.map((id, index) => [`#over${index}`, id]));
  const removed = Object.keys(names).map((name) => `slots.${name}`);
  return {
    update: `SET slots.#own = :until${removed.length > 0 ? ` REMOVE ${removed.join(", ")}` : ""}`,
    conditions: [
      "size(slots) <= :room",
      own === 0 ? "attribute_not_exists(slots.#own)" : "slots.#own <= :now",
      ...removed.map((path) => `${path} <= :now`),
    ],
    names: { "#own": deliveryId, ...names },
    values: {
      ":until": leaseUntil,
      ":room": most - 1 + own + over.length,
      ...(own + over.length > 0 ? { ":now": now } : {}),
    },
  };
}

/**
 * Notes that a delivery is the probe of its endpoint. When another worker has changed that meanwhile, what it made of
 * the health is returned, undefined when the endpoint is gone.
 */
export function noteProbe(health: WebhookHealth, probe: Probe): Promise<HealthOutcome> {
  return updateHealth(health, {
    update: "SET probe = :probe",
    conditions: [sameAs("probe", health.probe)],
    names: {},
    values: { ":probe": probe, ":seen_probe": health.probe ?? null },
  });
}

/**
 * Notes that deliveries rest of an endpoint that was not closed, as a closing that is over: its next success wakes
 * them. Where another worker has noted a closing meanwhile, that says the same.
 */
export async function noteResting(health: WebhookHealth, at: string): Promise<void> {
  if (health.closed_until) return;
  await updateHealth(health, {
    update: "SET closed_until = :at",
    conditions: [sameAs("closed_until", null)],
    names: {},
    values: { ":at": at, ":seen_closed_until": null },
  });
}

/** Condition that a member, which older items lack, still is what was read: the value `:seen_<member>`. */
function sameAs(member: "probe" | "closed_until" | "proven_at", seen: unknown): string {
  const same = `${member} = :seen_${member}`;
  return seen ? same : `(attribute_not_exists(${member}) OR ${same})`;
}

/** What an attempt says about its endpoint; one that the service itself broke off says nothing. */
export type Verdict = "accepted" | "failed" | "unanswered" | "nothing";

/**
 * Gives a slot back and counts how the attempt went, in one write. Returns the endpoint's health after it, undefined
 * when the endpoint is gone. A slot that somebody cleared away meanwhile is left alone.
 */
export async function giveSlot(slot: Slot, verdict: Verdict, at: string): Promise<WebhookHealth | undefined> {
  let current: WebhookHealth | undefined = slot.health;
  let held = true;
  for (let tried = 0; current !== undefined && tried < limits.commit.conflict_tries; tried += 1) {
    const change = slotGiving(slot, held, countings[verdict](current, at));
    if (change === undefined) return current;
    const done = await updateHealth(current, change);
    if (done.ok) return done.health;
    current = done.health;
    held = current?.slots[slot.delivery_id] === slot.lease_until;
  }
  if (current !== undefined) throw new Error("The health of an endpoint is too contended.");
  return undefined;
}

function slotGiving({ delivery_id, lease_until }: Slot, held: boolean, counted: Counted): HealthChange | undefined {
  if (!held && counted.set.length === 0) return undefined;
  const set = counted.set.length > 0 ? `SET ${counted.set.join(", ")}` : "";
  return {
    update: `${set}${held ? " REMOVE slots.#own" : ""}`.trim(),
    conditions: [...counted.conditions, ...(held ? ["slots.#own = :until"] : [])],
    names: held ? { "#own": delivery_id } : {},
    values: { ...counted.values, ...(held ? { ":until": lease_until } : {}) },
  };
}

/** What a verdict changes beside the slot. */
interface Counted extends Pick<HealthChange, "conditions" | "values"> {
  readonly set: readonly string[];
}

const countings: Readonly<Record<Verdict, (health: WebhookHealth, at: string) => Counted>> = {
  nothing: () => ({ set: [], conditions: [], values: {} }),
  accepted: (health, at) => {
    const reopened = reopening(health, at);
    return {
      set: [
        "consecutive_failures = :zero, first_failure_at = :none, last_success_at = :at, proven_at = :at",
        "timeouts_in_a_row = :zero, closed_until = :none, probe = :none",
        ...reopened.set,
      ],
      conditions: [sameAs("closed_until", health.closed_until)],
      values: {
        ":zero": 0,
        ":none": null,
        ":at": at,
        ":seen_closed_until": health.closed_until ?? null,
        ...reopened.values,
      },
    };
  },
  failed,
  unanswered: (health, at) => {
    const closing = closingAfter(health, { nowMs: Date.parse(at), delayMs, chance: chance() });
    const counted = failed(health, at);
    if (closing === undefined) return counted;
    if ("proven_at" in closing) {
      const conditions = [...counted.conditions, sameAs("proven_at", health.proven_at)];
      const values = { ...counted.values, ":seen_proven_at": health.proven_at ?? null };
      return { set: [...counted.set, "proven_at = :none"], conditions, values };
    }
    return {
      set: [...counted.set, "timeouts_in_a_row = :timeouts, closed_until = :closed_until"],
      conditions: [...counted.conditions, sameAs("closed_until", health.closed_until)],
      values: {
        ...counted.values,
        ":timeouts": closing.timeouts_in_a_row,
        ":closed_until": closing.closed_until,
        ":seen_closed_until": health.closed_until ?? null,
      },
    };
  },
};

/** The attempt of the probe is over: another delivery may be the next one. */
function failed({ consecutive_failures: failures }: WebhookHealth, at: string): Counted {
  return {
    set: [
      failures > 0
        ? "consecutive_failures = consecutive_failures + :one, last_failure_at = :at, probe = :none"
        : "consecutive_failures = :one, first_failure_at = :at, last_failure_at = :at, probe = :none",
    ],
    // The first failure after a success is told apart by the counter, which any of them may have moved.
    conditions: [failures > 0 ? "consecutive_failures > :zero" : "consecutive_failures = :zero"],
    values: { ":zero": 0, ":one": 1, ":at": at, ":none": null },
  };
}

/** Of an endpoint that was closed deliveries rest: the sweep finds it and wakes them, after any other note about it. */
function reopening(health: WebhookHealth, at: string): Pick<Counted, "set" | "values"> {
  if (!health.closed_until) return { set: [], values: {} };
  const { due_pk, due_sk } = webhookHealths.indexesOf({ ...health, wake_at: at });
  const { partition, sort } = indexes.due;
  return {
    set: [`reopened_at = :at, wake_at = :at, ${partition} = :due_pk, ${sort} = :due_sk`],
    values: { ":due_pk": due_pk, ":due_sk": due_sk },
  };
}

/** An update of an endpoint's health, in the terms of an update expression. */
export interface HealthChange {
  readonly update: string;
  readonly conditions: readonly string[];
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, unknown>>;
}

/** What came of an update of an endpoint's health. */
export type HealthOutcome =
  | { readonly ok: true; readonly health: WebhookHealth }
  /** The condition failed; what is stored now, undefined when the endpoint is gone. */
  | { readonly ok: false; readonly health: WebhookHealth | undefined };

/** Changes an endpoint's health, unless a condition fails or it is gone. */
export async function updateHealth(health: WebhookHealth, change: HealthChange): Promise<HealthOutcome> {
  const { update, conditions, names, values } = change;
  try {
    const { Attributes: attributes = {} } = await pastTransactions({
      TableName: env.tableName,
      Key: webhookHealths.keyOf(health),
      UpdateExpression: update,
      ConditionExpression: ["attribute_exists(pk)", ...conditions].join(" AND "),
      ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: { ...names } }),
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: { ...values } }),
      ReturnValues: "ALL_NEW",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    return { ok: true, health: readItem<WebhookHealth>(attributes) };
  } catch (error) {
    const item = failedOn(error);
    return { ok: false, health: item === null ? undefined : readRawItem<WebhookHealth>(item) };
  }
}

/**
 * Sends an update, again as long as it meets a transaction on the same item, such as a person's retry or the removal of
 * the endpoint: nothing was written then, and without its outcome an attempt would be made twice.
 */
async function pastTransactions(update: UpdateCommandInput): Promise<UpdateCommandOutput> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await table.send(new UpdateCommand(update));
    } catch (error) {
      const { name } = error as { name?: string };
      if (name !== "TransactionConflictException" || attempt === limits.webhooks.conflict_tries) throw error;
      await pause(backoffMs(attempt));
    }
  }
}

/** The item that a condition failed on, null when there is none. Any other error goes on. */
function failedOn(error: unknown): Record<string, unknown> | null {
  const { name, Item: item } = error as { name?: string; Item?: Record<string, unknown> };
  if (name !== "ConditionalCheckFailedException") throw error;
  return item ?? null;
}

/** Moves a delivery from one state to the next; false when somebody else has moved it. */
export function moveDelivery(before: Delivery, after: Delivery): Promise<boolean> {
  return moveOn(deliveries, before, after);
}

/** Moves an item from one version to the next; false when somebody else has moved it. */
export async function moveOn<T extends object & { readonly version: number }>(
  entity: Entity<T>,
  before: T,
  after: T,
): Promise<boolean> {
  try {
    await pastTransactions(updateItem(entity, before, after).Update as UpdateCommandInput);
    return true;
  } catch (error) {
    failedOn(error);
    return false;
  }
}

/**
 * Writes the entry of one claim of an attempt, once and for ever. Returns undefined, or the entry that was there: then
 * its worker died after it had written it.
 */
export async function putAttempt(attempt: Attempt): Promise<Attempt | undefined> {
  const put = { ...putNew(attempts, attempt).Put, ReturnValuesOnConditionCheckFailure: "ALL_OLD" };
  try {
    await table.send(new PutCommand(put as PutCommandInput));
    return undefined;
  } catch (error) {
    const item = failedOn(error);
    return item === null ? undefined : readRawItem<Attempt>(item);
  }
}

/** The entry of an attempt as it is stored. */
export function entryOf(delivery: Delivery, entry: Outcome & Pick<Attempt, "claim" | "response_excerpt">): Attempt {
  return {
    tenant_id: delivery.tenant_id,
    delivery_id: delivery.id,
    ...entry,
    expires_at: Math.floor(nowMs() / 1000) + limits.webhooks.delivery_kept_seconds,
  };
}

/**
 * Writes the entry of the claim that a delivery holds and whose worker died. Returns it, and the entry that was there
 * already, if one was.
 */
export async function putCrash(
  delivery: Delivery,
): Promise<{ readonly crash: Attempt; readonly found: Attempt | undefined }> {
  const crash = entryOf(delivery, crashOf(delivery));
  return { crash, found: await putAttempt(crash) };
}

/**
 * Lets the sweep look for a delivery later than it would have. Its version stays: nothing about the delivery changes,
 * and a worker that claims it at this moment must not fail.
 */
export function postpone(delivery: Delivery, wakeAt: string): Promise<void> {
  return wakeLater(delivery, wakeAt, "");
}

/** The same for a delivery whose endpoint is closed: a success at the endpoint wakes it earlier. */
export function letRest(delivery: Delivery, wakeAt: string): Promise<void> {
  return wakeLater(delivery, wakeAt, ", resting = :resting");
}

async function wakeLater(delivery: Delivery, wakeAt: string, more: string): Promise<void> {
  const { due_pk, due_sk } = deliveries.indexesOf({ ...delivery, wake_at: wakeAt });
  try {
    await table.send(
      new UpdateCommand({
        TableName: env.tableName,
        Key: deliveries.keyOf(delivery),
        UpdateExpression: `SET wake_at = :wake, due_pk = :pk, due_sk = :sk${more}`,
        ConditionExpression: "wake_at = :before AND attempt = :attempt",
        ExpressionAttributeValues: {
          ":wake": wakeAt,
          ":pk": due_pk,
          ":sk": due_sk,
          ":before": delivery.wake_at,
          ":attempt": delivery.attempt,
          ...(more === "" ? {} : { ":resting": true }),
        },
      }),
    );
  } catch (error) {
    failedOn(error);
  }
}
