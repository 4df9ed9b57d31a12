import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import type { Operation } from "../../shared/domain/feed/platform-money.ts";
import type { OperationLinks } from "../../shared/domain/feed/reported.ts";
import { moveTransaction } from "../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../shared/domain/money/request.ts";
import type { AccountContext } from "../../shared/domain/money/transaction.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Change } from "../../shared/domain/records/change.ts";
import type { Contra, Ledger } from "../../shared/domain/records/ledger.ts";
import type { Transaction } from "../../shared/domain/records/transaction.ts";
import type { UpdateTransaction } from "../../shared/schema/transaction.ts";
import {
  accepted,
  changesOf,
  createdItems,
  decisionContext,
  someAccount,
  someClient,
} from "../support/builders/decisions.ts";

export const origin = {
  source: { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative: "platform" },
  at: "2026-11-21T06:00:00.000Z",
} as const;

const platform = { platform: "mt5", platform_login: "50012345" } as const;

export const context = decisionContext();

export const operation = (kind: Operation["kind"], amount: string, more: Partial<Operation> = {}): Operation => ({
  operation_id: "B-1",
  platform_login: "50012345",
  kind,
  amount,
  ...more,
});

export const nothingKnown = (tenant: AccountContext["tenant"]): OperationLinks => ({
  tenant,
  named: undefined,
  candidates: [],
  said: undefined,
});

/** An account of a platform with 1000.00, by default. */
export function platformAccount(fields: Partial<Account> = {}, money: Partial<Balance> = {}): AccountContext {
  return someAccount({ ...platform, ...fields }, { balance_minor: 100_000n, ...money });
}

/** The balance after a decision, and the transaction, entries and legs that it writes. */
export function outcome(accountContext: AccountContext, changes: readonly Change[]) {
  let balance = accountContext.balance as unknown as Record<string, unknown>;
  for (const { set, add } of changesOf(changes, "adjust").filter(({ entity }) => entity === "balance")) {
    balance = { ...balance, ...set };
    for (const [name, by] of Object.entries(add ?? {})) {
      const value = balance[name];
      balance[name] = typeof value === "bigint" ? value + BigInt(by) : Number(value) + Number(by);
    }
  }
  return {
    balance: balance as unknown as Balance,
    ledger: createdItems<Ledger>(changes, "ledger"),
    contra: createdItems<Contra>(changes, "contra"),
    transaction: [
      ...createdItems<Transaction>(changes, "transaction"),
      ...changesOf(changes, "update")
        .filter(({ entity }) => entity === "transaction")
        .map(({ after }) => after as unknown as Transaction),
    ][0],
  };
}

/** Applies an operation; a refusal fails the test. */
export function applied(accountContext: AccountContext, what: Operation, links: Partial<OperationLinks> = {}) {
  const decision = applyOperation(
    { ...accountContext, floating_minor: 0n },
    what,
    { ...nothingKnown(accountContext.tenant), ...links },
    origin,
    context,
  );
  if (!decision.ok) throw new Error(`Refused: ${decision.refusal.code}: ${decision.refusal.detail}`);
  return { decision, ...outcome(accountContext, decision.changes as readonly Change[]) };
}

type Request = { readonly amount: string; readonly fee?: string; readonly status?: "completed" };

/** A transaction of the API with the account as it leaves it, moved on as asked. */
export function transactionOf(
  kind: "deposit" | "withdrawal",
  request: Request,
  ...moves: readonly UpdateTransaction[]
) {
  let accountContext = platformAccount({}, { balance_minor: 500_000n, available_minor: 500_000n });
  const body = { account_id: accountContext.account.id, ...request };
  const first = accepted(
    kind === "deposit"
      ? requestDeposit(accountContext, body, context)
      : requestWithdrawal(someClient(), accountContext, body, context),
  );
  accountContext = { ...accountContext, balance: outcome(accountContext, first.changes).balance };
  let transaction = first.result;
  for (const move of moves) {
    const next = accepted(moveTransaction(transaction, accountContext, move, context));
    accountContext = { ...accountContext, balance: outcome(accountContext, next.changes).balance };
    transaction = next.result;
  }
  return { accountContext, transaction };
}

export const done = { status: "completed" } as const;

export const inProcess = { status: "processing" } as const;

export const lost = { status: "failed", reason: { code: "bank" } } as const;

export const taken = { status: "returned", reason: { code: "chargeback" } } as const;
