import type { CommandBody, LiquidationBody, TermsBody } from "../../schema/feed/command.ts";
import type { Actor } from "../kernel/decision.ts";
import type { LegName } from "./leg.ts";
import type { Transaction } from "./transaction.ts";

/** Members that every command to a trading platform is stored with. */
export interface StoredCommand
  extends Omit<CommandBody, "object" | "_links" | "payload" | "type" | "transaction_id" | "leg" | "drift_id"> {
  readonly tenant_id: string;
  readonly client_id: string;
}

/** A command about the money of an account: to move it, or to look for the operation that has moved it. */
export interface AboutMoney extends StoredCommand {
  readonly type: "balance_operation" | "credit_operation" | "find_operation";
  /** With its sign: what the operation adds to the account. */
  readonly amount_minor: bigint;
  readonly currency: Transaction["currency"];
  /** The command whose operation is looked for; only of `find_operation`. */
  readonly about_id?: string;
  /** Searches for its operation since its outcome became unknown; absent before. */
  readonly searches?: number;
  /** When the next search is issued, RFC 3339; absent unless the last one has failed. */
  readonly search_again_at?: string;
}

/** A command that moves a leg of a transaction, whose money is booked here once the platform has moved it. */
export interface TransactionCommand extends AboutMoney {
  readonly purpose: "transaction";
  readonly transaction_id: string;
  readonly leg: LegName;
  readonly drift_id: null;
  /** The transaction is a leg of a transfer, which goes on when the command has ended. */
  readonly transfer?: true;
}

/** A command that brings the money on the platform to what is booked here: nothing is booked for it. */
export interface Correcting extends AboutMoney {
  readonly leg: null;
  /** Application or operator that asked for it last: another one requeues it where the brokerage asks for four eyes. */
  readonly issued_by: Actor;
  /** Number of the item that reported its operation; absent before. */
  readonly feed_seq?: string;
}

/** A command that makes the balance on the platform the one of this service, where a snapshot found a drift. */
export interface DriftCommand extends Correcting {
  readonly purpose: "drift";
  readonly transaction_id: null;
  readonly drift_id: string;
}

/**
 * A command that makes the platform follow what this service settled, and booked at once: the correction of a loss, the
 * credit that paid it, or what a late credit has repaid of both. One for each entry of the ledger.
 */
export interface SettlementCommand extends Correcting {
  readonly purpose: "settlement";
  /** The transaction of the entry; null where it has none. */
  readonly transaction_id: string | null;
  readonly drift_id: null;
}

/** A command for which nothing is booked. */
export type CorrectionCommand = DriftCommand | SettlementCommand;

/** A command to close a position, or a part of it, because its account is at its stop-out level. */
export interface LiquidateCommand extends StoredCommand {
  readonly purpose: "liquidation";
  readonly type: "liquidate";
  readonly transaction_id: null;
  readonly leg: null;
  readonly drift_id: null;
  /** The trade whose open side the position is. */
  readonly trade_id: string;
  readonly payload: LiquidationBody;
}

/** A command to change a term of an account, which changes here once the platform has changed it. */
export interface TermsCommand extends StoredCommand {
  readonly purpose: "terms";
  readonly type: "set_leverage" | "set_group" | "set_account_access";
  readonly transaction_id: null;
  readonly leg: null;
  readonly drift_id: null;
  /** One member: the term as an `account_update` of the feed names it. */
  readonly payload: TermsBody;
  /** The account was disabled while a bridge had the command: it is not handed out again. */
  readonly superseded?: true;
}

/** A command about money, whatever it is for. */
export type MoneyCommand = TransactionCommand | CorrectionCommand;

/** An instruction to a trading platform as it is stored. */
export type PlatformCommand = MoneyCommand | LiquidateCommand | TermsCommand;
