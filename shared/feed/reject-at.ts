import { tradingRef } from "../trading/items.ts";

/** A source and one of its rejects, by the parameters of a path. */
export function rejectAt({ id, seq }: { readonly id: string; readonly seq: string }) {
  const named = /^[1-9]\d{0,14}(?:\.[0-9a-f]{16})?$/.test(seq) ? seq : "none";
  return { source: tradingRef.feedSource(id), reject: tradingRef.feedReject(id, named) };
}
