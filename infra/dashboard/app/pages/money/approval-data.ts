import { useList } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useMay } from "../../session/caller.ts";

/** A transaction that waits for the person's approval, with the rule that applies. */
export type Waiting = Schemas["QueuedTransaction"];

/** The queue of the person's own approvals, oldest first, as the service decides it. */
export function useApprovals(filters: Readonly<Record<string, string | undefined>> = {}) {
  const may = useMay();
  const expand = may("clients:read") ? { expand: "client" } : {};
  return useList("/transactions/queue", { query: { limit: 100, ...expand } }, { filters });
}

/** Source or destination of a transaction, in words. */
export function counterpartyText({ source, destination, method, provider }: Schemas["Transaction"]): string {
  const place = destination ?? source;
  if (place?.iban) return `IBAN ${place.iban}`;
  if (place?.card_last4) return `Card ${place.card_last4}`;
  if (place?.wallet) return `Wallet ${place.wallet}`;
  return provider ?? (method === null ? "" : method.replaceAll("_", " "));
}
