import { groupBy, hasNumber, ofType, sum, text, whole } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";
import { type JudgedCredit, type JudgedEntry, judgeDebt } from "./debt-oracle.ts";
import { allowed } from "./oracle-changes.ts";
import { asideOf, operationsOf, platformKinds } from "./oracle-platform-money.ts";
import { isAwaited, undecided } from "./oracle-terms.ts";
import { transferControls } from "./oracle-transfers.ts";

/** Double entry, and each transaction has exactly the entries and legs that its amount, fee and history say. */
export function judgeTransactions(items: readonly RawItem[]): string[] {
  const ledgers = ofType(items, "LEDGER");
  const contras = ofType(items, "CONTRA");
  const legs = groupBy(contras.filter(hasEntry), (item) => text(item, "ledger_id"));
  const between = groupBy(
    contras.filter((item) => !hasEntry(item)),
    (item) => text(item, "transaction_id"),
  );
  const ofTransaction = (item: RawItem) => item["transaction_id"] !== null;
  const byTransaction = groupBy(ledgers.filter(ofTransaction), (item) => text(item, "transaction_id"));
  const legsByTransaction = groupBy(contras.filter(ofTransaction), (item) => text(item, "transaction_id"));
  const transactions = ofType(items, "TXN");
  const known = new Set(transactions.map((item) => text(item, "id")));
  const entryIds = new Set(ledgers.map((item) => text(item, "id")));
  const totals = new Map<string, bigint>();
  for (const item of [...ledgers, ...contras]) {
    const key = `${text(item, "tenant_id")} ${text(item, "currency")}`;
    totals.set(key, (totals.get(key) ?? 0n) + whole(item, "amount_minor"));
  }
  const strays = [...byTransaction.keys(), ...legsByTransaction.keys()].filter((id) => !known.has(id));
  return [
    ...strays.map((id) => `${id} is booked and does not exist`),
    ...[...legs.keys()].filter((id) => !entryIds.has(id)).map((id) => `there are legs of ${id}, which does not exist`),
    ...[...between]
      .filter(([, own]) => sum(own.map((leg) => whole(leg, "amount_minor"))) !== 0n)
      .map(([id]) => `the legs of ${id} without an entry do not balance each other`),
    ...[...totals].filter(([, total]) => total !== 0n).map(([key, total]) => `${key} is out of balance by ${total}`),
    ...ledgers.flatMap((entry) => {
      const own = legs.get(text(entry, "id")) ?? [];
      const off = whole(entry, "amount_minor") + sum(own.map((leg) => whole(leg, "amount_minor")));
      const foreign = own.some((leg) =>
        ["currency", "account_id", "transaction_id", "trade_id"].some((name) => leg[name] !== entry[name]),
      );
      return off === 0n && !foreign ? [] : [`the legs of ${text(entry, "id")} do not balance it`];
    }),
    ...transactions.flatMap((item) => {
      const id = text(item, "id");
      return judgeTransaction(item, byTransaction.get(id) ?? [], legsByTransaction.get(id) ?? []);
    }),
  ];
}

function hasEntry(leg: RawItem): boolean {
  return leg["ledger_id"] !== null;
}

/**
 * Whether late money was repaid by it, or a withdrawal removed credit: the replay of the whole ledger judges the
 * amounts.
 */
function isRepayment(item: RawItem): boolean {
  return ["repayment", "policy"].includes(String(item["settlement"])) || settlingControls.has(item["control_account"]);
}

const settlingControls = new Set<unknown>(["negative_balance", "credit"]);

/** Own effect of an entry that moves credit; undefined where the rule of credit makes it. */
function creditOf(entry: RawItem): JudgedCredit | undefined {
  const { settlement } = entry;
  if (entry["moves"] !== "credit" || (settlement !== undefined && settlement !== "expiry")) return undefined;
  const lot = String(entry["transaction_id"]);
  if (settlement === "expiry") return { does: "end", lot };
  const [first] = lotsOf(entry, "lots");
  // Credit of a platform is in no lot of a transaction.
  return whole(entry, "amount_minor") > 0n
    ? { does: "grant", lot: first?.lot ?? lot, ends: first?.ends ?? null }
    : { does: "take" };
}

/** The lots that an item has, with what is left or changed of each. */
function lotsOf(item: RawItem, name: string) {
  const lots = (item[name] ?? []) as readonly { readonly map: RawItem }[];
  return lots.map(({ map }) => ({
    lot: typeof map["transaction_id"] === "string" ? map["transaction_id"] : "",
    ends: typeof map["expires_at"] === "string" ? map["expires_at"] : null,
    minor: BigInt(text(map, "amount").replace(".", "")),
  }));
}

/** Balance, credit and debt follow from the ledger by the rule of negative balances alone (ADR 0025). */
export function judgeSettled(id: string, balance: RawItem, entries: readonly RawItem[]): string[] {
  const judged = entries.map((entry): JudgedEntry => {
    const settles = entry["settlement"];
    return {
      kind: text(entry, "kind"),
      amount: whole(entry, "amount_minor"),
      transaction: entry["transaction_id"] === null ? "" : text(entry, "transaction_id"),
      settles: settles === "due" || settles === "owed" || settles === "paid" ? settles : undefined,
      offset: entry["offset_minor"] === undefined ? 0n : whole(entry, "offset_minor"),
      credit: creditOf(entry),
      behind: entry["precedes_seq"] === undefined ? undefined : Number(whole(entry, "precedes_seq")) - 1,
      undoes: undoneBy(entry),
      removes: entry["credit_policy"] as JudgedEntry["removes"],
    };
  });
  const moved = sum(entries.filter(movesCredit).map((entry) => whole(entry, "amount_minor")));
  const wanted = judgeDebt(judged, whole(balance, "credit_minor") - moved);
  const found = { balance: whole(balance, "balance_minor"), credit: whole(balance, "credit_minor") };
  const debt = balance["debt_minor"] === undefined ? wanted.debt : whole(balance, "debt_minor");
  const agrees = found.balance === wanted.balance && found.credit === wanted.credit && debt === wanted.debt;
  const lots = lotsOf(balance, "credit_lots");
  const same = lots.every(({ lot, minor }) => minor > 0n && wanted.lots[lot] === minor);
  return [
    ...(agrees
      ? []
      : [`${id}: has ${found.balance} and owes ${debt}, by its ledger ${wanted.balance} and ${wanted.debt}`]),
    ...(same && sum(lots.map(({ minor }) => minor)) + (wanted.lots[""] ?? 0n) === found.credit
      ? []
      : [`${id}: has other lots of credit than its ledger leaves`]),
  ];
}

/** The place of the entry that one of a deal gives back. */
function undoneBy(entry: RawItem): number | undefined {
  const isDeal = entry["trade_id"] !== undefined && entry["reverses_seq"] !== undefined;
  return isDeal ? Number(whole(entry, "reverses_seq")) - 1 : undefined;
}

/** Whether an entry moves credit and leaves the balance. */
export function movesCredit(entry: RawItem): boolean {
  return entry["moves"] === "credit";
}

function judgeTransaction(item: RawItem, entries: readonly RawItem[], legs: readonly RawItem[]): string[] {
  const id = text(item, "id");
  const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
  const signed = platformKinds[text(item, "kind")] !== undefined;
  if (signed ? amount === 0n || fee !== 0n : amount <= 0n || fee < 0n || fee >= amount)
    return [`${id} has the amount ${amount} and the fee ${fee}`];
  const inOrder = entries.toSorted((a, b) => Number(whole(a, "balance_version") - whole(b, "balance_version")));
  const settles = ["negative_balance_correction", "credit_in", "credit_out"].includes(text(item, "kind"));
  const own = <T extends RawItem>(items: readonly T[]) => items.filter((each) => settles || !isRepayment(each));
  const booked = JSON.stringify([
    own(inOrder).map((entry) => [text(entry, "kind"), String(whole(entry, "amount_minor"))]),
    controlTotals(own(legs)),
  ]);
  const credit = ["credit_in", "credit_out"].includes(text(item, "kind"));
  const allowedBookings = credit ? [creditBooking(item, inOrder)] : bookingsOf(item);
  const [first] = inOrder;
  const shown = first === undefined ? null : first["balance_before_minor"];
  const agrees =
    JSON.stringify(item["balance_before_minor"]) === JSON.stringify(shown) &&
    JSON.stringify(item["balance_after_minor"]) === JSON.stringify(first?.["balance_after_minor"] ?? null) &&
    entries.every((entry) => entry["currency"] === item["currency"] && entry["account_id"] === item["account_id"]);
  return [
    ...(allowedBookings.includes(booked) ? [] : [`${id} is ${text(item, "status")} and booked ${booked}`]),
    ...(agrees ? [] : [`${id} and its ledger entry disagree`]),
    ...judgeHistory(item),
  ];
}

/** Totals of the control accounts, in the order of their names; those that cancelled out are left out. */
function controlTotals(legs: readonly RawItem[]): (readonly [string, string])[] {
  const groups = groupBy(legs, (leg) => text(leg, "control_account"));
  return [...groups]
    .map(([name, own]) => [name, sum(own.map((leg) => whole(leg, "amount_minor")))] as const)
    .filter(([, total]) => total !== 0n)
    .map(([name, total]) => [name, String(total)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** When credit that a transaction grants ends; empty of any other. */
function termsOf(item: RawItem): RawItem {
  return (item["credit"] as { readonly map: RawItem } | undefined)?.map ?? {};
}

/** Whether credit was granted that has ended, which is a change of its own. */
function hasEnded(item: RawItem): boolean {
  return typeof termsOf(item)["expired_at"] === "string";
}

/** Whether credit was granted that will end: its transaction is found when it does. */
function willEnd(item: RawItem): boolean {
  return text(item, "status") === "completed" && typeof termsOf(item)["expires_at"] === "string" && !hasEnded(item);
}

/** A grant is booked once, and what was left of it once more where it has ended; what is taken back is booked once. */
function creditBooking(item: RawItem, entries: readonly RawItem[]): string {
  if (text(item, "status") !== "completed") return JSON.stringify([[], []]);
  const [kind, amount] = [text(item, "kind"), whole(item, "amount_minor")];
  const minor = kind === "credit_in" ? amount : -amount;
  const ended = hasEnded(item);
  // How much was left is judged by the lots of the account.
  const left = ended && entries[1] !== undefined ? -whole(entries[1], "amount_minor") : 0n;
  const total = minor - left;
  return JSON.stringify([
    [[kind, String(minor)], ...(ended ? [["credit_out", String(-left)]] : [])],
    total === 0n ? [] : [["credit", String(-total)]],
  ]);
}

/** The bookings that a transaction may have: more than one where the caller may leave the fee. */
function bookingsOf(item: RawItem): string[] {
  const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
  const [kind, status] = [text(item, "kind"), text(item, "status")];
  const deposit = kind === "deposit";
  if (kind === "negative_balance_correction")
    return [JSON.stringify([[[kind, String(amount)]], [["negative_balance", String(-amount)]]])];
  const control = platformKinds[kind];
  if (control !== undefined && status !== "completed") return [JSON.stringify([[], []])];
  if (control !== undefined) return [JSON.stringify([[[kind, String(amount)]], [[control, String(-amount)]]])];
  if (kind === "transfer_out" || kind === "transfer_in") return [JSON.stringify(transferBooks(item))];
  const paid: Booked = [kind, deposit ? amount - fee : -amount];
  const books = (entries: readonly Booked[], controls: readonly Booked[]) => {
    const texts = (pairs: readonly Booked[]) => pairs.map(([name, minor]) => [name, String(minor)]);
    return JSON.stringify([texts(entries), texts(controls.filter(([, minor]) => minor !== 0n))]);
  };
  if (status === "completed") {
    const income: Booked = ["fee_income", fee];
    return [books([paid], deposit ? [["clearing", -amount], income] : [income, ["payouts", amount - fee]])];
  }
  if (status === "returned") {
    return [0n, fee].map((kept) =>
      books([paid, ["return", deposit ? fee - amount - kept : amount - kept]], [["fee_income", kept]]),
    );
  }
  const wentOut = !deposit && !isAwaited(item) && stepsOf(item).some(({ to }) => to === "processing");
  if (status === "processing" && wentOut) return [books([paid], [["payouts_in_transit", amount]])];
  if (status === "failed" && wentOut) return [books([paid, [kind, amount]], [])];
  return [books([], [])];
}

type Booked = readonly [name: string, minor: bigint];

/** Bookings of a leg of a transfer: its debit stands in transit until the credit is made, or is taken back. */
function transferBooks(item: RawItem): readonly (readonly (readonly [string, string])[])[] {
  const [kind, status, amount] = [text(item, "kind"), text(item, "status"), whole(item, "amount_minor")];
  const texts = (pairs: readonly Booked[]) => pairs.map(([name, minor]) => [name, String(minor)] as const);
  const moved: Booked = [kind, kind === "transfer_out" ? -amount : amount];
  if (status === "completed") {
    return [texts([moved]), texts(transferControls(item).filter(([, minor]) => minor !== 0n))];
  }
  const debited = hasDebit(item) || (status === "processing" && kind === "transfer_out" && !isAwaited(item));
  if (!debited) return [[], []];
  const reversed: Booked = [kind, amount];
  return status === "failed" ? [texts([moved, reversed]), []] : [texts([moved]), texts([["in_transit", amount]])];
}

function hasDebit(item: RawItem): boolean {
  return item["debited_seq"] !== undefined;
}

/** Each state follows from the one before it, the last is the one it has, and only what is undecided can expire. */
function judgeHistory(item: RawItem): string[] {
  const id = text(item, "id");
  const steps = stepsOf(item);
  const chained = steps.every(({ from, to }, index) =>
    index === 0
      ? from === null && to === "pending"
      : from === steps[index - 1]?.to &&
        (allowed("TXN", `${from}>${to}`) || (from === to && undecided.has(String(to)))),
  );
  const awaited = undecided.has(text(item, "status"));
  // A transaction that the sandbox's provider moves is due whatever its state is.
  const provided = typeof item["provider_at"] === "string";
  // A transaction for an item of a platform that has happened does not expire.
  const ends = awaited && !asideOf(item).some(isCreatedFor);
  const expires = typeof item["expires_at"] === "string";
  const due = [item["due_pk"], item["due_sk"]].map((value) => typeof value === "string");
  return [
    ...(chained && steps.at(-1)?.to === item["status"] ? [] : [`${id} has a history that does not follow`]),
    ...(versionFits(item, steps) ? [] : [`${id} has another version than steps`]),
    ...(expires === ends && due.every((each) => each === (ends || provided || willEnd(item)))
      ? []
      : [`${id} is ${text(item, "status")} and due or not wrongly`]),
  ];
}

/**
 * A version for each step, and one more for each operation of a platform that was joined without one. Commands about it
 * are versions too.
 */
function versionFits(item: RawItem, all: ReturnType<typeof stepsOf>): boolean {
  const version = whole(item, "version");
  const most = all.length + (hasEnded(item) ? 1 : 0);
  // The last approval and the join of an item that was set aside are one version.
  const steps = most - all.filter(({ at }, index) => index > 0 && at === all[index - 1]?.at).length;
  if (typeof item["command_id"] === "string") return version >= BigInt(steps);
  // A debit is another version where it names the credit that a platform is asked for.
  if (hasNumber(item, "transfer_credit_minor")) return version >= BigInt(steps);
  const unconfirmed = operationsOf(item).filter(({ confirmed }) => confirmed !== undefined).length;
  // An item that was set aside for it, and that people have booked otherwise since it ended, leaves no trace.
  const left = ["rejected", "cancelled", "failed"].includes(text(item, "status")) ? 2 : 0;
  const reported = operationsOf(item).length + unconfirmed + asideOf(item).length + left;
  return version <= BigInt(most + reported) && version >= BigInt(steps);
}

/** Whether a transaction was made for the item that is set aside for it. */
function isCreatedFor(aside: RawItem): boolean {
  return aside["created_for_item"] === true;
}

function stepsOf(item: RawItem): { readonly from: unknown; readonly to: unknown; readonly at: unknown }[] {
  const history = item["status_history"];
  if (!Array.isArray(history)) return [];
  return (history as readonly { readonly map: RawItem }[]).map(({ map }) => ({
    from: map["from"],
    to: map["to"],
    at: map["at"],
  }));
}
