import { inflateRawSync } from "node:zlib";
import { payloadDictionary } from "../../../shared/table/event-payload-dictionary.ts";
import type { RawItem } from "./raw-table.ts";

/**
 * An item with the texts that are stored in it deflated, so that whoever looks for a word in what is stored finds it
 * there: the JSON of an event in `payload`, the events of an outbox item and its parts in `events`, and what the audit
 * keeps in `audit`. An item of schema version 1 holds these texts as they are.
 */
export function unpacked(item: RawItem): RawItem {
  switch (item["et"]) {
    case "EVENT": {
      const [payload] = linesOf(item, "payload", ["id", "created_at", "resource_id", "account_id", "client_id"]);
      return payload === undefined ? item : { ...item, payload };
    }
    case "OUTBOX": {
      const [audit, ...events] = linesOf(item, "events", ["root_id", "created_at"]);
      return audit === undefined ? item : { ...item, events, ...(audit === "" ? {} : { audit }) };
    }
    case "OUTBOXPART": {
      const events = linesOf(item, "events", ["root_id"]);
      return events.length === 0 ? item : { ...item, events };
    }
    default:
      return item;
  }
}

/** Lines that are deflated with the dictionary, which a comma and attributes of the item follow, nothing for null. */
function linesOf(item: RawItem, name: string, known: readonly string[]): string[] {
  const value = item[name];
  if (typeof value !== "object" || value === null || !("bytes" in value)) return [];
  const dictionary = Buffer.from([payloadDictionary, ...known.map((each) => item[each])].join());
  return inflateRawSync(Buffer.from(value.bytes, "base64"), { dictionary }).toString().split("\n");
}
