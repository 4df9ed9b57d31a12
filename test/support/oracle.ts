import { createHash } from "node:crypto";
import { type JudgedEntry, judgeDebt } from "./debt-oracle.ts";
import type { Emulator } from "./emulator.ts";
import { countOf, groupBy, hasNumber, numberText, ofType, sum, text, whole } from "./raw-items.ts";
import { type RawChange, type RawItem, type RawValue, readChanges, scanTable } from "./raw-table.ts";
import { expectedTradeEvents, judgeMarginEvents, judgeTrading, marginKinds } from "./trading-oracle.ts";

/**
 * What must hold of the table whatever the service did, judged from the raw items and the stream alone. Nothing here is
 * shared with the service: its keys, its formatting and its arithmetic are all written a second time. Each finding is a
 * sentence; an empty list means that all is well.
 */
export async function findings(emulator: Emulator): Promise<string[]> {
  const [items, changes] = [await scanTable(emulator), await readChanges(emulator)];
  return [...judgeItems(items), ...judgeChanges(changes), ...judgeEvents(items, changes)];
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
    ...judgeLegs(items),
    ...judgeDeliveries(items),
    ...judgeTrading(items),
  ];
}

const tenantKey = /^(brk_[0-9A-HJKMNP-TV-Z]{26})(?:$|[#|])/;
const globalKeys = [/^GLOBAL\|CLIENTID$/, /^GLOBAL\|KEYS$/];
const dueKey = /^DUE\|[A-Z]+\|0[0-7]$/;

/** No key outside its tenant (but the few that belong to nobody), and no item that names two tenants. */
function judgeKeys(items: readonly RawItem[]): string[] {
  return items.flatMap((item) => {
    const key = text(item, "pk");
    const tenant = tenantKey.exec(key)?.[1];
    if (tenant === undefined) return globalKeys.some((each) => each.test(key)) ? [] : [`${key} belongs to no tenant`];
    const indexKeys = ["list_pk", "state_pk", "owner_pk", "client_pk"].flatMap((name) => {
      const value = item[name];
      return typeof value !== "string" || tenantKey.exec(value)?.[1] === tenant ? [] : [`${key} is listed in ${value}`];
    });
    const due = item["due_pk"];
    const owner = item["tenant_id"];
    const strangers = [...JSON.stringify(item).matchAll(/brk_[0-9A-Z]{26}/g)].filter(([found]) => found !== tenant);
    return [
      ...indexKeys,
      ...(due === undefined || dueKey.test(String(due)) ? [] : [`${key} is due in ${String(due)}`]),
      ...(owner === undefined || owner === tenant ? [] : [`${key} is owned by ${String(owner)}`]),
      ...(strangers.length === 0 ? [] : [`${key} names another tenant, ${strangers[0]?.[0]}`]),
    ];
  });
}

const bound = 10n ** 18n;

/** Money is stored as whole numbers within bounds, with every digit. */
function judgeAmounts(items: readonly RawItem[]): string[] {
  return items.flatMap((item) =>
    Object.entries(item).flatMap(([name, value]) => {
      if (!name.endsWith("_minor") || value === null) return [];
      const place = `${text(item, "pk")} ${text(item, "sk")} ${name}`;
      const digits = numberText(value);
      if (digits === undefined || !/^-?\d{1,19}$/.test(digits)) return [`${place} is ${JSON.stringify(value)}`];
      return BigInt(digits) > bound || BigInt(digits) < -bound ? [`${place} is out of bounds`] : [];
    }),
  );
}

const currencies = ["USD", "EUR", "GBP", "CHF", "JPY", "AUD"];

/** Whoever has an account is a tenant with one set of policies that can be followed. */
function judgeTenants(items: readonly RawItem[]): string[] {
  const tenants = ofType(items, "TENANT");
  const known = new Set(tenants.map((item) => text(item, "pk")));
  const missing = new Set(
    ofType(items, "ACCOUNT")
      .map(tenantOf)
      .filter((id) => !known.has(id)),
  );
  return [
    ...[...missing].map((id) => `${id} has accounts and no policies`),
    ...tenants.flatMap((item) => {
      const allowed = item["currencies"];
      const names = Array.isArray(allowed) ? allowed : [];
      const [leverage, days] = [whole(item, "default_leverage"), whole(item, "transaction_expiry_days")];
      const fits =
        text(item, "sk") === "TENANT" &&
        text(item, "id") === text(item, "pk") &&
        typeof item["four_eyes"] === "boolean" &&
        ["none", "withdrawal", "live_account"].includes(text(item, "require_verified_client")) &&
        names.length > 0 &&
        new Set(names).size === names.length &&
        names.every((name) => currencies.includes(String(name))) &&
        leverage >= 1n &&
        leverage <= 1000n &&
        days >= 1n &&
        days <= 90n &&
        whole(item, "version") >= 1n;
      return fits ? [] : [`${text(item, "pk")} has policies that nobody can follow`];
    }),
  ];
}

/**
 * The trade that each position of a source stands for: the newest one, since with netting a platform may keep the name
 * of a position that it turned round. A part that was closed carries the name of its deal.
 */
function newestOfPositions(items: readonly RawItem[]): RawItem[] {
  const own = ofType(items, "TRADE").filter(({ parent_trade_id: parent, source_trade_id: name }) => !parent && name);
  const newest = new Map<string, RawItem>();
  for (const item of own.toSorted((a, b) => (text(a, "id") < text(b, "id") ? -1 : 1))) {
    newest.set(`${tenantOf(item)} ${text(item, "source")} ${text(item, "source_trade_id")}`, item);
  }
  return [...newest.values()].map((item) => ({ ...item, et: "POSITION OF A SOURCE" }));
}

/** What is unique is claimed by its owner and by nobody else, and nothing is claimed for a value that nobody has. */
function judgeMarkers(items: readonly RawItem[]): string[] {
  const sources = new Map(
    ofType(items, "SOURCE").map((item) => [`${tenantOf(item)} ${text(item, "name")}`, text(item, "id")]),
  );
  const wanted = [...items, ...newestOfPositions(items)].flatMap((item) => {
    const sourceOf = sources.get(`${tenantOf(item)} ${String(item["source"])}`);
    const claim = (kind: string, ...values: readonly (RawValue | undefined)[]) => {
      if (typeof values.at(-1) !== "string") return [];
      const value = values.length === 1 ? String(values[0]) : JSON.stringify(values);
      const hash = createHash("sha256").update(value).digest("hex");
      return [`${tenantOf(item)}|UQ|${kind} ${hash} of ${text(item, "id")}`];
    };
    switch (text(item, "et")) {
      case "CLIENT":
        return [
          ...(text(item, "status") === "closed" ? [] : claim("client_email", item["email"])),
          ...claim("client_external_id", item["external_id"]),
        ];
      case "ACCOUNT":
        return [
          ...claim("account_number", item["number"]),
          ...claim("platform_login", item["platform"], item["platform_login"]),
        ];
      case "TXN":
        return [
          ...claim("transaction_external_id", item["external_id"]),
          ...(isPlatforms(item) ? [] : claim("provider_reference", item["provider"], item["provider_reference"])),
          ...operationsOf(item).flatMap((each) =>
            claim("source_operation", each["source_id"], text(each, "operation_id")),
          ),
        ];
      case "SOURCE":
        return claim("source_name", item["name"]);
      case "ORDER":
        return sourceOf === undefined ? [] : claim("source_order", sourceOf, item["source_order_id"]);
      case "POSITION OF A SOURCE":
        return sourceOf === undefined ? [] : claim("source_position", sourceOf, item["source_trade_id"]);
      default:
        return [];
    }
  });
  const found = ofType(items, "UQ").map(
    (item) => `${text(item, "pk")} ${text(item, "sk")} of ${text(item, "owner_id")}`,
  );
  const [needed, claimed] = [new Set(wanted), new Set(found)];
  return [
    ...(needed.size === wanted.length ? [] : ["one value belongs to two"]),
    ...[...needed].filter((name) => !claimed.has(name)).map((name) => `${name} is not claimed`),
    ...[...claimed].filter((name) => !needed.has(name)).map((name) => `${name} is claimed and nobody's`),
  ];
}

/** The operations of a platform that are a transaction's money. */
function operationsOf(item: RawItem): readonly RawItem[] {
  const operations = (item["platform_operations"] ?? []) as readonly { readonly map: RawItem }[];
  return operations.map(({ map }) => map);
}

/** Whether a platform made a transaction: it names the operation as its provider's reference. */
function isPlatforms(item: RawItem): boolean {
  return operationsOf(item).some(
    (each) => each["leg"] === "forward" && each["operation_id"] === item["provider_reference"],
  );
}

/** Identifiers of the transactions whose money a platform moved. */
function platformMoney(items: readonly RawItem[]): ReadonlySet<string> {
  const moved = ofType(items, "TXN").filter((item) => operationsOf(item).length > 0);
  return new Set(moved.map((item) => text(item, "id")));
}

const platformKinds: Readonly<Record<string, string>> = {
  adjustment: "adjustment",
  correction: "adjustment",
  fee: "fee_income",
  commission: "commission",
  dividend: "dividend",
  swap: "swap",
};

/**
 * Every leg of a transaction that a platform has not reported yet can be found by its amount, and no other one. What
 * was made before its account belonged to a platform need not be found.
 */
function judgeLegs(items: readonly RawItem[]): string[] {
  const linked = new Set(
    ofType(items, "ACCOUNT")
      .filter((item) => item["platform"] !== "internal" && typeof item["platform_login"] === "string")
      .map((item) => text(item, "id")),
  );
  const wanted = ofType(items, "TXN").flatMap((item) => {
    const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
    const sign = text(item, "kind") === "withdrawal" ? -1n : 1n;
    const joined = operationsOf(item).map((each) => text(each, "leg"));
    const ended = ["rejected", "cancelled", "failed"].includes(text(item, "status"));
    const back = hasNumber(item, "reverse_minor") ? whole(item, "reverse_minor") : undefined;
    const legs = [
      ...(ended && back === undefined ? [] : [["forward", [sign * amount, sign * (amount - fee)]] as const]),
      ...(back === undefined ? [] : [["reverse", [back, -sign * amount, sign * (fee - amount)]] as const]),
    ];
    return legs
      .filter(([name]) => !joined.includes(name))
      .flatMap(([name, amounts]) =>
        [...new Set(amounts)].map((minor) => `${text(item, "account_id")} ${minor} ${name} of ${text(item, "id")}`),
      );
  });
  const found = new Set(
    ofType(items, "LEG").map((item) => {
      const [minor] = text(item, "sk").split("#");
      return `${text(item, "account_id")} ${minor} ${text(item, "leg")} of ${text(item, "transaction_id")}`;
    }),
  );
  const all = new Set(wanted);
  return [
    ...wanted.filter((name) => linked.has(name.slice(0, 30)) && !found.has(name)).map((name) => `${name} is not found`),
    ...[...found].filter((name) => !all.has(name)).map((name) => `${name} is found and is not unjoined`),
  ];
}

/** A client counts its accounts, and those that are not closed; who is closed has none of these. */
function judgeClients(items: readonly RawItem[]): string[] {
  const accounts = groupBy(ofType(items, "ACCOUNT"), (item) => text(item, "client_id"));
  const reversed = new Set(
    ofType(items, "LEDGER")
      .filter(isReturn)
      .map((item) => text(item, "account_id")),
  );
  const known = new Set(ofType(items, "CLIENT").map((item) => text(item, "id")));
  const strays = [...accounts.keys()].filter((id) => !known.has(id)).map((id) => `${id} has accounts and is not there`);
  const counts = ofType(items, "CLIENT").flatMap((client) => {
    const id = text(client, "id");
    const own = accounts.get(id) ?? [];
    const open = own.filter((item) => text(item, "status") !== "closed");
    const about = (sentence: string | false) => (sentence === false ? [] : [`${id}: ${sentence}`]);
    return [
      ...about(whole(client, "account_count") !== BigInt(own.length) && "counts its accounts wrongly"),
      ...about(whole(client, "open_accounts") !== BigInt(open.length) && "counts its open accounts wrongly"),
      // Money that comes back opens a closed account again, whatever its client is by then.
      ...about(
        text(client, "status") === "closed" &&
          open.some((item) => !reversed.has(text(item, "id"))) &&
          "is closed and has open accounts",
      ),
    ];
  });
  return [...strays, ...counts];
}

function isReturn(entry: RawItem): boolean {
  return text(entry, "kind") === "return";
}

const tradingKinds = new Set(["realised_pnl", "swap", "commission", "negative_balance_correction"]);

/** What trading books may take more than is there: a price does not stop at zero. */
function isTrading(entry: RawItem): boolean {
  return tradingKinds.has(text(entry, "kind"));
}

/** What an account accepts by its status and its trading mode. */
function gateOf(account: RawItem): string {
  if (account["status"] !== "active") return "none";
  return account["trading_mode"] === "full" ? "all" : "close_only";
}

/** Balance, ledger and holds of every account agree to the last unit. */
function judgeAccounts(items: readonly RawItem[]): string[] {
  const ledgers = groupBy(ofType(items, "LEDGER"), (item) => text(item, "account_id"));
  const open = groupBy(
    ofType(items, "TXN").filter((item) => openStates.has(text(item, "status"))),
    (item) => text(item, "account_id"),
  );
  const accounts = new Map(ofType(items, "ACCOUNT").map((item) => [text(item, "id"), item]));
  const happened = platformMoney(items);
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
      const holds = sum(pending.filter(holdsMoney).map((item) => whole(item, "amount_minor")));
      const posted = sum(entries.map((entry) => whole(entry, "amount_minor")));
      const beyond = (entry: RawItem) =>
        isReturn(entry) || isTrading(entry) || happened.has(text(entry, "transaction_id"));
      const overdrawn = (available ?? 0n) < 0n && !entries.some(beyond);
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
        ...about(held !== holds && `holds ${held}, its open withdrawals say ${holds}`),
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

/** A withdrawal is its own hold until it goes into processing. */
function holdsMoney(item: RawItem): boolean {
  return text(item, "kind") === "withdrawal" && undecided.has(text(item, "status"));
}

const undecided = new Set(["pending", "approved"]);
const openStates = new Set(["pending", "approved", "processing"]);

function judgeChain(id: string, entries: readonly RawItem[], currency: string): string[] {
  let before = 0n;
  return entries.flatMap((entry, index) => {
    const number = whole(entry, "balance_version");
    const after = before + whole(entry, "amount_minor");
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

/** Double entry, and each transaction has exactly the entries and legs that its amount, fee and history say. */
function judgeTransactions(items: readonly RawItem[]): string[] {
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

/** What a payout that was given back repaid: the replay of the whole ledger judges how much that must be. */
function isRepayment(item: RawItem): boolean {
  return item["settlement"] === "repayment" || settlingControls.has(text(item, "control_account"));
}

const settlingControls = new Set(["negative_balance", "credit"]);

/** Balance, credit and debt follow from the ledger by the rule of negative balances alone (ADR 0025). */
function judgeSettled(id: string, balance: RawItem, entries: readonly RawItem[]): string[] {
  const judged = entries.map((entry): JudgedEntry => {
    const settles = entry["settlement"];
    return {
      kind: text(entry, "kind"),
      amount: whole(entry, "amount_minor"),
      transaction: entry["transaction_id"] === null ? "" : text(entry, "transaction_id"),
      settles: settles === "due" || settles === "owed" || settles === "paid" ? settles : undefined,
      offset: entry["offset_minor"] === undefined ? 0n : whole(entry, "offset_minor"),
    };
  });
  const moved = entries.filter((entry) => ["credit_in", "credit_out"].includes(text(entry, "kind")));
  const credit = whole(balance, "credit_minor") + sum(moved.map((entry) => whole(entry, "amount_minor")));
  const wanted = judgeDebt(judged, credit);
  const found = { balance: whole(balance, "balance_minor"), credit: whole(balance, "credit_minor") };
  const debt = balance["debt_minor"] === undefined ? wanted.debt : whole(balance, "debt_minor");
  const agrees = found.balance === wanted.balance && found.credit === wanted.credit && debt === wanted.debt;
  return agrees
    ? []
    : [`${id}: has ${found.balance} and owes ${debt}, by its ledger ${wanted.balance} and ${wanted.debt}`];
}

function judgeTransaction(item: RawItem, entries: readonly RawItem[], legs: readonly RawItem[]): string[] {
  const id = text(item, "id");
  const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
  const signed = platformKinds[text(item, "kind")] !== undefined;
  if (signed ? amount === 0n || fee !== 0n : amount <= 0n || fee < 0n || fee >= amount)
    return [`${id} has the amount ${amount} and the fee ${fee}`];
  const inOrder = entries.toSorted((a, b) => Number(whole(a, "balance_version") - whole(b, "balance_version")));
  const payout = text(item, "kind") === "withdrawal";
  const own = <T extends RawItem>(items: readonly T[]) => items.filter((each) => !(payout && isRepayment(each)));
  const booked = JSON.stringify([
    own(inOrder).map((entry) => [text(entry, "kind"), String(whole(entry, "amount_minor"))]),
    controlTotals(own(legs)),
  ]);
  const [first] = inOrder;
  const shown = first === undefined ? null : first["balance_before_minor"];
  const agrees =
    JSON.stringify(item["balance_before_minor"]) === JSON.stringify(shown) &&
    JSON.stringify(item["balance_after_minor"]) === JSON.stringify(first?.["balance_after_minor"] ?? null) &&
    entries.every((entry) => entry["currency"] === item["currency"] && entry["account_id"] === item["account_id"]);
  return [
    ...(bookingsOf(item).includes(booked) ? [] : [`${id} is ${text(item, "status")} and booked ${booked}`]),
    ...(agrees ? [] : [`${id} and its ledger entry disagree`]),
    ...judgeHistory(item),
  ];
}

/** What is left on each control account, in the order of their names; what cancelled out is left out. */
function controlTotals(legs: readonly RawItem[]): (readonly [string, string])[] {
  const groups = groupBy(legs, (leg) => text(leg, "control_account"));
  return [...groups]
    .map(([name, own]) => [name, sum(own.map((leg) => whole(leg, "amount_minor")))] as const)
    .filter(([, total]) => total !== 0n)
    .map(([name, total]) => [name, String(total)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The bookings that a transaction may have: more than one where the caller may leave the fee. */
function bookingsOf(item: RawItem): string[] {
  const [amount, fee] = [whole(item, "amount_minor"), whole(item, "fee_minor")];
  const [kind, status] = [text(item, "kind"), text(item, "status")];
  const deposit = kind === "deposit";
  if (kind === "negative_balance_correction")
    return [JSON.stringify([[[kind, String(amount)]], [["negative_balance", String(-amount)]]])];
  const control = platformKinds[kind];
  if (control !== undefined) return [JSON.stringify([[[kind, String(amount)]], [[control, String(-amount)]]])];
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
  const wentOut = !deposit && stepsOf(item).some(({ to }) => to === "processing");
  if (status === "processing" && wentOut) return [books([paid], [["payouts_in_transit", amount]])];
  if (status === "failed" && wentOut) return [books([paid, [kind, amount]], [])];
  return [books([], [])];
}

type Booked = readonly [name: string, minor: bigint];

/** Each state follows from the one before it, the last is the one it has, and only what is undecided can expire. */
function judgeHistory(item: RawItem): string[] {
  const id = text(item, "id");
  const steps = stepsOf(item);
  const chained = steps.every(({ from, to }, index) =>
    index === 0 ? from === null && to === "pending" : from === steps[index - 1]?.to && allowed("TXN", `${from}>${to}`),
  );
  const awaited = undecided.has(text(item, "status"));
  // What the sandbox's provider moves by itself is due whatever its state is.
  const provided = typeof item["provider_at"] === "string";
  const expires = typeof item["expires_at"] === "string";
  const due = [item["due_pk"], item["due_sk"]].map((value) => typeof value === "string");
  return [
    ...(chained && steps.at(-1)?.to === item["status"] ? [] : [`${id} has a history that does not follow`]),
    ...(versionFits(item, steps.length) ? [] : [`${id} has another version than steps`]),
    ...(expires === awaited && due.every((each) => each === (awaited || provided))
      ? []
      : [`${id} is ${text(item, "status")} and due or not wrongly`]),
  ];
}

/** A version for each step, and one more for each operation of a platform that was joined without one. */
function versionFits(item: RawItem, steps: number): boolean {
  const version = whole(item, "version");
  return version >= BigInt(steps) && version <= BigInt(steps + operationsOf(item).length);
}

function stepsOf(item: RawItem): { readonly from: unknown; readonly to: unknown }[] {
  const history = item["status_history"];
  if (!Array.isArray(history)) return [];
  return (history as readonly { readonly map: RawItem }[]).map(({ map }) => ({ from: map["from"], to: map["to"] }));
}

const moves: Readonly<Record<string, readonly string[]>> = {
  TXN: [
    "pending>approved",
    "pending>processing",
    "pending>completed",
    "pending>rejected",
    "pending>cancelled",
    "pending>failed",
    "approved>processing",
    "approved>completed",
    "approved>cancelled",
    "approved>failed",
    "processing>completed",
    "processing>failed",
    "completed>returned",
  ],
  CLIENT: ["active>suspended", "active>closed", "suspended>active", "suspended>closed"],
  ACCOUNT: ["active>disabled", "disabled>active", "disabled>closed", "closed>disabled"],
  WEBHOOK: [
    "enabled>disabled",
    "enabled>auto_disabled",
    "disabled>enabled",
    "auto_disabled>enabled",
    "enabled>deleted",
    "disabled>deleted",
    "auto_disabled>deleted",
  ],
  DELIVERY: [
    "pending>retrying",
    "pending>succeeded",
    "pending>cancelled",
    "retrying>succeeded",
    "retrying>exhausted",
    "retrying>cancelled",
  ],
};

function allowed(type: string, move: string): boolean {
  return moves[type]?.includes(move) ?? false;
}

/** Everything that can be said of the way the items went: each change by itself, from its two images. */
export function judgeChanges(changes: readonly RawChange[]): string[] {
  return [...judgeEach(changes), ...judgeOrder(changes)];
}

/** The entries of a kind, by account and number. */
function entriesOf(changes: readonly RawChange[], wanted: (entry: RawItem) => boolean): ReadonlySet<string> {
  const entries = changes.flatMap(({ after }) => (after?.["et"] === "LEDGER" && wanted(after) ? [after] : []));
  return new Set(entries.map((entry) => `${text(entry, "account_id")} ${whole(entry, "balance_version")}`));
}

function judgeEach(changes: readonly RawChange[]): string[] {
  const returns = entriesOf(changes, isReturn);
  const happened = platformMoney(changes.flatMap(({ after }) => (after === undefined ? [] : [after])));
  const traded = entriesOf(changes, (entry) => isTrading(entry) || happened.has(text(entry, "transaction_id")));
  return changes.flatMap(({ kind, before, after }) => {
    const item = after ?? before ?? {};
    const type = text(item, "et");
    const place = `${text(item, "pk")} ${text(item, "sk")}`;
    const about = (sentence: string | false) => (sentence === false ? [] : [`${place}: ${sentence}`]);
    const appendOnly = ["LEDGER", "CONTRA", "EVENT"].includes(type) && kind !== "INSERT" && !isPutToRest(before, after);
    const outbox = type === "OUTBOX" && kind === "MODIFY";
    if (before === undefined || after === undefined) {
      return [
        ...about(appendOnly && `was written again (${kind})`),
        ...about(
          kind === "INSERT" && hasNumber(item, "version") && firstVersionOff(item) && "does not begin at version 1",
        ),
        ...overdrawn(item, undefined, returns, traded, about),
      ];
    }
    const move = `${String(before["status"])}>${String(after["status"])}`;
    const moved = before["status"] !== after["status"];
    return [
      ...about((appendOnly || outbox) && `was written again (${kind})`),
      ...about(moved && moves[type] !== undefined && !allowed(type, move) && `went ${move}`),
      ...about(moved && moves[type] !== undefined && !versionRose(before, after) && "moved without a new version"),
      ...about(versionFell(before, after) && "has a version that does not follow"),
      // Only what has a version promises this: parallel holds on one balance commit in any order of their clocks.
      ...about(hasNumber(after, "version") && text(after, "updated_at") < text(before, "updated_at") && "went back"),
      ...about(before["created_at"] !== after["created_at"] && type !== "IDEM" && "changed its birth"),
      ...overdrawn(after, before, returns, traded, about),
    ];
  });
}

/** A published event is never changed, but for leaving the due index once all its deliveries are made. */
function isPutToRest(before: RawItem | undefined, after: RawItem | undefined): boolean {
  if (after?.["et"] !== "EVENT" || before === undefined) return false;
  const { wake_at, due_pk, due_sk, ...rest } = before;
  return inNameOrder(rest) === inNameOrder(after);
}

/** A value as text, whatever the order of the members of its objects. */
function inNameOrder(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** A transaction may be born completed: created and completed are two versions of one write. */
function firstVersionOff(item: RawItem): boolean {
  const first = text(item, "et") === "TXN" && text(item, "status") === "completed" ? 2n : 1n;
  return whole(item, "version") !== first;
}

/** Only a trade or what is returned by force may leave a debt; after the latter the account allows closing alone. */
function overdrawn(
  item: RawItem,
  before: RawItem | undefined,
  returns: ReadonlySet<string>,
  traded: ReadonlySet<string>,
  about: (sentence: string | false) => string[],
): string[] {
  if (text(item, "et") !== "BALANCE") return [];
  const amounts = ["balance_minor", "held_minor", "available_minor"];
  const [total = 0n, held = 0n, available = 0n] = amounts.map((name) => whole(item, name));
  const [had = 0n, , free = 0n] = before === undefined ? [] : amounts.map((name) => whole(before, name));
  const posted = before === undefined || whole(before, "seq") !== whole(item, "seq");
  const entry = `${text(item, "account_id")} ${whole(item, "seq")}`;
  const [returned, lost] = [posted && returns.has(entry), posted && traded.has(entry)];
  const more = before !== undefined && held > whole(before, "held_minor");
  return [
    ...about(available < 0n && available < free && !returned && !lost && `was overdrawn to ${available}`),
    ...about(available < 0n && more && "holds what it does not have"),
    ...about(total < 0n && had >= 0n && item["accepts"] === "all" && !lost && "has a debt and accepts all"),
    ...about(held < 0n && `held ${held}`),
    ...about(available !== total - held && "did not add up"),
  ];
}

/** Nothing new on an account after it was disabled, and no account of a client after it was suspended or closed. */
function judgeOrder(changes: readonly RawChange[]): string[] {
  const stopped = new Set<string>();
  return changes.flatMap(({ before, after }) => {
    if (after === undefined) return [];
    const [type, id] = [text(after, "et"), text(after, "id")];
    const asked = text(after, "kind") !== "negative_balance_correction" && !isPlatforms(after);
    const late = type === "TXN" && before === undefined && asked;
    if (late && stopped.has(text(after, "account_id"))) {
      return [`${id} was made after ${text(after, "account_id")} was disabled`];
    }
    if (type !== "ACCOUNT" && type !== "CLIENT") return [];
    const opened = type === "ACCOUNT" && before === undefined && stopped.has(text(after, "client_id"));
    if (after["status"] === "active") stopped.delete(id);
    else stopped.add(id);
    return opened ? [`${id} was opened after ${text(after, "client_id")} was suspended or closed`] : [];
  });
}

function versionRose(before: RawItem, after: RawItem): boolean {
  const rise = whole(after, "version") - whole(before, "version");
  return rise === 1n || (rise === 2n && tookNoteAlong(before, after));
}

/** Who changes an endpoint that was noted as switched off writes that along: two versions in one write. */
function tookNoteAlong(before: RawItem, after: RawItem): boolean {
  if (after["et"] !== "WEBHOOK" || before["status"] !== "enabled") return false;
  return after["status"] !== "enabled" || whole(after, "epoch") > whole(before, "epoch");
}

function versionFell(before: RawItem, after: RawItem): boolean {
  if (!hasNumber(before, "version")) return false;
  return whole(after, "version") !== whole(before, "version") && !versionRose(before, after);
}

/** One event as it was announced, waiting or published. */
interface Announced {
  readonly type: string;
  readonly resource: { readonly id: string; readonly version: number };
  readonly data: { readonly object: Record<string, unknown> };
}

/**
 * Every committed change of an announced kind has exactly one event, and no event is without its change. Events are
 * taken from what waits in the outbox and what is published; what should be there follows from the stream.
 */
export function judgeEvents(items: readonly RawItem[], changes: readonly RawChange[]): string[] {
  const announced = [
    ...ofType(items, "OUTBOX").flatMap((item) =>
      (item["events"] as readonly string[]).map((each) => (JSON.parse(each) as { body: Announced }).body),
    ),
    ...ofType(items, "EVENT").map((item) => JSON.parse(text(item, "payload")) as Announced),
  ];
  const nameOf = ({ type, resource }: Announced) => `${type} of ${resource.id} at version ${resource.version}`;
  const told = countOf(announced.filter(({ type }) => !marginKinds.has(type)).map(nameOf));
  const expected = countOf(changes.flatMap(expectedEvents));
  return [
    ...[...expected].flatMap(([name, count]) =>
      (told.get(name) ?? 0) === count ? [] : [`${name} was announced ${told.get(name) ?? 0} times`],
    ),
    ...[...told.keys()].filter((name) => !expected.has(name)).map((name) => `${name} was announced and did not happen`),
    ...announced
      .filter(({ resource, data }) => data.object["id"] !== resource.id || data.object["version"] !== resource.version)
      .map((event) => `${nameOf(event)} shows another version`),
    ...judgeSequences(items),
    ...judgeMarginEvents(announced, items, changes),
  ];
}

/** Every published event has one first delivery for each endpoint it was owed to, or is still due; and no other one. */
function judgeDeliveries(items: readonly RawItem[]): string[] {
  const first = ofType(items, "DELIVERY").filter(
    (item) => whole(item, "redelivery") === 0n && item["event_sequence"] !== null,
  );
  const made = countOf(first.map((item) => `${tenantOf(item)} ${text(item, "event_id")} ${text(item, "endpoint_id")}`));
  const owed = new Set<string>();
  const missing = ofType(items, "EVENT").flatMap((item) =>
    ((item["endpoints"] ?? []) as readonly { map: RawItem }[]).flatMap(({ map }) => {
      const name = `${tenantOf(item)} ${text(item, "id")} ${text(map, "id")}`;
      owed.add(name);
      return made.has(name) || item["due_pk"] !== undefined ? [] : [`${name} was owed and nobody delivers it`];
    }),
  );
  return [
    ...missing,
    ...[...made].filter(([, count]) => count > 1).map(([name]) => `${name} is delivered twice`),
    ...[...made.keys()].filter((name) => !owed.has(name)).map((name) => `${name} is delivered and was not owed`),
  ];
}

function expectedEvents({ before, after }: RawChange): string[] {
  if (after === undefined) return [];
  const name = (type: string, version = whole(after, "version")) =>
    `${type} of ${text(after, "id")} at version ${version}`;
  const enters = (attribute: string, value: string) => after[attribute] === value && before?.[attribute] !== value;
  const changed = before !== undefined && whole(before, "version") !== whole(after, "version");
  switch (text(after, "et")) {
    case "CLIENT":
      if (before === undefined) return [name("client.created")];
      return [
        ...(enters("verification_status", "verified") ? [name("client.verified")] : []),
        ...(changed ? [name("client.updated")] : []),
      ];
    case "ACCOUNT":
      if (before === undefined) return [name("account.created")];
      return changed ? [name("account.updated")] : [];
    case "TXN": {
      const completed = enters("status", "completed");
      return [
        ...(before === undefined ? [name("transaction.created", 1n)] : []),
        ...(completed ? [name("transaction.completed")] : []),
        ...(changed || completed ? [name("transaction.updated")] : []),
      ];
    }
    case "TRADE":
      return expectedTradeEvents(before, after).map((type) => name(type));
    default:
      return [];
  }
}

/** The published events of a tenant are numbered from 1 without a gap, up to where the counter stands. */
function judgeSequences(items: readonly RawItem[]): string[] {
  const counters = new Map(ofType(items, "SEQ").map((item) => [tenantOf(item), whole(item, "n")]));
  const published = groupBy(ofType(items, "EVENT"), tenantOf);
  return [...new Set([...counters.keys(), ...published.keys()])].flatMap((tenant) => {
    const numbers = (published.get(tenant) ?? []).map((item) => whole(item, "sequence"));
    const sorted = numbers.toSorted((a, b) => Number(a - b));
    const gapless = sorted.every((number, index) => number === BigInt(index + 1));
    return gapless && counters.get(tenant) === BigInt(sorted.length) ? [] : [`the events of ${tenant} have a gap`];
  });
}

function tenantOf(item: RawItem): string {
  return text(item, "pk").slice(0, 30);
}
