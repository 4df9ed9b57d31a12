import { refuseTerms } from "../domain/accounts/account.ts";
import type { OwnedAccount } from "../domain/accounts/amend-account.ts";
import type { AccountWithBalance } from "../domain/accounts/open-account.ts";
import { commandsForAttention } from "../domain/feed/command/attention.ts";
import { forwardMinor } from "../domain/feed/command/money.ts";
import { type AskedAccount, amendOnPlatform } from "../domain/feed/command/terms.ts";
import { type AsideRecords, asideNotes, withAsideMoney } from "../domain/feed/set-aside.ts";
import { type Context, notFound } from "../domain/kernel/decision.ts";
import { isLeftToPeople, isUndecided } from "../domain/money/legs.ts";
import { type AccountContext, isComplete } from "../domain/money/transaction.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Decision } from "../domain/records/change.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import type { TradingChange, TradingDecision } from "../domain/records/trading-change.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { amendHoldings, type LiveAccount, liveBody } from "../domain/trading/amend-holdings.ts";
import { marginView, metricsAt } from "../domain/trading/margin.ts";
import { withNights } from "../domain/trading/nights/accrue.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { isLiquidating } from "../domain/trading/risk.ts";
import type { WatchedState } from "../domain/trading/stored-risk.ts";
import { withMarginUpdate } from "../domain/trading/watch.ts";
import { countMetric, log } from "../runtime/log.ts";
import { untilAdmitted } from "../runtime/verdict.ts";
import type { UpdateAccount } from "../schema/account.ts";
import { giversOf } from "../table/givers.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { prepared, untilOpened } from "../trading/commit.ts";
import { type Found, holdingsOf, type Refs, readHolder, readsOf } from "../trading/holdings.ts";
import { linkOf, refuseNoAccount, tradingRef, writeTrading } from "../trading/items.ts";
import { readMarket, readMarketOf } from "../trading/market.ts";
import { readRollovers } from "../trading/nights/rollovers.ts";
import { sinceDebit, sinceMoment } from "./since-debit.ts";

/** The items that every decision about the money of an account reads first, in one read. */
export function moneyRefs(accountId: string) {
  return {
    tenant: ref.tenant(),
    account: ref.account(accountId),
    balance: ref.balance(accountId),
    risk: tradingRef.risk(accountId),
  };
}

/**
 * Makes a decision about the money of an account. Where it has open positions, `held`, the decision sees what they
 * allow at the newest prices, and what follows for the margin is written with it. `most`: changes that it may have,
 * where it is a part of a commit.
 */
export async function decideMoney<R>(
  held: ValuedAccount | undefined,
  context: Context,
  accountContext: AccountContext,
  decide: (accountContext: AccountContext) => Decision<R>,
  transaction?: Transaction,
  most?: number,
): Promise<Committable<R>> {
  if (held === undefined) {
    return countAttention(decide({ ...accountContext, ...(await sinceDebit(transaction, accountContext.balance)) }));
  }
  const { state, market } = held;
  const { account, balance, risk } = state;
  const margin = marginView(market, state, isLiquidating(risk), context.now);
  const since = await sinceDebit(transaction, balance);
  const decision = await countAttention(decide({ ...accountContext, account, balance, margin, ...since }));
  return prepared(withMarginUpdate(state, decision, market, context, most), context);
}

/**
 * Decides on the money of an account that a body names, with what it is linked to and what its open positions allow.
 * `refs` are what else it asks for once the account is known.
 */
export async function decideBackedMoney<R, X extends Refs>(
  load: Load,
  context: Context,
  id: string,
  refs: (account: Account) => X,
  decide: (now: AccountContext, found: Found<X>) => Decision<R>,
): Promise<Committable<R>> {
  const { risk, ...accountContext } = await load(moneyRefs(id));
  if (!isComplete(accountContext)) return refuseNoAccount();
  const [found, held, link] = await Promise.all([
    load(refs(accountContext.account)),
    readValuedAccount(load, context, { ...accountContext, risk }),
    linkOf(load, accountContext),
  ]);
  return decideMoney(held, context, { ...accountContext, ...link }, (now) => decide(now, found as Found<X>));
}

/** Approvers of a transaction, and where the item that is set aside for it belongs in the ledger. */
async function judgedOn(
  { tenant_id }: Context,
  transaction: Transaction,
  { balance }: Pick<AccountContext, "balance">,
): Promise<Pick<AccountContext, "givers" | "late">> {
  if (!isUndecided(transaction)) return {};
  const { set_aside } = transaction;
  const adds = set_aside !== undefined && forwardMinor(transaction) > 0n;
  const [givers, late] = await Promise.all([
    giversOf(tenant_id, [transaction]),
    adds ? sinceMoment(balance, set_aside.at) : undefined,
  ]);
  return { givers, late };
}

/** The note of the item that is set aside for a transaction; empty without one. */
async function asideOf(load: Load, { set_aside }: Transaction): Promise<AsideRecords> {
  if (set_aside === undefined) return {};
  const { source_id, operation_id, seq } = set_aside;
  const { mark } = await load({ mark: tradingRef.dedup(source_id, "operation", operation_id) });
  // The number of the item may be that of another reject.
  return { mark, ...(await load({ reject: tradingRef.feedReject(source_id, mark?.reject_id ?? seq) })) };
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
  const { risk, ...accountContext } = await load(moneyRefs(transaction.account_id));
  if (!isComplete(accountContext)) return notFound();
  const [held, link, judged, aside] = await Promise.all([
    readValuedAccount(load, context, { ...accountContext, risk }),
    linkOf(load, accountContext, transaction),
    judgedOn(context, transaction, accountContext),
    asideOf(load, transaction),
  ]);
  const linked = { ...accountContext, ...link, ...judged };
  const decideNow = (now: AccountContext) =>
    withAsideMoney(transaction, decide(transaction, now, context), aside, now, context);
  const decision = await decideMoney(held, context, linked, decideNow, transaction);
  if (!decision.ok) return decision;
  const notes = asideNotes(transaction, decision.result, aside, context).map((change) => {
    return { op: "prepared", item: writeTrading(change, context.tenant_id) } as const;
  });
  return notes.length === 0 ? decision : { ...decision, changes: [...decision.changes, ...notes] };
}

/** Decides what a caller asks of an account; with open positions, `held`, also what it means for their margin. */
export async function decideAmendment(
  held: ValuedAccount | undefined,
  context: Context,
  owned: AskedAccount,
  patch: UpdateAccount,
  decide: (owned: OwnedAccount, patch: UpdateAccount, context: Context) => Decision<AccountWithBalance>,
): Promise<Committable<LiveAccount>> {
  const lacked = refuseTerms(patch, context);
  if (lacked !== undefined) return lacked;
  if (held === undefined) {
    return prepared(
      amendOnPlatform(owned, patch, context, (part) => decide(owned, part, context)),
      context,
    );
  }
  const { state, market } = held;
  const { account, balance } = state;
  const now = { ...owned, account, balance };
  const decision = amendOnPlatform(now, patch, context, (part) => amendHoldings(now, state, part, market, context));
  return prepared(withMarginUpdate(state, decision, market, context), context);
}

/**
 * A decision that must wait for nothing, a disable for one, with the account's money shown at the newest prices. They
 * are only shown: no price and no position can make it be decided again.
 */
export async function shownLive(
  context: Context,
  decision: TradingDecision<AccountWithBalance>,
): Promise<Committable<LiveAccount>> {
  if (!decision.ok || decision.result.balance.positions === 0) return prepared(decision, context);
  const { account, balance } = decision.result;
  const stored = { ...(await holdingsOf(context.tenant_id, [account, balance])), account };
  const market = await readMarket(context.tenant_id, stored.positions);
  const rollovers = await readRollovers(context, stored, market);
  const metrics = metricsAt(market, withNights(stored, market, rollovers, context.now), context.now);
  const result = { account, balance, metrics };
  const events = decision.events.map((event) =>
    event.resource.type === "account" ? { ...event, object: liveBody(result) } : event,
  );
  return prepared({ ...decision, result, events }, context);
}

/** An account with open positions, and the market that they are valued at. */
interface ValuedAccount {
  readonly state: WatchedState;
  readonly market: Market;
}

/**
 * The positions of an account whose own items were read just now, with their due nights and the prices that they are
 * valued at; undefined where it has none. Its risk names the symbols of these prices. Where the items are not of one
 * moment with the positions all of them are read again.
 */
export async function readValuedAccount(
  load: Load,
  context: Context,
  own: { readonly account: Account; readonly balance: Balance; readonly risk: StoredRisk | undefined },
): Promise<ValuedAccount | undefined> {
  const { account, balance, risk } = own;
  untilOpened(account);
  if (balance.positions === 0) return undefined;
  const { tenant_id: tenant, now } = context;
  const expected = (risk?.triggers ?? []).map(({ symbol }) => ({ symbol, currency: account.currency }));
  const holder = readHolder(readsOf(load), tenant, account.id, {}, { ...own, found: {} });
  const positions = holder.then((read) => read?.state.positions ?? []);
  const [read, market] = await Promise.all([holder, readMarketOf(tenant, positions, expected)]);
  if (read === undefined || read.state.positions.length === 0) return undefined;
  const rollovers = await readRollovers(context, read.state, market);
  return { state: withNights(read.state, market, rollovers, now), market };
}

/**
 * Logs and counts what only a person can settle: a transaction whose money a platform did not bring back, since its
 * reverse command has failed or its source has ended, and commands that a platform did not heed. This
 * happens at the decision of a request that is admitted, so one that is made again counts again.
 */
export async function countAttention<D extends Decision<unknown> | TradingDecision<unknown>>(decision: D): Promise<D> {
  const changes: readonly TradingChange[] = decision.ok ? decision.changes : [];
  const left = changes.flatMap(transactionsForAttention);
  const refused = commandsForAttention(changes);
  if (left.length + refused.length > 0) await untilAdmitted();
  for (const { id, status } of left) {
    log.warn("A transaction needs attention: its platform moved the money or did not return it.", {
      transaction_id: id,
      status,
    });
    countMetric("MoneyNeedsAttention");
  }
  for (const { id, account_id, type, status } of refused) {
    log.warn("A platform refused or did not execute a command.", { command_id: id, account_id, type, status });
    countMetric("MoneyNeedsAttention");
  }
  return decision;
}

/** The transaction that a change leaves to a person. */
function transactionsForAttention(change: TradingChange): readonly Transaction[] {
  if (change.op !== "update" || change.entity !== "transaction") return [];
  const [before, after] = [change.before as Transaction, change.after as unknown as Transaction];
  const left = isLeftToPeople(after) && !isLeftToPeople(before);
  return left || (after.outcome === "needs_attention" && before.outcome !== "needs_attention") ? [after] : [];
}
