import type { Balance, Ledger } from "../domain/account.ts";
import type { OwnedAccount } from "../domain/amend-account.ts";
import { replayFrom } from "../domain/debt.ts";
import { type Context, type Decision, notFound } from "../domain/decision.ts";
import { least } from "../domain/money.ts";
import type { AccountWithBalance } from "../domain/open-account.ts";
import { amendHoldings, type LiveAccount, liveBody } from "../domain/trading/amend-holdings.ts";
import { underChange } from "../domain/trading/leverage-change.ts";
import { metricsAt } from "../domain/trading/margin.ts";
import { withMarginUpdate } from "../domain/trading/watch.ts";
import { type AccountContext, isComplete, reversedFrom, type Transaction } from "../domain/transaction.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { UpdateAccount } from "../schema/account.ts";
import { ledgers } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { backoffMs } from "../table/transact.ts";
import { prepared, readHolder, readsOf } from "./commit.ts";
import { positionsOf } from "./holdings.ts";
import { readMarket } from "./market.ts";

/**
 * Makes a decision about the money of an account. Where it has open positions the decision sees what they allow at the
 * newest prices, and what follows for the margin is written with it; everything is then read again, so that money,
 * positions and prices are of one moment.
 */
export async function decideMoney<R>(
  load: Load,
  context: Context,
  accountContext: AccountContext,
  decide: (accountContext: AccountContext) => Decision<R>,
  transaction?: Transaction,
): Promise<Committable<R>> {
  const held =
    accountContext.balance.positions === 0 ? undefined : await readHeld(load, context, accountContext.account.id);
  if (held === undefined)
    return decide({ ...accountContext, ...(await sinceDebit(transaction, accountContext.balance)) });
  const { state, market } = held;
  const { account, balance, risk } = state;
  const metrics = metricsAt(market, state, context.now);
  const backed = metrics.equity_minor - metrics.credit_minor - metrics.used_margin_minor;
  const margin = {
    payable_minor: least(balance.balance_minor, backed),
    floating_minor: metrics.floating_minor,
    stale: metrics.stale,
    unconverted: metrics.unconverted,
    liquidating: risk !== undefined && risk.run !== null,
  };
  const since = await sinceDebit(transaction, balance);
  const decision = decide({ ...accountContext, account, balance, margin, ...since });
  return prepared(withMarginUpdate(state, decision, market, context), context);
}

/**
 * Makes a decision about a transaction of the tenant, with its account, money and policies. `found` is called with
 * the transaction before anything else is read.
 */
export async function decideTransaction(
  load: Load,
  context: Context,
  id: string,
  decide: (transaction: Transaction, accountContext: AccountContext, context: Context) => Decision<Transaction>,
  found: (transaction: Transaction) => void = () => undefined,
): Promise<Committable<Transaction>> {
  const { transaction } = await load({ transaction: ref.transaction(id) });
  if (transaction === undefined) return notFound();
  found(transaction);
  const account = transaction.account_id;
  const accountContext = await load({
    tenant: ref.tenant(),
    account: ref.account(account),
    balance: ref.balance(account),
  });
  if (!isComplete(accountContext)) return notFound();
  return decideMoney(load, context, accountContext, (now) => decide(transaction, now, context), transaction);
}

/**
 * The ledger of an account from the debit of a transaction on, where the account went below zero since then, and from
 * further back as long as a payout that was given back in between reaches back behind it.
 */
async function sinceDebit(
  transaction: Transaction | undefined,
  balance: Balance,
): Promise<Pick<AccountContext, "since_debit">> {
  let from = transaction === undefined ? undefined : reversedFrom(transaction, balance);
  while (from !== undefined) {
    const entries = await ledgerFrom(balance, from);
    const first = replayFrom(entries, from);
    if (first === from) return { since_debit: entries };
    from = first;
  }
  return {};
}

/** The entries of an account from one number to that of its balance, read again until none of them is missing. */
async function ledgerFrom({ tenant_id, account_id, seq }: Balance, from: number): Promise<readonly Ledger[]> {
  for (let attempt = 1; attempt <= limits.commit.decision_tries; attempt += 1) {
    const items = await readPartition(ledgers.partition(tenant_id, account_id), { from: ledgers.sortOf(from) });
    const entries = items.map((item) => readItem<Ledger>(item)).filter(({ balance_version: at }) => at <= seq);
    if (entries.length === seq - from + 1) return entries;
    await pause(backoffMs(attempt));
  }
  throw new Unavailable(`The ledger of ${account_id} is not complete from entry ${from} to ${seq}.`);
}

/** Decides a change of an account; with open positions also what it means for their margin. */
export async function decideAmendment(
  load: Load,
  context: Context,
  owned: OwnedAccount,
  patch: UpdateAccount,
  decide: (owned: OwnedAccount, patch: UpdateAccount, context: Context) => Decision<AccountWithBalance>,
): Promise<Committable<LiveAccount>> {
  const held = owned.balance.positions === 0 ? undefined : await readHeld(load, context, owned.account.id);
  if (held === undefined) return decide(owned, patch, context);
  const { state, market } = held;
  const { account, balance } = state;
  const decision = amendHoldings({ ...owned, account, balance }, state, patch, market, context);
  return prepared(withMarginUpdate(state, decision, market, context), context);
}

/**
 * A decision that must wait for nothing, a disable for one, with the account's money shown at the newest prices. They
 * are only shown: no price and no position can make it be decided again.
 */
export async function shownLive(
  context: Context,
  decision: Decision<AccountWithBalance>,
): Promise<Committable<LiveAccount>> {
  if (!decision.ok || decision.result.balance.positions === 0) return decision;
  const { account, balance } = decision.result;
  const positions = underChange(account, await positionsOf(context.tenant_id, account.id));
  const market = await readMarket(context.tenant_id, positions);
  const result = { account, balance, metrics: metricsAt(market, { account, balance, positions }, context.now) };
  const events = decision.events.map((event) =>
    event.resource.type === "account" ? { ...event, object: liveBody(result) } : event,
  );
  return { ...decision, result, events };
}

async function readHeld(load: Load, context: Context, accountId: string) {
  const read = await readHolder(readsOf(load), context.tenant_id, accountId, {});
  if (read === undefined || read.state.positions.length === 0) return undefined;
  return { state: read.state, market: await readMarket(context.tenant_id, read.state.positions) };
}
