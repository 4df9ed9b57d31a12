import { creditAt } from "../../accounts/credit-lots.ts";
import type { MarginStatus } from "../../records/risk.ts";
import { type Holdings, marginStatus, positionMargin, usedMargin } from "../margin.ts";
import type { Valuation } from "../profit.ts";

/** Value of a position in a decision: a gain at an old price counts, a loss does not. */
function countedMinor({ stale, floating_minor }: Valuation): bigint {
  return stale && floating_minor < 0n ? 0n : floating_minor;
}

/** Where an account stands for a decision. */
export interface Standing {
  /** Equity that decides a stop-out, in minor units: with credits of operations that are put aside. */
  readonly equity: bigint;
  readonly used: bigint;
  readonly status: MarginStatus;
}

/** Where an account stands for a decision, with old prices counted in its favour. */
export function standingOf(
  { account, balance, positions }: Holdings,
  values: readonly Valuation[],
  now: string,
): Standing {
  const floating = values.reduce((sum, value) => sum + countedMinor(value), 0n);
  const { aside_minor: aside = 0n } = balance;
  const shown = balance.balance_minor + creditAt(balance, now) + floating;
  const used = usedMargin({ account, balance, positions });
  const status = marginStatus(account, shown, used, positions.length, aside);
  return { equity: shown + aside, used, status };
}

/**
 * The positions that a liquidation may close, in the order it closes them. Those whose market is closed or whose price
 * is old cannot be executed. The worth of one does not depend on the others, so the order holds for the whole step.
 */
export function closingOrder(
  { account, balance }: Pick<Holdings, "account" | "balance">,
  values: readonly Valuation[],
): readonly Valuation[] {
  return values
    .filter(({ open, stale }) => open && !stale)
    .toSorted((a, b) => comesFirst(account.stop_out_order, balance.leverage, a, b));
}

function comesFirst(
  order: Holdings["account"]["stop_out_order"],
  leverage: number,
  a: Valuation,
  b: Valuation,
): number {
  const losing = Number(a.floating_minor > b.floating_minor) - Number(a.floating_minor < b.floating_minor);
  const [one, other] = [positionMargin(a.position, leverage), positionMargin(b.position, leverage)];
  const margin = Number(one < other) - Number(one > other);
  const text = (x: string, y: string) => Number(x > y) - Number(x < y);
  return (
    (order === "most_losing_first" ? losing : 0) ||
    margin ||
    text(a.position.opened_at, b.position.opened_at) ||
    text(a.position.id, b.position.id)
  );
}
