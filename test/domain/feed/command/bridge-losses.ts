import { applyItem, type Made } from "../../../../shared/domain/feed/apply.ts";
import { isSettlement } from "../../../../shared/domain/feed/command/settlement.ts";
import { type Effect, effectOf } from "../../../../shared/domain/feed/drift/compare.ts";
import type { Change, Decision } from "../../../../shared/domain/records/change.ts";
import type { MoneyCommand, SettlementCommand } from "../../../../shared/domain/records/command.ts";
import type { Position } from "../../../../shared/domain/records/position.ts";
import type { Trade } from "../../../../shared/domain/records/trade.ts";
import type { TradingDecision } from "../../../../shared/domain/records/trading-change.ts";
import type { Market } from "../../../../shared/domain/trading/pricing/quote.ts";
import { someMarket } from "../../../support/builders/trading.ts";
import { opening } from "../../feed-cases.ts";
import { decimal } from "./bridge-changes.ts";
import { TwoBooks } from "./bridge-model.ts";

/** Two books of protected accounts that the service decides for, and that trade on the platform. */
export class TradedBooks extends TwoBooks {
  private deals = 0;
  private readonly market: Market;

  constructor(fields: { readonly four_eyes?: boolean } = {}, authoritative: "platform" | "service" = "service") {
    super(fields, authoritative);
    const sources = new Map([[this.source.name, { authoritative }]]);
    this.market = { ...someMarket(), sources } as never as Market;
  }

  /** Commands by which the platform follows what was settled here, without searches, the oldest first. */
  get settlements(): readonly SettlementCommand[] {
    return [...this.commands.values()].filter(isSettlement).filter(({ about_id }) => about_id === undefined);
  }

  /**
   * Settlements here that the platform refused to follow, and no person has repeated there.
   * @param counts whether what its entry did is counted
   */
  unfollowedMinor(account_id: string, counts: (effect: Effect) => boolean = () => true): bigint {
    const refused = this.settlements.filter(
      (each) =>
        each.account_id === account_id &&
        each.feed_seq === undefined &&
        ["failed", "cancelled"].includes(each.status) &&
        each.type === "balance_operation",
    );
    const ids = new Set(refused.map(({ id }) => id));
    const entries = this.entries.filter(({ command_id = "" }) => ids.has(command_id));
    const effects = entries.map((each) => effectOf(each, this.transactions.get(each.transaction_id ?? ""), undefined));
    return effects.filter(counts).reduce((sum, { balance_minor }) => sum + balance_minor, 0n);
  }

  /** Opens and closes a position on the platform with this result, which is reported at once. */
  trade(minor: bigint, account_id = this.main): void {
    this.deals += 1;
    const [position_id, name] = [`P-${this.deals}`, `D-${this.deals}`];
    const opened = this.deal(account_id, "1", opening({ deal_id: `${name}-in`, position_id, price: "1.10000" }));
    const { position, trade } = this.made(opened);
    const { seq } = this.operate(minor, null, account_id);
    const data = { action: "close", deal_id: name, position_id, price: "1.10000", profit: decimal(minor) } as const;
    this.deal(account_id, String(seq), data, { position, trade });
  }

  private deal(
    account_id: string,
    seq: string,
    data: object,
    held?: { readonly position: Position; readonly trade: Trade },
  ): readonly Change[] {
    const { account, balance } = this.accountOf(account_id);
    const context = { ...this.context(), cause: { source_id: this.source.id, feed_seq: seq } };
    const positions = held === undefined ? [] : [held.position];
    const trades = new Map(held === undefined ? [] : [[held.trade.id, held.trade]]);
    const state = { account, balance, positions, trades, risk: undefined, client: { status: "active" } };
    const item = { type: "execution", seq, data: { platform_login: account.platform_login, ...data } };
    const decision: TradingDecision<Made> = applyItem(
      state as never,
      this.market,
      item as never,
      { trade_id: held?.trade.id, order_id: null },
      { source: this.source, at: this.now },
      context,
    );
    if (this.commit(decision as Decision<Made>) === undefined) throw new Error(`The deal was refused: ${this.refusal}`);
    return decision.ok ? (decision.changes as readonly Change[]) : [];
  }

  private made(changes: readonly Change[]): { readonly position: Position; readonly trade: Trade } {
    const created = changes.map((change) => change as { op: string; entity?: string; item?: unknown });
    const find = (entity: string) => created.find((each) => each.op === "create" && each.entity === entity)?.item;
    return { position: find("position") as Position, trade: find("trade") as Trade };
  }

  /** The command of the newest settlement. */
  get settlement(): SettlementCommand {
    const newest = this.settlements.at(-1);
    if (newest === undefined) throw new Error("Nothing was settled.");
    return newest;
  }

  /** Takes a command, which must be handed out. */
  taken({ id }: Pick<MoneyCommand, "id">): MoneyCommand {
    const command = this.take(id);
    if (command === undefined) throw new Error(`${id} was not handed out.`);
    return command;
  }
}
