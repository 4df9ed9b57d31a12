import { minorDigits, wholeOf } from "../../../currencies.ts";
import { limits } from "../../../limits.ts";
import type { CreateTransfer, CreateTransferQuote, TransferQuoteBody } from "../../../schema/transaction.ts";
import { markUpOf } from "../../access/tenant.ts";
import { isCommanded } from "../../feed/command/money.ts";
import { type Context, refuse, refuseField } from "../../kernel/decision.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { Decision } from "../../records/change.ts";
import type { TransferQuote } from "../../records/transfer-quote.ts";
import { clientConversion } from "../../trading/pricing/client-rate.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import { rational } from "../../trading/pricing/rational.ts";
import { refusePlatformAccount } from "../adjustment.ts";
import { transferRate } from "./rate.ts";
import { type TransferSides, transferAmount } from "./transfer.ts";

/** Decides `POST /transfer_quotes`. The quote takes the place of the client's previous one, used or not. */
export function quoteTransfer(
  sides: TransferSides,
  market: Market,
  before: TransferQuote | undefined,
  request: CreateTransferQuote,
  context: Context,
): Decision<TransferQuote> {
  const amount = transferAmount(sides, request, context);
  if (!amount.ok) return amount;
  const [from, to] = [sides.from.account, sides.to.account];
  if (from.client_id !== to.client_id) {
    return refuseField("transfer_not_allowed", "to_account_id", "The account belongs to another client.");
  }
  // The debit of a platform comes later than the quote ends.
  if (isCommanded(from)) return refusePlatformAccount("from_account_id");
  if (wholeOf(from.currency) === wholeOf(to.currency)) {
    return refuseField("transfer_not_allowed", "to_account_id", "Accounts of one currency need no quote.");
  }
  const asked = { from, to, amount_minor: amount.result };
  const rate = transferRate(market, asked, leastMarkUp(markUpOf(sides.tenant)), context.now);
  if (!rate.ok) return rate;
  const dollars = clientConversion(market, from.currency, "USD", context.now);
  if (!dollars.ok) return dollars;
  const { max_quote_usd: cap, quote_seconds } = limits.transfers;
  const most = rational(cap).mul(10n ** BigInt(minorDigits[from.currency]));
  if (rational(amount.result).mul(dollars.result.rate).gt(most)) {
    return refuseField("amount_too_large", "amount", `A quote is for an amount worth ${cap} USD at most.`);
  }
  const valid_until = context.in(quote_seconds);
  const quote: TransferQuote = {
    id: context.newId("trq"),
    tenant_id: context.tenant_id,
    client_id: sides.client.id,
    from_account_id: from.id,
    to_account_id: to.id,
    amount_minor: amount.result,
    currency: from.currency,
    credited_currency: to.currency,
    ...rate.result,
    status: "open",
    valid_until,
    expires_at: Math.ceil(Date.parse(valid_until) / 1000),
    quoted_at: context.now,
    version: (before?.version ?? 0) + 1,
  };
  const change =
    before === undefined
      ? ({ op: "create", entity: "transfer_quote", item: quote } as const)
      : ({ op: "update", entity: "transfer_quote", before, after: quote } as const);
  return { ok: true, result: quote, changes: [change], events: [] };
}

/** The mark-up of a quote: that of the brokerage, and at least what keeps the quote from being a free option. */
function leastMarkUp(percent: string): string {
  const least = limits.transfers.least_quote_mark_up / 100;
  return Number(percent) < least ? least.toFixed(2) : percent;
}

/** Decides whether a transfer may use a quote, which is then used: once, for its accounts and amount, in its time. */
export function useQuote(
  quote: TransferQuote | undefined,
  request: CreateTransfer,
  amount_minor: bigint,
  context: Context,
): Decision<TransferQuote> {
  const invalid = (detail: string) => refuse("transfer_quote_invalid", detail);
  if (quote === undefined || quote.id !== request.quote_id) {
    return invalid("The client has no such quote; a new quote takes the place of the previous one.");
  }
  if (quote.status === "used") return invalid("The quote was used.");
  if (quote.valid_until <= context.now) return invalid("The quote has expired.");
  const same = quote.from_account_id === request.from_account_id && quote.to_account_id === request.to_account_id;
  if (!same || quote.amount_minor !== amount_minor)
    return invalid("The quote is for other accounts or another amount.");
  const after: TransferQuote = { ...quote, status: "used", version: quote.version + 1 };
  return {
    ok: true,
    result: quote,
    changes: [{ op: "update", entity: "transfer_quote", before: quote, after }],
    events: [],
  };
}

/** The quote as the API shows it. */
export function transferQuoteBody(quote: TransferQuote): TransferQuoteBody {
  const { id, from_account_id, to_account_id, currency, credited_currency } = quote;
  return {
    id,
    object: "transfer_quote",
    from_account_id,
    to_account_id,
    amount: formatAmount(quote.amount_minor, currency),
    currency,
    credited_amount: formatAmount(quote.credit_minor, credited_currency),
    credited_currency,
    conversion: quote.conversion,
    mark_up_percent: quote.mark_up_percent,
    expires_at: quote.valid_until,
    created_at: quote.quoted_at,
    _links: {
      from_account: { href: `/v2/accounts/${from_account_id}` },
      to_account: { href: `/v2/accounts/${to_account_id}` },
    },
  };
}
