import { text } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";

/** Identifiers of the endpoints that a stored event is due to: `whe_1:0,whe_2:3`, each with its epoch. */
export function endpointIdsOf(item: RawItem): string[] {
  if (item["endpoints"] === undefined) return [];
  return text(item, "endpoints")
    .split(",")
    .map((each) => each.split(":")[0] ?? "");
}
