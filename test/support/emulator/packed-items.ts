import { inflateRawSync } from "node:zlib";
import { payloadDictionary } from "../../../shared/table/packed/dictionary.ts";
import { outboxDictionary } from "../../../shared/table/packed/outbox-dictionary.ts";
import type { RawItem, RawValue } from "./raw-table.ts";

/**
 * An item with the texts that are stored in it deflated, so that a search for a word finds it in them: the JSON of an
 * event in `payload`, the events of an outbox item and its parts in `events`, and what the audit keeps in `audit`.
 */
export function unpacked(item: RawItem): RawItem {
  switch (item["et"]) {
    case "EVENT": {
      const own = ["id", "created_at", "resource_id", "account_id", "client_id"].map((name) => item[name]);
      const [payload] = linesOf(item["payload"], [payloadDictionary, ...own].join());
      return payload === undefined ? item : { ...item, payload };
    }
    case "OUTBOX": {
      const [audit, ...events] = linesOf(item["events"], outboxDictionary);
      return audit === undefined ? item : { ...item, events, ...(audit === "" ? {} : { audit }) };
    }
    case "OUTBOXPART": {
      const events = linesOf(item["events"], outboxDictionary);
      return events.length === 0 ? item : { ...item, events };
    }
    default:
      return item;
  }
}

/** The lines of a text that is stored deflated, with what its item says of it. */
function linesOf(value: RawValue | undefined, known?: string): string[] {
  if (typeof value !== "object" || value === null || !("bytes" in value)) return [];
  const dictionary = known === undefined ? {} : { dictionary: Buffer.from(known) };
  return inflateRawSync(Buffer.from(value.bytes, "base64"), dictionary).toString().split("\n");
}
