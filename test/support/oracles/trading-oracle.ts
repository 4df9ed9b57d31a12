import { countOf, groupBy, ofType, sum, text, whole } from "../emulator/raw-items.ts";
import type { RawChange, RawItem } from "../emulator/raw-table.ts";

/**
 * Rules of trades, positions and margin whatever the service did, from the raw items alone. As in the oracle of money,
 * keys and arithmetic are written a second time.
 */
export function judgeTrading(items: readonly RawItem[]): string[] {
  const trades = ofType(items, "TRADE");
  const positions = groupBy(ofType(items, "POSITION"), (item) => text(item, "account_id"));
  const risks = new Map(ofType(items, "RISK").map((item) => [text(item, "account_id"), item]));
  const exposures = groupBy(ofType(items, "EXPOSURE"), (item) => text(item, "account_id"));
  const profiles = new Map(ofType(items, "ACCOUNT").map((item) => [text(item, "id"), item]));
  return [
    ...judgePairs(trades, ofType(items, "POSITION")),
    ...judgeFamilies(trades, ofType(items, "LEDGER")),
    ...ofType(items, "BALANCE").flatMap((balance) => {
      const id = text(balance, "account_id");
      const account = profiles.get(id) ?? {};
      const own = positions.get(id) ?? [];
      const found = { balance, account, positions: own, risk: risks.get(id) };
      return [...judgeMargin(found), ...judgeWatch(found, exposures.get(id) ?? [])].map((each) => `${id}: ${each}`);
    }),
    ...[...exposures.keys()].filter((id) => !profiles.has(id)).map((id) => `${id} is exposed and is not there`),
  ];
}

/** A position is the open side of exactly one open trade, and every open trade has one. */
function judgePairs(trades: readonly RawItem[], positions: readonly RawItem[]): string[] {
  const open = new Map(trades.filter(({ status }) => status === "open").map((item) => [text(item, "id"), item]));
  const shared = [
    "account_id",
    "client_id",
    "symbol",
    "side",
    "lots",
    "open_price",
    "currency",
    "margin_ratio",
    "source",
  ];
  const money = ["swap_minor"];
  const held = countOf(positions.map((item) => text(item, "trade_id")));
  return [
    ...positions.flatMap((position) => {
      const trade = open.get(text(position, "trade_id"));
      if (trade === undefined) return [`${text(position, "id")} has no open trade`];
      const differs = shared.filter((name) => trade[name] !== position[name]);
      const off = money.filter((name) => whole(trade, name) !== whole(position, name));
      const tied = text(trade, "position_id") === text(position, "id");
      const faults = [...differs, ...off, ...(tied ? [] : ["position_id"])];
      return faults.length === 0 ? [] : [`${text(position, "id")} and its trade differ in ${faults.join()}`];
    }),
    ...[...open.keys()].flatMap((id) =>
      (held.get(id) ?? 0) === 1 ? [] : [`${id} is open in ${held.get(id) ?? 0} positions`],
    ),
  ];
}

/** Lots, commission and swap of the slices of a trade add up to the whole, and to what the ledger has of them. */
function judgeFamilies(trades: readonly RawItem[], ledgers: readonly RawItem[]): string[] {
  const byTrade = groupBy(
    ledgers.filter((item) => text(item, "trade_id") !== ""),
    (item) => text(item, "trade_id"),
  );
  const known = new Set(trades.map((item) => text(item, "id")));
  const families = groupBy(trades, (item) => text(item, "parent_trade_id") || text(item, "id"));
  const booked = (id: string, kind: string) =>
    sum(
      (byTrade.get(id) ?? []).filter((item) => text(item, "kind") === kind).map((item) => whole(item, "amount_minor")),
    );
  return [
    ...[...byTrade.keys()].filter((id) => !known.has(id)).map((id) => `${id} is booked and was never traded`),
    ...[...families].flatMap(([id, family]) => {
      const root = family.find((item) => text(item, "id") === id);
      if (root === undefined) return [`${id} has slices and is not there`];
      const lots = sum(family.map((item) => units(text(item, "lots"))));
      const commission = sum(family.map((item) => whole(item, "commission_minor")));
      const paid = sum(family.map((item) => booked(text(item, "id"), "commission")));
      return [
        ...(lots === units(text(root, "initial_lots")) ? [] : [`the lots of ${id} do not add up`]),
        ...(commission === paid ? [] : [`${id} cost ${commission} and its ledger says ${paid}`]),
        ...family.flatMap((item) => judgeClose(item, booked)),
      ];
    }),
  ];
}

function judgeClose(trade: RawItem, booked: (id: string, kind: string) => bigint): string[] {
  const id = text(trade, "id");
  const [gross, swap] = [booked(id, "realised_pnl"), booked(id, "swap")];
  if (text(trade, "status") === "open") {
    const closed = ["close_price", "close_at", "close_reason", "gross_minor"].some((name) => trade[name] !== null);
    return gross === 0n && swap === 0n && !closed ? [] : [`${id} is open and realised`];
  }
  const fits = whole(trade, "gross_minor") === gross && whole(trade, "swap_minor") === swap;
  return fits && typeof trade["close_at"] === "string" ? [] : [`${id} and its ledger disagree`];
}

interface Found {
  readonly balance: RawItem;
  readonly account: RawItem;
  readonly positions: readonly RawItem[];
  readonly risk: RawItem | undefined;
}

/**
 * The margin of a position by itself: its lots times what one takes at leverage 1, over the leverage or the cap that
 * they were opened under, all over one denominator and rounded once.
 */
function marginOf(position: RawItem, leverage: bigint): bigint {
  const terms = (position["margin_terms"] as readonly { readonly map: RawItem }[]).map(({ map }) => {
    const cap = map["max_leverage"] === null ? leverage : whole(map, "max_leverage");
    const [units_part = "0", fraction = ""] = text(map, "per_lot").split(".");
    return { over: BigInt(units_part + fraction.padEnd(18, "0")), under: cap < leverage ? cap : leverage };
  });
  const product = terms.reduce((all, { under }) => all * under, 1n);
  const perLot = terms.reduce((total, { over, under }) => total + (over * product) / under, 0n);
  const minor = text(position, "currency") === "JPY" ? 1n : 100n;
  const [above, below] = [perLot * units(text(position, "lots")) * minor, product * 10n ** 26n];
  return (2n * above + below) / (2n * below);
}

/**
 * Used margin is what its positions take, symbol by symbol, and a protected account without positions owes no more than
 * its debt.
 */
function judgeMargin({ balance, account, positions }: Found): string[] {
  if (positions.length === 0 && balance["positions"] === undefined) return [];
  const bySymbol = groupBy(positions, (item) => text(item, "symbol"));
  const leverage = whole(balance, "leverage");
  const used = sum(
    [...bySymbol.values()].map((own) => symbolMargin(text(account, "margin_calculation"), own, leverage)),
  );
  const numbers = sum(positions.map((item) => whole(item, "pos_version")));
  const netting = text(account, "position_mode") === "netting" && bySymbol.size !== positions.length;
  const debt = balance["debt_minor"] === undefined ? 0n : whole(balance, "debt_minor");
  const owes = whole(balance, "balance_minor") < -debt && positions.length === 0;
  return [
    ...(owes && account["negative_balance_protection"] === true ? ["is protected and owes"] : []),
    ...(whole(balance, "positions") === BigInt(positions.length) ? [] : ["counts its positions wrongly"]),
    ...(whole(balance, "used_margin_minor") === used ? [] : [`uses ${whole(balance, "used_margin_minor")} of ${used}`]),
    ...(whole(balance, "positions_sum") === numbers ? [] : ["has positions that its balance does not know"]),
    ...(whole(account, "leverage") === leverage ? [] : ["has a margin of another leverage"]),
    ...(netting ? ["nets and has two positions of one symbol"] : []),
  ];
}

function symbolMargin(mode: string, positions: readonly RawItem[], leverage: bigint): bigint {
  const side = (name: string) => {
    const own = positions.filter((item) => text(item, "side") === name);
    return {
      margin: sum(own.map((item) => marginOf(item, leverage))),
      lots: sum(own.map((item) => units(text(item, "lots")))),
    };
  };
  const [buy, sell] = [side("buy"), side("sell")];
  if (mode === "sum") return buy.margin + sell.margin;
  if (mode === "max") return buy.margin > sell.margin ? buy.margin : sell.margin;
  const [larger, smaller] = buy.lots < sell.lots ? [sell, buy] : [buy, sell];
  if (larger.lots === 0n) return 0n;
  // Half away from zero: nothing here is negative.
  return (2n * larger.margin * (larger.lots - smaller.lots) + larger.lots) / (2n * larger.lots);
}

/** The triggers of an account are exactly those of its risk, and its risk was written with its positions. */
function judgeWatch({ positions, risk }: Found, exposures: readonly RawItem[]): string[] {
  if (risk === undefined) return positions.length + exposures.length === 0 ? [] : ["has positions and no risk"];
  const wanted = (risk["triggers"] as readonly { readonly map: RawItem }[]).flatMap(({ map }) =>
    (["down", "up"] as const).flatMap((side) => {
      const trigger = map[side];
      return typeof trigger === "string" ? [`${text(map, "symbol")} ${side === "down" ? "dn" : "up"} ${trigger}`] : [];
    }),
  );
  const found = exposures.map((item) => `${text(item, "symbol")} ${text(item, "direction")} ${text(item, "trigger")}`);
  const padded = (trigger: string) => String(BigInt(trigger) + 10n ** 27n).padStart(28, "0");
  const misplaced = exposures.filter(
    (item) => text(item, "sk") !== `${padded(text(item, "trigger"))}|${text(item, "account_id")}`,
  );
  const watched = new Set((risk["triggers"] as readonly { readonly map: RawItem }[]).map(({ map }) => map["symbol"]));
  const settled = risk["run"] === null && risk["wake_at"] === null;
  const unseen = positions.filter((item) => settled && !watched.has(text(item, "symbol")));
  return [
    ...(wanted.toSorted().join() === found.toSorted().join() ? [] : [`is exposed at ${found} and not at ${wanted}`]),
    ...(misplaced.length === 0 ? [] : ["is exposed at another place than it says"]),
    ...(unseen.length === 0 ? [] : [`watches no price of ${unseen.map((item) => text(item, "symbol")).join()}`]),
    ...((risk["run"] === null) === (risk["wake_at"] === null) || risk["run"] === null
      ? []
      : ["has a run without a wake-up"]),
  ];
}

/** Lots as a whole number of 10^-8. */
function units(decimal: string): bigint {
  const [whole_part = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole_part + fraction.padEnd(8, "0"));
}

/** The events that a change of a trade must have. */
export function expectedTradeEvents(before: RawItem | undefined, after: RawItem): string[] {
  // A deal that is taken back leaves a trade with other lots, one that is open again, or one that is closed.
  const reversed = after["close_reason"] === "reversed" && before?.["close_reason"] !== "reversed";
  const closed = after["status"] === "closed" && (before?.["status"] !== "closed" || reversed);
  const reopened = before?.["status"] === "closed";
  const moved = before !== undefined && units(text(after, "initial_lots")) !== units(text(before, "initial_lots"));
  const opened = after["status"] === "open" && (before === undefined || moved || reopened);
  return [...(opened ? ["trade.opened"] : []), ...(closed ? ["trade.closed"] : [])];
}

/** Kinds that tell of an account's margin: several may be about one version of the account. */
export const marginKinds: ReadonlySet<string> = new Set(["margin.call", "margin.recovered", "stop.out"]);

interface Announced {
  readonly type: string;
  readonly resource: { readonly id: string };
  readonly data: { readonly object: Record<string, unknown> };
}

/**
 * As many calls as the risk says, and a recovery from each but the one that it is in; each stop-out after its call,
 * with the trades it closed.
 */
export function judgeMarginEvents(
  announced: readonly Announced[],
  items: readonly RawItem[],
  changes: readonly RawChange[],
): string[] {
  const told = countOf(announced.map(({ type, resource }) => `${type} of ${resource.id}`));
  const risks = ofType(items, "RISK").flatMap((risk) => {
    const id = text(risk, "account_id");
    const [calls, recoveries] = [told.get(`margin.call of ${id}`) ?? 0, told.get(`margin.recovered of ${id}`) ?? 0];
    return [
      ...(whole(risk, "episode") === BigInt(calls) ? [] : [`${id} was called ${calls} times`]),
      ...(recoveries === calls - (risk["armed"] === false ? 1 : 0) ? [] : [`${id} recovered ${recoveries} times`]),
    ];
  });
  const liquidated = ofType(items, "TRADE").filter((item) => text(item, "close_reason") === "stop_out");
  const running = new Set(
    ofType(items, "RISK")
      .filter(({ run, platform_run: begun }) => run !== null || begun !== undefined)
      .map((item) => text(item, "account_id")),
  );
  const named = countOf(
    announced.filter(({ type }) => type === "stop.out").flatMap(({ data }) => closedIn(data.object)),
  );
  const unnamed = liquidated.filter(
    (item) => named.get(text(item, "id")) !== 1 && !running.has(text(item, "account_id")),
  );
  return [
    ...risks,
    ...unnamed.map((item) => `${text(item, "id")} was liquidated and no one stop.out names it`),
    ...[...named.keys()]
      .filter((id) => !liquidated.some((item) => text(item, "id") === id))
      .map((id) => `${id} is named by a stop.out and was not liquidated`),
    ...judgeEpisodes(changes),
  ];
}

function closedIn(object: Record<string, unknown>): string[] {
  const told = object["stop_out"] as { readonly closed_trade_ids?: readonly string[] } | undefined;
  return [...(told?.closed_trade_ids ?? [])];
}

/** The event of a text in an outbox; what tests put there that is none tells of nothing. */
function announcedIn(text: string): Announced[] {
  if (![...marginKinds].some((kind) => text.includes(kind))) return [];
  return [(JSON.parse(text) as { readonly body: Announced }).body];
}

/** In the order of their commits: a call, then whatever it leads to, then a recovery before the next call. */
function judgeEpisodes(changes: readonly RawChange[]): string[] {
  const called = new Set<string>();
  return changes.flatMap(({ before, after }) => {
    if (before !== undefined || after?.["et"] !== "OUTBOX") return [];
    const events = (after["events"] as readonly string[]).flatMap(announcedIn);
    return events.flatMap(({ type, resource, data }) => {
      if (!marginKinds.has(type)) return [];
      const had = called.has(resource.id);
      if (type === "margin.call") called.add(resource.id);
      if (type === "margin.recovered") called.delete(resource.id);
      const ended = (data.object["stop_out"] as { after?: { margin_status?: string } } | undefined)?.after;
      return [
        ...(type === "margin.call" && had ? [`${resource.id} was called twice in one episode`] : []),
        ...(type !== "margin.call" && !had ? [`${resource.id} had a ${type} without a call`] : []),
        ...(ended?.margin_status === "stop_out" ? [`${resource.id} was left at its stop-out level`] : []),
      ];
    });
  });
}
