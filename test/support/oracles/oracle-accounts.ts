import { groupBy, hasNumber, ofType, sum, text, whole } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";
import { platformMoney } from "./oracle-platform-money.ts";
import { isAwaited, isReturn, isReturning, isTrading, openStates, takesMoney, undecided } from "./oracle-terms.ts";
import { judgeSettled, movesCredit } from "./oracle-transactions.ts";

/** Bookings that an account accepts by its status and its trading mode. */
function gateOf(account: RawItem): string {
  if (account["status"] !== "active") return "none";
  return account["trading_mode"] === "full" ? "all" : "close_only";
}

/** Balance, ledger and holds of every account agree to the last unit. */
export function judgeAccounts(items: readonly RawItem[]): string[] {
  const ledgers = groupBy(ofType(items, "LEDGER"), (item) => text(item, "account_id"));
  const open = groupBy(
    ofType(items, "TXN").filter((item) => openStates.has(text(item, "status")) || isReturning(item)),
    (item) => text(item, "account_id"),
  );
  const accounts = new Map(ofType(items, "ACCOUNT").map((item) => [text(item, "id"), item]));
  const happened = platformMoney(items);
  const aside = groupBy(
    ofType(items, "DEDUP").filter((item) => typeof item["aside_account_id"] === "string"),
    (item) => text(item, "aside_account_id"),
  );
  const balances = ofType(items, "BALANCE");
  const known = new Set(balances.map((item) => text(item, "account_id")));
  const orphans = [...ledgers.keys(), ...accounts.keys(), ...open.keys()].filter((id) => !known.has(id));
  return [
    ...orphans.map((id) => `${id} has no balance`),
    ...balances.flatMap((balance) => {
      const id = text(balance, "account_id");
      const account = accounts.get(id);
      const entries = (ledgers.get(id) ?? []).toSorted((a, b) =>
        Number(whole(a, "balance_version") - whole(b, "balance_version")),
      );
      const about = (sentence: string | false) => (sentence === false ? [] : [`${id}: ${sentence}`]);
      const [total, held, available] = ["balance_minor", "held_minor", "available_minor"].map((name) =>
        whole(balance, name),
      );
      const pending = open.get(id) ?? [];
      const put = (aside.get(id) ?? []).map((item) => whole(item, "aside_minor"));
      const taken = sum(put.flatMap((minor) => (minor < 0n ? [-minor] : [])));
      const holds = sum(pending.map(heldBy)) + taken;
      const counted = hasNumber(balance, "aside_minor") ? whole(balance, "aside_minor") : 0n;
      const decided = (aside.get(id) ?? []).some((item) => item["status"] !== "rejected");
      const posted = sum(entries.filter((entry) => !movesCredit(entry)).map((entry) => whole(entry, "amount_minor")));
      const beyond = (entry: RawItem) =>
        isReturn(entry) || isTrading(entry) || happened.has(text(entry, "transaction_id"));
      const overdrawn = (available ?? 0n) < 0n && taken === 0n && !entries.some(beyond);
      return [
        ...about(account === undefined && "has no profile"),
        ...about(account !== undefined && account["currency"] !== balance["currency"] && "has two currencies"),
        ...about(
          account !== undefined &&
            balance["accepts"] !== gateOf(account) &&
            `accepts ${String(balance["accepts"])} as ${text(account, "status")} and ${text(account, "trading_mode")}`,
        ),
        ...about(account !== undefined && text(account, "status") === "closed" && total !== 0n && "is closed and full"),
        ...about(posted !== total && `has ${total}, its ledger says ${posted}`),
        ...about(held !== holds && `holds ${held}, its open withdrawals and what is put aside say ${holds}`),
        ...about(counted !== sum(put) + taken && `counts ${counted} as put aside of ${sum(put) + taken}`),
        ...about(decided && "still has money put aside of an operation that is decided"),
        ...about(
          available !== (total ?? 0n) - (held ?? 0n) && `has ${available} available of ${total} with ${held} held`,
        ),
        ...about((overdrawn || (held ?? 0n) < 0n) && "is overdrawn"),
        ...about(whole(balance, "pending") !== BigInt(pending.length) && "counts its open transactions wrongly"),
        ...about(
          whole(balance, "seq") !== BigInt(entries.length) &&
            `ends at ${whole(balance, "seq")} after ${entries.length} entries`,
        ),
        ...judgeChain(id, entries, text(balance, "currency")),
        ...judgeSettled(id, balance, entries),
      ];
    }),
  ];
}

/** A withdrawal is its own hold until its money has left; a return holds what a platform is to take. */
function heldBy(item: RawItem): bigint {
  if (isReturning(item)) return whole(item, "returning_held_minor");
  if (!takesMoney(item)) return 0n;
  return undecided.has(text(item, "status")) || isAwaited(item) ? whole(item, "amount_minor") : 0n;
}

function judgeChain(id: string, entries: readonly RawItem[], currency: string): string[] {
  let before = 0n;
  return entries.flatMap((entry, index) => {
    const number = whole(entry, "balance_version");
    const after = movesCredit(entry) ? before : before + whole(entry, "amount_minor");
    const fits =
      number === BigInt(index + 1) &&
      whole(entry, "balance_before_minor") === before &&
      whole(entry, "balance_after_minor") === after &&
      text(entry, "sk") === String(number).padStart(12, "0") &&
      text(entry, "currency") === currency;
    before = after;
    return fits ? [] : [`${id}: entry ${index + 1} of its ledger does not follow from the one before`];
  });
}
