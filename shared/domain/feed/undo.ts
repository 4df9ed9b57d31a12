import type { Ledger } from "../records/ledger.ts";
import type { Position } from "../records/position.ts";
import type { Trade } from "../records/trade.ts";
import type { PositionChange, TradingChange } from "../records/trading-change.ts";
import { rational } from "../trading/pricing/rational.ts";

/** Effect of a deal, as far as it is needed to take it back; amounts in minor units as texts. */
export interface DealUndo {
  readonly symbol: string;
  readonly entries: readonly {
    readonly kind: "realised_pnl" | "swap" | "commission";
    readonly minor: string;
    readonly trade_id: string;
    /** Number of the entry. */
    readonly seq: number;
  }[];
  /** The trade that it opened or raised, with the lots that it left. */
  readonly opened?: Pick<Trade, "lots" | "initial_lots"> & {
    readonly trade: string;
    /** The trade before, where it was raised. */
    readonly before?: Pick<
      Trade,
      "lots" | "initial_lots" | "open_price" | "margin_ratio" | "stop_loss" | "take_profit"
    > &
      Pick<Position, "margin_terms">;
  };
  /** The trade that it closed: all of it, or a part of the trade `of`. */
  readonly closed?: {
    readonly trade: string;
    readonly of: string;
    /** Swap that was accrued on what it closed. */
    readonly swap: string;
    /** The names of what is left of the position, where it goes on under another one. */
    readonly renamed?: { readonly from: string; readonly to: string };
    /** The position that is not there any more, as far as its trade does not say it. */
    readonly position?: Pick<Position, "version" | "margin_terms" | "source_position_id" | "swap_through">;
  };
}

const kinds: ReadonlySet<string> = new Set(["realised_pnl", "swap", "commission"]);

/** The record that takes back the changes of a deal. */
export function undoOf(changes: readonly TradingChange[]): DealUndo {
  const entries = changes.flatMap((change) => {
    if (change.op !== "create" || change.entity !== "ledger") return [];
    const { kind, amount_minor, trade_id = "", settlement, balance_version: seq } = change.item as Ledger;
    const own = kinds.has(kind) && trade_id !== "" && (settlement === undefined || settlement !== "repayment");
    return own
      ? [{ kind: kind as DealUndo["entries"][number]["kind"], minor: String(amount_minor), trade_id, seq }]
      : [];
  });
  const moved = changes.flatMap(tradeChange);
  const positions = changes.flatMap((change) =>
    "entity" in change && change.entity === "position" ? [change as PositionChange] : [],
  );
  const raised = moved.find(({ before, after }) => after.status === "open" && isMore(before?.lots, after.lots));
  const slice = moved.find(({ after }) => after.status === "closed");
  return {
    symbol: moved[0]?.after.symbol ?? "",
    entries,
    ...(raised === undefined ? {} : { opened: openedBy(raised, positions) }),
    ...(slice === undefined ? {} : { closed: closedBy(slice.after, positions) }),
  };
}

interface TradeChange {
  readonly before: Trade | undefined;
  readonly after: Trade;
}

function tradeChange(change: TradingChange): TradeChange[] {
  if (change.op === "create" && change.entity === "trade") return [{ before: undefined, after: change.item as Trade }];
  if (change.op !== "update" || change.entity !== "trade") return [];
  return [{ before: change.before as Trade, after: change.after as Trade }];
}

function isMore(before: string | undefined, after: string): boolean {
  return before === undefined || rational(after).gt(rational(before));
}

function openedBy({ before, after }: TradeChange, positions: readonly PositionChange[]): DealUndo["opened"] & object {
  const { id: trade, lots, initial_lots } = after;
  const held = positions.flatMap((change) => (change.op === "update" ? [change.before] : []))[0];
  if (before === undefined || held === undefined) return { trade, lots, initial_lots };
  const { margin_ratio, open_price, stop_loss, take_profit } = before;
  const { margin_terms } = held;
  const was = {
    lots: before.lots,
    initial_lots: before.initial_lots,
    open_price,
    margin_ratio,
    stop_loss,
    take_profit,
  };
  return { trade, lots, initial_lots, before: { ...was, margin_terms } };
}

function closedBy({ id, parent_trade_id }: Trade, positions: readonly PositionChange[]): DealUndo["closed"] & object {
  const [change] = positions.filter(({ op }) => op !== "create");
  if (change === undefined || change.op === "create") throw new Error(`The position of ${id} did not change.`);
  const { before } = change;
  const of = parent_trade_id ?? id;
  if (change.op === "update") {
    const [from, to] = [before.source_position_id, change.after.source_position_id];
    const renamed = from === undefined || to === undefined || from === to ? {} : { renamed: { from, to } };
    return { trade: id, of, swap: String(before.swap_minor - change.after.swap_minor), ...renamed };
  }
  const { version, margin_terms, source_position_id, swap_through } = before;
  const position = {
    version,
    margin_terms,
    ...(source_position_id === undefined ? {} : { source_position_id }),
    ...(swap_through === undefined ? {} : { swap_through }),
  };
  return { trade: id, of: id, swap: String(before.swap_minor), position };
}
