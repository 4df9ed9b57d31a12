import {
  DeleteCommand,
  type DeleteCommandInput,
  PutCommand,
  UpdateCommand,
  type UpdateCommandInput,
  type UpdateCommandOutput,
} from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import type { Entity, Key } from "./entities.ts";
import { type Condition, type ItemChange, isNew } from "./expression.ts";
import { readItem, readRawItem, table } from "./table.ts";
import { backoffMs } from "./transact.ts";
import { changeMember, deleteMember, putMember, updateItem } from "./write.ts";

/**
 * Behaviour of a change that meets a transaction on the same item, which means that nothing was written: it fails, is
 * sent again for a while, or counts as one whose condition failed.
 */
export type OnConflict = "fail" | "again" | "refused";

/** Result of a change: the item after it or, where a condition failed, as it is stored now; undefined when gone. */
export type Changed<T> = { readonly ok: true; readonly item: T } | { readonly ok: false; readonly item: T | undefined };

/** Puts an item, in the place of one that is there unless a condition says otherwise; false when one failed. */
export async function putItem<T extends object>(
  entity: Entity<T>,
  item: T,
  when?: readonly Condition[],
): Promise<boolean> {
  return unlessRefused(() => table.send(new PutCommand(putMember(entity, item, when).Put)));
}

/** Puts an item that is put once; returns the one that was there already, undefined when this call put it. */
export async function putOnce<T extends object>(entity: Entity<T>, item: T): Promise<T | undefined> {
  const { Put: put } = putMember(entity, item, [isNew]);
  try {
    await table.send(new PutCommand({ ...put, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }));
    return undefined;
  } catch (error) {
    const stored = storedInstead(error);
    if (stored === undefined) throw error;
    return readRawItem<T>(stored);
  }
}

/** Changes one item; false when a condition failed. */
export function changeItem(key: Key, change: ItemChange, onConflict?: OnConflict): Promise<boolean> {
  const { Update: update } = changeMember(key, change);
  return unlessRefused(() => sendUpdate(update, onConflict), onConflict);
}

/**
 * Changes one item; false when a condition failed. Where the SDK has sent the call again, `isDone` tells by what is
 * stored whether an earlier try was carried out and its answer lost: then the condition failed on its own change.
 */
export async function changeOnce<T>(key: Key, change: ItemChange, isDone: (stored: T) => boolean): Promise<boolean> {
  const { Update: update } = changeMember(key, change);
  try {
    await sendUpdate({ ...update, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
    return true;
  } catch (error) {
    const stored = storedInstead(error);
    const tries = (error as { $metadata?: { attempts?: number } }).$metadata?.attempts ?? 1;
    return stored !== undefined && tries > 1 && isDone(readRawItem<T>(stored));
  }
}

/** Changes one item and returns it, see {@link Changed}. */
export async function changeAndRead<T>(key: Key, change: ItemChange, onConflict?: OnConflict): Promise<Changed<T>> {
  const { Update: update } = changeMember(key, change);
  const values = { ReturnValues: "ALL_NEW", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
  try {
    const { Attributes: attributes = {} } = await sendUpdate({ ...update, ...values }, onConflict);
    return { ok: true, item: readItem<T>(attributes) };
  } catch (error) {
    const stored = storedInstead(error);
    return { ok: false, item: stored && readRawItem<T>(stored) };
  }
}

/** Moves an item from one version to the next; false when it has another one by now. */
export function changeVersion<T extends object & { readonly version: number }>(
  entity: Entity<T>,
  before: T,
  after: T,
  onConflict?: OnConflict,
): Promise<boolean> {
  return unlessRefused(() => sendUpdate(updateItem(entity, before, after).Update, onConflict), onConflict);
}

/** Deletes an item if there is one; false when a condition failed. */
export function deleteItem(key: Key, when?: readonly Condition[]): Promise<boolean> {
  return unlessRefused(() => table.send(new DeleteCommand(deleteMember(key, when).Delete)));
}

/** Deletes an item; false when there was none. */
export async function deleteStored(key: Key): Promise<boolean> {
  return (await takeStored(key)) !== undefined;
}

/** Deletes an item and returns it: of several callers one gets it. Undefined when there was none. */
export async function takeStored<T>(key: Key): Promise<T | undefined> {
  const input: DeleteCommandInput = { ...deleteMember(key).Delete, ReturnValues: "ALL_OLD" };
  const { Attributes: deleted } = await table.send(new DeleteCommand(input));
  return deleted && readItem<T>(deleted);
}

async function sendUpdate(update: UpdateCommandInput, onConflict: OnConflict = "fail"): Promise<UpdateCommandOutput> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await table.send(new UpdateCommand(update));
    } catch (error) {
      const again = onConflict === "again" && attempt < limits.commit.update_tries;
      if (!again || nameOf(error) !== "TransactionConflictException") throw error;
      await pause(backoffMs(attempt));
    }
  }
}

async function unlessRefused(send: () => Promise<unknown>, onConflict?: OnConflict): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    const name = nameOf(error);
    if (name === "ConditionalCheckFailedException") return false;
    if (name === "TransactionConflictException" && onConflict === "refused") return false;
    throw error;
  }
}

/** The stored item where a condition failed; undefined when there is none. Any other error goes on. */
function storedInstead(error: unknown): Record<string, unknown> | undefined {
  if (nameOf(error) !== "ConditionalCheckFailedException") throw error;
  return (error as { Item?: Record<string, unknown> }).Item;
}

function nameOf(error: unknown): string | undefined {
  return (error as { name?: string }).name;
}
