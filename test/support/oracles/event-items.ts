import { text } from "../emulator/raw-items.ts";
import type { RawItem, RawValue } from "../emulator/raw-table.ts";

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Identifiers of the endpoints that a stored event is due to: 16 bytes of a ULID and three of an epoch for each. */
export function endpointIdsOf(item: RawItem): string[] {
  const stored = item["endpoints"];
  const bytes = bytesIn(stored);
  if (bytes === undefined) return ((stored ?? []) as readonly { map: RawItem }[]).map(({ map }) => text(map, "id"));
  const count = bytes.length / 19;
  if (!Number.isInteger(count)) throw new Error(`${bytes.length} bytes are no endpoints.`);
  return Array.from({ length: count }, (_, place) => {
    const bits = [...bytes.subarray(place * 19, place * 19 + 16)].map((byte) => byte.toString(2).padStart(8, "0"));
    const fives = `00${bits.join("")}`.match(/.{5}/g) ?? [];
    return `whe_${fives.map((five) => digits.charAt(Number.parseInt(five, 2))).join("")}`;
  });
}

function bytesIn(value: RawValue | undefined): Buffer | undefined {
  if (typeof value !== "object" || value === null || !("bytes" in value)) return undefined;
  return Buffer.from(value.bytes, "base64");
}
