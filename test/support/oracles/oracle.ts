import type { Emulator } from "../emulator/emulator.ts";
import { type RawChange, type RawItem, readChanges, scanTable } from "../emulator/raw-table.ts";
import { judgeAudit } from "./audit-oracle.ts";
import { judgeEmitted } from "./emitted-events.ts";
import { judgeAccounts } from "./oracle-accounts.ts";
import { judgeChanges } from "./oracle-changes.ts";
import { judgeDeliveries, judgeEvents } from "./oracle-events.ts";
import { judgeAmounts, judgeClients, judgeKeys, judgeTenants } from "./oracle-items.ts";
import { judgeLegs, judgeMarkers } from "./oracle-platform-money.ts";
import { judgeTransactions } from "./oracle-transactions.ts";
import { judgeTransfers } from "./oracle-transfers.ts";
import { judgeTrading } from "./trading-oracle.ts";

/**
 * Rules of the table whatever the service did, judged from the raw items and the stream alone. Nothing here is shared
 * with the service: its keys, its formatting and its arithmetic are all written a second time; the events that its
 * operations name are taken from their description. Each finding is a sentence; an empty list means that all is well.
 */
export async function findings(emulator: Emulator): Promise<string[]> {
  const [items, changes] = [await scanTable(emulator), await readChanges(emulator)];
  return judgeAll(items, changes);
}

/**
 * The findings of the items as the stream left them: a file that judges after each of its tests reads only what is new
 * by it, and scans the table once, at its end.
 */
export async function findingsByStream(emulator: Emulator): Promise<string[]> {
  const changes = await readChanges(emulator);
  return judgeAll(itemsAfter(changes), changes);
}

/** The items that changes leave, from the first change of a table on. */
function itemsAfter(changes: readonly RawChange[]): RawItem[] {
  const items = new Map<string, RawItem>();
  const keyOf = (item: RawItem | undefined) => `${String(item?.["pk"])} ${String(item?.["sk"])}`;
  for (const { before, after } of changes) {
    if (after === undefined) items.delete(keyOf(before));
    else items.set(keyOf(after), after);
  }
  return [...items.values()];
}

function judgeAll(items: readonly RawItem[], changes: readonly RawChange[]): string[] {
  return [
    ...judgeItems(items),
    ...judgeChanges(changes),
    ...judgeEvents(items, changes),
    ...judgeEmitted(changes),
    ...judgeAudit(items),
  ];
}

/** Everything that can be said of the items as they stand. */
export function judgeItems(items: readonly RawItem[]): string[] {
  return [
    ...judgeKeys(items),
    ...judgeAmounts(items),
    ...judgeTenants(items),
    ...judgeMarkers(items),
    ...judgeClients(items),
    ...judgeAccounts(items),
    ...judgeTransactions(items),
    ...judgeTransfers(items),
    ...judgeLegs(items),
    ...judgeDeliveries(items),
    ...judgeTrading(items),
  ];
}
