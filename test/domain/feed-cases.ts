import { accrueDeal, closeDeal, type DealLinks, openDeal } from "../../shared/domain/feed/deals.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { FeedData } from "../../shared/schema/feed.ts";
import { decisionContext } from "../support/builders/decisions.ts";
import { someMarket, tradingAccount } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";

export const context = decisionContext();

export const market = someMarket();

export const origin = {
  source: { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative: "platform" },
  at: "2026-11-21T06:00:00.000Z",
} as const;

export type Opening = Extract<FeedData["execution"], { action: "open" }>;

export const opening = (more: Partial<Opening> = {}): Opening => ({
  action: "open",
  platform_login: "1",
  deal_id: "D-1",
  position_id: "P-1",
  symbol: "EURUSD",
  side: "buy",
  lots: "1.00",
  price: "1.10010",
  ...more,
});

export const unknown = { trade: undefined, order_id: null };

export const desk = (fields: Partial<Account> = {}) => new TradingDesk(tradingAccount("10000.00", fields));

/** An account with the deals of one position of a platform. */
export class PlatformPosition {
  readonly desk: TradingDesk;
  private trade: string | undefined;

  constructor(fields: Partial<Account> = {}) {
    this.desk = desk(fields);
  }

  private get links(): DealLinks {
    return { trade: this.trade === undefined ? undefined : this.desk.trades.get(this.trade), order_id: null };
  }

  get balance(): bigint {
    return this.desk.balance.balance_minor;
  }

  open(more: Partial<Opening> = {}): this {
    const decision = openDeal(this.desk.state, market, opening(more), this.links, origin, context);
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const changes = decision.changes.filter(({ op }) => op !== "claim");
    const trade = this.desk.apply({ ...decision, changes });
    if (trade !== undefined) this.trade = trade.id;
    return this;
  }

  close(more: Partial<Closing> = {}): this {
    const data = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.10010", ...more } as const;
    this.desk.apply(closeDeal(this.desk.state, market, data, this.links, origin, context));
    return this;
  }

  accrue(amount: string): this {
    const data = { position_id: "P-1", amount, for_date: "2026-11-20" };
    this.desk.apply(accrueDeal(this.desk.state, data, this.links, origin, context));
    return this;
  }

  /** Swap that the open position carries, and that the ledger has, in minor units. */
  get swaps(): { readonly left: bigint | undefined; readonly booked: bigint[] } {
    const [position] = this.desk.positions.values();
    const entries = this.desk.ledger.filter(({ kind }) => kind === "swap");
    return { left: position?.swap_minor, booked: entries.map(({ amount_minor }) => amount_minor) };
  }

  /** The sum of the swap that the ledger has, in minor units. */
  get ledgerSwap(): bigint {
    return this.swaps.booked.reduce((sum, amount_minor) => sum + amount_minor, 0n);
  }
}

type Closing = Extract<FeedData["execution"], { action: "close" }>;

/** Hundredths as a decimal with two digits. */
export function text(hundredths: number): string {
  const size = String(Math.abs(hundredths)).padStart(3, "0");
  return `${hundredths < 0 ? "-" : ""}${size.slice(0, -2)}.${size.slice(-2)}`;
}
