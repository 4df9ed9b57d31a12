import { markUpOf } from "../domain/access/tenant.ts";
import { type Context, refuseField } from "../domain/kernel/decision.ts";
import { quoteTransfer, useQuote } from "../domain/money/transfers/quote.ts";
import { transferRate } from "../domain/money/transfers/rate.ts";
import { holdTransfer } from "../domain/money/transfers/steps.ts";
import {
  isAtOnce,
  type Transfer,
  type TransferSides,
  transferAmount,
  transferIn,
  transferOut,
} from "../domain/money/transfers/transfer.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Change, Decision } from "../domain/records/change.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import type { Tenant } from "../domain/records/tenant.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import type { TransferQuote, TransferRate } from "../domain/records/transfer-quote.ts";
import { limits } from "../limits.ts";
import type { CreateTransfer, CreateTransferQuote } from "../schema/transaction.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { linkOf, tradingRef } from "../trading/items.ts";
import { readConversion } from "../trading/market.ts";
import { decideMoney, readValuedAccount } from "./decide.ts";

/** Changes that one side of a transfer may have: both, the outbox and the stored answer are one transaction. */
export const changesOfSide = Math.floor((limits.commit.max_items - 3) / 2);

/**
 * Decides a transfer. Between two accounts of one client that are kept here both legs are written in one commit or not
 * at all; any other one holds the amount, and goes on from there.
 */
export async function decideTransfer(
  load: Load,
  context: Context,
  request: CreateTransfer,
): Promise<Committable<Transaction>> {
  const sides = await readSides(load, request);
  if (!sides.ok) return sides;
  const { tenant, client, from, to } = sides.result;
  const amount = transferAmount(sides.result, request, context);
  if (!amount.ok) return amount;
  const { quote } = request.quote_id === undefined ? {} : await load({ quote: ref.transferQuote(client.id) });
  const rate: Decision<TransferRate> =
    request.quote_id === undefined
      ? await rateNow(sides.result, amount.result, context)
      : useQuote(quote, request, amount.result, context);
  if (!rate.ok) return rate;
  const { credit_minor, income_minor, conversion, mark_up_percent } = rate.result;
  const transfer: Transfer = {
    ...{ credit_minor, income_minor, conversion, mark_up_percent },
    id: context.newId("trf"),
    amount_minor: amount.result,
    quote_id: request.quote_id ?? null,
  };
  if (!isAtOnce(sides.result)) return decideHeld(load, context, sides.result, { transfer, request }, rate.changes);
  const ids = [context.newId("txn"), context.newId("txn")] as const;
  const side = async ({ risk, ...money }: Side, decide: typeof transferOut, other: Account) =>
    decideMoney(
      await readValuedAccount(load, context, { ...money, risk }),
      context,
      { tenant, ...money },
      (now) => decide(now, transfer, ids, other, request, context),
      undefined,
      changesOfSide,
    );
  const [out, into] = await Promise.all([side(from, transferOut, to.account), side(to, transferIn, from.account)]);
  if (!out.ok) return out;
  if (!into.ok) return into;
  return {
    ok: true,
    result: out.result,
    changes: [...out.changes, ...into.changes, ...rate.changes],
    events: [...out.events, ...into.events],
  };
}

/** Decides a transfer that is not made in one commit. */
async function decideHeld(
  load: Load,
  context: Context,
  { tenant, from, to }: TransferSides & { readonly from: Side },
  { transfer, request }: { readonly transfer: Transfer; readonly request: CreateTransfer },
  more: readonly Change[],
): Promise<Committable<Transaction>> {
  const { account, balance, risk } = from;
  const accountContext = { tenant, account, balance };
  const [held, link] = await Promise.all([
    readValuedAccount(load, context, { account, balance, risk }),
    linkOf(load, accountContext),
  ]);
  const approval = account.client_id !== to.account.client_id;
  const decision = await decideMoney(held, context, { ...accountContext, ...link }, (now) =>
    holdTransfer(now, { transfer, other: to.account, request, approval }, context),
  );
  return decision.ok ? { ...decision, changes: [...decision.changes, ...more] } : decision;
}

/** Decides a firm quote of a transfer. */
export async function decideQuote(
  load: Load,
  context: Context,
  request: CreateTransferQuote,
): Promise<Committable<TransferQuote>> {
  const sides = await readSides(load, request);
  if (!sides.ok) return sides;
  const { client, from, to } = sides.result;
  const [market, { quote }] = await Promise.all([
    readConversion(context.tenant_id, from.account.currency, to.account.currency),
    load({ quote: ref.transferQuote(client.id) }),
  ]);
  return quoteTransfer(sides.result, market, quote, request, context);
}

/** Input to the rate of a transfer. */
interface RatedSides {
  readonly tenant: Tenant;
  readonly from: { readonly account: Account };
  readonly to: { readonly account: Account };
}

/** One account of a transfer, with its money and what it risks. */
interface Side {
  readonly account: Account;
  readonly balance: Balance;
  readonly risk: StoredRisk | undefined;
}

/** The accounts that a request names, with their money and the client of the first. */
async function readSides(
  load: Load,
  { from_account_id, to_account_id }: Pick<CreateTransferQuote, "from_account_id" | "to_account_id">,
): Promise<Decision<TransferSides & { readonly from: Side; readonly to: Side }>> {
  const found = await load({
    tenant: ref.tenant(),
    from: ref.account(from_account_id),
    from_balance: ref.balance(from_account_id),
    from_risk: tradingRef.risk(from_account_id),
    to: ref.account(to_account_id),
    to_balance: ref.balance(to_account_id),
    to_risk: tradingRef.risk(to_account_id),
  });
  const { tenant, from, to, from_balance, to_balance, from_risk, to_risk } = found;
  const missing = (field: string) => refuseField("account_not_found", field, "The account does not exist.");
  if (tenant === undefined || from === undefined || from_balance === undefined) return missing("from_account_id");
  if (to === undefined || to_balance === undefined) return missing("to_account_id");
  const { client, receiver } = await load({
    client: ref.client(from.client_id),
    ...(to.reopened === true ? { receiver: ref.client(to.client_id) } : {}),
  });
  if (client === undefined) return missing("from_account_id");
  const sides = {
    from: { account: from, balance: from_balance, risk: from_risk },
    to: { account: to, balance: to_balance, risk: to_risk },
  };
  return { ok: true, result: { tenant, client, receiver, ...sides }, changes: [], events: [] };
}

/** The rate of a transfer at the prices of now. */
export async function rateNow(
  { tenant, from, to }: RatedSides,
  amount_minor: bigint,
  context: Context,
): Promise<Decision<TransferRate>> {
  const [debited, credited] = [from.account, to.account];
  const market = await readConversion(context.tenant_id, debited.currency, credited.currency);
  return transferRate(market, { from: debited, to: credited, amount_minor }, markUpOf(tenant), context.now);
}
