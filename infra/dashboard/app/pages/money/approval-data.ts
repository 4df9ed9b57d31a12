import { useList } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useCaller } from "../../session/caller.ts";

/** A transaction that waits for an approval. */
export type Waiting = Schemas["Transaction"];

/** What waits for the person's own approval, oldest first: made by another one, and not yet approved by them. */
export function useApprovals(query: Readonly<Record<string, string | undefined>> = {}, enabled = true) {
  const { operator, application } = useCaller();
  const me = operator?.id ?? application?.id;
  const list = useList(
    "/transactions",
    { query: { limit: 50, status: "pending", sort: "created_at", ...query } },
    enabled,
  );
  const rows = list.rows.filter(
    ({ created_by, approvals = [] }) => created_by?.id !== me && approvals.every(({ actor }) => actor.id !== me),
  );
  return { ...list, rows };
}

/** What a transaction pays in or out, in words: where it goes to or comes from. */
export function placeOf({ source, destination, method, provider }: Waiting): string {
  const place = destination ?? source;
  if (place?.iban) return `IBAN ${place.iban}`;
  if (place?.card_last4) return `Card ${place.card_last4}`;
  if (place?.wallet) return `Wallet ${place.wallet}`;
  return provider ?? (method === null ? "" : method.replaceAll("_", " "));
}
