import { outboxDictionary } from "../packed/outbox-dictionary.ts";
import { unpackText } from "../packed/text.ts";
import { outboxPartType, outboxType } from "../table-shape.ts";
import { type Outbox, type OutboxPart, outboxes, outboxParts, readTrace } from "./events.ts";
import type { Entity, Key } from "./keys.ts";

type Stored = Readonly<Record<string, unknown>>;

/** Outbox items as the publisher reads them, in either schema version. */
export const waitingOutboxes = {
  et: outboxType,
  keyOf: (item: Outbox): Key => outboxes.keyOf(item),
  fromStored: (stored: Stored): Partial<Outbox> & Stored => {
    const trace = readTrace(stored);
    const { pk, sk, due_sk, events: packed, created_at } = stored;
    if (!(packed instanceof Uint8Array)) {
      if (!isTexts(packed)) throw new Error("its events are damaged");
      return trace;
    }
    const root_id = String(pk).slice(String(pk).indexOf("#") + 1);
    const [audit, ...texts] = linesIn(packed, [root_id, created_at]);
    return {
      ...trace,
      ...(audit === "" ? {} : { audit }),
      id: String(sk).replace("OUTBOX#", "obx_"),
      root_id,
      wake_at: String(due_sk).slice(0, String(due_sk).indexOf("|")),
      events: texts,
    };
  },
} satisfies Entity<Outbox> & Stored;

/** Parts of outbox items as the publisher reads them. */
export const waitingOutboxParts = {
  et: outboxPartType,
  keyOf: (part: OutboxPart): Key => outboxParts.keyOf(part),
  fromStored: ({ events: packed, root_id }: Stored) =>
    packed instanceof Uint8Array ? { events: linesIn(packed, [root_id]) } : {},
} satisfies Entity<OutboxPart> & Stored;

function isTexts(events: unknown): boolean {
  return Array.isArray(events) && events.every((text) => typeof text === "string");
}

/** The lines of a packed text. JSON has no line break, so a line holds one whole. */
function linesIn(packed: Uint8Array, known: readonly unknown[]): readonly string[] {
  return unpackText(packed, [outboxDictionary, ...known])
    .toString()
    .split("\n");
}
