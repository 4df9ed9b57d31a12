import { expect } from "vitest";
import { amendAccount } from "../../../../shared/domain/accounts/amend-account.ts";
import { isAdjustment } from "../../../../shared/domain/accounts/balance.ts";
import { takeCommands } from "../../../../shared/domain/feed/command/command.ts";
import { acknowledgeTerms, amendOnPlatform, reportTerms } from "../../../../shared/domain/feed/command/terms.ts";
import type { Account } from "../../../../shared/domain/records/account.ts";
import type { Balance } from "../../../../shared/domain/records/balance.ts";
import type { Decision } from "../../../../shared/domain/records/change.ts";
import type { PlatformCommand, TermsCommand } from "../../../../shared/domain/records/command.ts";
import type { TradingDecision } from "../../../../shared/domain/records/trading-change.ts";
import type { UpdateAccount } from "../../../../shared/schema/account.ts";
import type { AckCommand } from "../../../../shared/schema/feed/command.ts";
import { decisionContext, someAccount, someClient } from "../../../support/builders/decisions.ts";
import { someMarket } from "../../../support/builders/trading.ts";

/** The market that changes of terms are decided in. */
export const market = someMarket();
/** When programs begin, in milliseconds. */
export const start = Date.parse("2026-11-21T06:30:00.000Z");
const link = { platform: "mt5", platform_login: "5001", source_id: "src_01JD0000000000000000000001" } as const;

/** Terms of an account at a platform. */
export interface Terms {
  leverage: number;
  group: string;
  access: "full" | "close_only" | "none";
}

/** The book of this service about one linked account. It applies decisions as the table would. */
export class Book {
  account: Account;
  balance: Balance;
  seconds = 0;
  readonly commands = new Map<string, PlatformCommand>();
  readonly announced: string[] = [];
  readonly client = someClient();

  constructor(fields: Partial<Account> = {}) {
    const { account, balance } = someAccount({ type: "demo", leverage: 100, ...link, ...fields });
    [this.account, this.balance] = [account, balance];
  }

  get context() {
    const at = (seconds: number) => new Date(start + (this.seconds + seconds) * 1000).toISOString();
    return decisionContext({ now: at(0), in: at });
  }

  get state() {
    const { account, balance, client } = this;
    return { account, balance, client, positions: [], risk: undefined };
  }

  /** The one command of this status. */
  command(status: PlatformCommand["status"]): TermsCommand {
    const found = [...this.commands.values()].filter((each) => each.status === status);
    expect(found).toHaveLength(1);
    return found[0] as TermsCommand;
  }

  apply<R>(decision: TradingDecision<R> | Decision<R>): R {
    if (!decision.ok) throw new Error(`${decision.refusal.code}: ${decision.refusal.detail}`);
    for (const change of decision.changes) {
      if (isAdjustment(change)) this.balance = change.after;
      if (change.op === "create" && change.entity === "command") {
        const item = change.item as PlatformCommand;
        this.commands.set(item.id, item);
      }
      if (change.op !== "update") continue;
      if (change.entity === "account") {
        expect(change.before.version).toBe(this.account.version);
        this.account = change.after as Account;
      }
      if (change.entity === "command") {
        const after = change.after as PlatformCommand;
        expect(change.before.version).toBe(this.commands.get(after.id)?.version);
        this.commands.set(after.id, after);
      }
    }
    this.announced.push(...decision.events.map(({ type }) => type));
    return decision.result;
  }

  patch(patch: UpdateAccount) {
    const { account, balance, client, context } = this;
    const owned = { account, balance, client, asked: [...this.commands.values()] };
    return amendOnPlatform(owned, patch, context, (part) => amendAccount(owned, part, context));
  }

  take(): readonly PlatformCommand[] {
    const all = [...this.commands.values()];
    const busy = all
      .filter(({ status }) => status === "taken")
      .map((each) => JSON.stringify([each.account_id, each.lane]));
    const waiting = all.filter(({ status }) => status === "waiting");
    return this.apply(takeCommands(waiting, new Set(busy), { max: 10, lease_seconds: 60 }, this.context));
  }

  ack(id: string, ack: AckCommand): PlatformCommand {
    const command = this.commands.get(id) as TermsCommand;
    return this.apply(acknowledgeTerms(command, this.state, market, ack, this.context));
  }

  report(data: Partial<Terms>): void {
    const asked = [...this.commands.values()];
    this.apply(reportTerms(this.state, market, { platform_login: "5001", ...data }, asked, this.context));
  }

  get terms(): Terms {
    const { leverage, group_id: group, trading_mode: access } = this.account;
    return { leverage, group, access };
  }
}
