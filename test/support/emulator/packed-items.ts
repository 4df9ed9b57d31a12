import { inflateRawSync } from "node:zlib";
import { payloadDictionary } from "../../../shared/table/packed/dictionary.ts";
import { outboxDictionary } from "../../../shared/table/packed/outbox-dictionary.ts";
import type { RawItem, RawValue } from "./raw-table.ts";

/**
 * An item with the texts that are stored in it deflated, so that a search for a word finds it in them: the JSON of an
 * event in `payload`, the events of an outbox item and its parts in `events`, and what the audit keeps in `audit`. An
 * item of schema version 1 holds these texts as they are.
 */
export function unpacked(item: RawItem): RawItem {
  switch (item["et"]) {
    case "EVENT": {
      const own = ["id", "created_at", "resource_id", "account_id", "client_id"].map((name) => item[name]);
      const [payload] = linesOf(item["payload"], payloadDictionary, own);
      return payload === undefined ? item : { ...item, payload };
    }
    case "OUTBOX": {
      const [audit, ...events] = linesOf(item["events"], outboxDictionary, [rootOf(item), item["created_at"]]);
      return audit === undefined ? item : { ...item, events, ...(audit === "" ? {} : { audit }) };
    }
    case "OUTBOXPART": {
      const events = linesOf(item["events"], outboxDictionary, [rootOf(item)]);
      return events.length === 0 ? item : { ...item, events };
    }
    default:
      return item;
  }
}

const rootOf = (item: RawItem) => String(item["pk"]).split("#")[1];

/** Lines that are deflated with a dictionary, which a comma and what the item says follow, nothing for null. */
function linesOf(value: RawValue | undefined, words: string, own: readonly unknown[]): string[] {
  if (typeof value !== "object" || value === null || !("bytes" in value)) return [];
  const dictionary = Buffer.from([words, ...own].join());
  return inflateRawSync(Buffer.from(value.bytes, "base64"), { dictionary }).toString().split("\n");
}
