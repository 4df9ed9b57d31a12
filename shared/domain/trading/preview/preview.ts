import type { MarginPreviewBody, PreviewMargin } from "../../../schema/margin-preview.ts";
import { creditPolicyOf } from "../../access/tenant.ts";
import { type Context, type FieldError, type Refusal, refuseField, refuseFields } from "../../kernel/decision.ts";
import { formatAmount } from "../../kernel/money.ts";
import { completion, post } from "../../money/posting.ts";
import { requestDeposit, requestWithdrawal } from "../../money/request.ts";
import { draftTransaction, moved } from "../../money/transaction.ts";
import type { Client } from "../../records/client.ts";
import type { FeedSource } from "../../records/feed-source.ts";
import type { Ledger } from "../../records/ledger.ts";
import type { Tenant } from "../../records/tenant.ts";
import type { Trade } from "../../records/trade.ts";
import type { TradingChange } from "../../records/trading-change.ts";
import { amendHoldings } from "../amend-holdings.ts";
import { closeTrade } from "../close-trade.ts";
import { balanceDetailsNow } from "../live.ts";
import { type Holdings, marginView } from "../margin.ts";
import { closeAtMarket, openAtMarket } from "../market-trade.ts";
import { executeTrade } from "../open-trade.ts";
import { closePrice, type Market, openPrice } from "../pricing/quote.ts";
import { rational } from "../pricing/rational.ts";
import { internalSource } from "../pricing/source.ts";
import { reportedPrice } from "../pricing/symbol.ts";
import { isLiquidating } from "../risk.ts";
import type { WatchedState } from "../stored-risk.ts";
import { firstPrices } from "./first-prices.ts";

/** An account with all that the operations which are tried on it depend on; its due nights are accrued. */
export interface PreviewState extends WatchedState {
  readonly client: Client;
  readonly tenant: Tenant;
  readonly source: FeedSource | undefined;
  readonly trades: ReadonlyMap<string, Trade>;
}

/** The account after one step, and why the operation itself would be refused now; or why the step has no number. */
type Taken =
  | {
      readonly ok: true;
      readonly holdings: Holdings;
      readonly changes: readonly TradingChange[];
      readonly refusal: Refusal | undefined;
    }
  | { readonly ok: false; readonly refusal: Refusal };

/** One operation that is tried, and the place in the request that it is of. */
interface Step {
  readonly pointer: string;
  readonly trades: boolean;
  readonly take: (state: PreviewState, market: Market, context: Context) => Taken;
}

/** State of an account after the steps, or why a step has no number. */
export type Previewed =
  | { readonly ok: true; readonly body: MarginPreviewBody }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Tries operations on an account in memory, in the order of the request: prices, leverage, money, closes, opens. Each
 * runs the rules of the real operation. Where that would be refused now, the refusal is listed and the numbers are
 * computed all the same. `stored` is the account as it is, without nights that are due. A stop-out is shown as margin
 * status and not carried out.
 */
export function previewMargin(
  stored: Holdings,
  state: PreviewState,
  market: Market,
  request: PreviewMargin,
  context: Context,
): Previewed {
  if (request.deposit !== undefined && request.withdrawal !== undefined) {
    return refuseField("validation_failed", "withdrawal", "cannot be tried with a deposit", "not_allowed");
  }
  const priced = withPrices(market, request, context.now);
  if (!priced.ok) return priced;
  let now = state;
  const results: MarginPreviewBody["results"] = [];
  const refusals: MarginPreviewBody["refusals"] = [];
  for (const { pointer, trades, take } of stepsOf(request)) {
    const taken = take(now, priced.market, context);
    if (!taken.ok) return refuseFields(pointed(pointer, taken.refusal));
    now = { ...now, ...taken.holdings, trades: tradesAfter(now.trades, taken.changes) };
    if (trades) results.push(resultOf(pointer, taken.changes, now));
    if (taken.refusal !== undefined) refusals.push(...pointed(pointer, taken.refusal));
  }
  const { account, balance, positions } = now;
  const holdings = { account, balance, positions };
  const after = { market: priced.market, now: context.now };
  const body: MarginPreviewBody = {
    object: "margin_preview",
    account_id: account.id,
    before: balanceDetailsNow(stored, { market, now: context.now }),
    after: balanceDetailsNow(holdings, after),
    results,
    refusals,
    ...firstPrices(holdings, priced.market, context.now),
    _links: { account: { href: `/v2/accounts/${account.id}` } },
  };
  return { ok: true, body };
}

/** The faults of a step at their places in the request. */
function pointed(pointer: string, { code, detail, errors = [] }: Refusal): FieldError[] {
  if (errors.length === 0) return [{ pointer, code, detail }];
  return errors.map((error) => ({ ...error, pointer: pointer + memberOf(error.pointer) }));
}

/** The member of a step that a fault is of: `/lots` of `#/lots`, nothing of an amount, which is the step itself. */
function memberOf(pointer: string): string {
  return pointer === "#/amount" || pointer === "#/leverage" ? "" : pointer.slice(1);
}

function stepsOf({ leverage, deposit, withdrawal, closes = [], opens = [] }: PreviewMargin): readonly Step[] {
  const step = (pointer: string, take: Step["take"], trades = false): Step => ({
    pointer: `#/${pointer}`,
    trades,
    take,
  });
  return [
    ...(leverage === undefined ? [] : [step("leverage", withLeverage(leverage))]),
    ...(deposit === undefined ? [] : [step("deposit", withMoney("deposit", deposit))]),
    ...(withdrawal === undefined ? [] : [step("withdrawal", withMoney("withdrawal", withdrawal))]),
    ...closes.map((close, place) => step(`closes/${place}`, closing(close), true)),
    ...opens.map((open, place) => step(`opens/${place}`, opening(open), true)),
  ];
}

/** The market with other prices; each stands, however old it is, as one that the sandbox holds. */
function withPrices(market: Market, { prices = [] }: PreviewMargin, now: string) {
  const errors: FieldError[] = [];
  const quotes = new Map(market.quotes);
  for (const [place, { symbol: name, bid, ask }] of prices.entries()) {
    const at = (member: string, code: string, detail: string) =>
      errors.push({ pointer: `#/prices/${place}/${member}`, code, detail });
    const symbol = market.symbols.get(name);
    const before = market.quotes.get(name);
    if (symbol === undefined) at("symbol", "symbol_not_found", "does not exist");
    else if (prices.findIndex((other) => other.symbol === name) < place) at("symbol", "duplicate", "is named before");
    else if (before === undefined) at("symbol", "no_quote", "has no price yet");
    else if (reportedPrice(symbol, bid) === undefined) at("bid", "invalid_price", `is no price of ${name}`);
    else if (rational(bid).gt(rational(ask))) at("bid", "invalid_price", "must not be above the ask");
    else quotes.set(name, { ...before, bid, ask, time: now, received_at: now, held: true });
  }
  return errors.length > 0 ? refuseFields(errors) : ({ ok: true, market: { ...market, quotes } } as const);
}

function withLeverage(leverage: number): Step["take"] {
  return (state, market, context) => {
    const { account, balance, client, tenant, source } = state;
    const owned = { account, balance, client, tenant, source };
    const asked = amendHoldings(owned, state, { leverage }, market, context);
    const done = asked.ok ? asked : amendHoldings(owned, state, { leverage }, market, context, true);
    if (!done.ok) return done;
    const holdings = { account: done.result.account, balance: done.result.balance, positions: state.positions };
    return { ok: true, holdings, changes: [], refusal: asked.ok ? undefined : asked.refusal };
  };
}

/** Money that is booked at once: a deposit that arrives, or a withdrawal that is paid, without a fee. */
function withMoney(kind: "deposit" | "withdrawal", amount: string): Step["take"] {
  return (state, market, context) => {
    const { account, balance, client, tenant, source, positions, risk } = state;
    const margin = positions.length === 0 ? undefined : marginView(market, state, isLiquidating(risk), context.now);
    const now = { tenant, account, balance, client, source, ...(margin && { margin }) };
    const request = { account_id: account.id, amount };
    const asked =
      kind === "deposit" ? requestDeposit(now, request, context) : requestWithdrawal(client, now, request, context);
    const draft = draftTransaction(kind, now, request, context);
    if (!draft.ok) return draft;
    const paid = moved(draft.result, "completed", context, null);
    const booking = { ...completion(draft.result), captured_minor: 0n, final: false };
    const terms = { margin, credit_policy: creditPolicyOf(tenant) };
    const posted = post(paid, balance, context, booking, terms);
    const done = posted.ok ? posted : post(paid, balance, context, { ...booking, happened: true }, terms);
    if (!done.ok) return done;
    const refused = [asked, posted].find(({ ok }) => !ok);
    const holdings = { account, balance: done.result.balance, positions };
    return { ok: true, holdings, changes: [], refusal: refused?.ok === false ? refused.refusal : undefined };
  };
}

function closing({ position_id, lots }: NonNullable<PreviewMargin["closes"]>[number]): Step["take"] {
  return (state, market, context) => {
    const position = state.positions.find(({ id }) => id === position_id);
    const trade = position && state.trades.get(position.trade_id);
    if (position === undefined || trade === undefined) {
      const detail = "is no open position of the account at this step";
      return refuseField("validation_failed", "position_id", detail, "position_not_found");
    }
    const request = { reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
    const asked = closeAtMarket(state, { position, trade }, market, request, context);
    if (asked.ok) return { ok: true, holdings: asked.result.holdings, changes: asked.changes, refusal: undefined };
    const quote = market.quotes.get(position.symbol);
    if (quote === undefined) return asked;
    const price = closePrice(quote, position.side);
    const done = closeTrade(state, { position, trade }, market, { ...request, price }, context);
    if (!done.ok) return done;
    return { ok: true, holdings: done.result.holdings, changes: done.changes, refusal: asked.refusal };
  };
}

function opening({ price: asked_price, ...request }: NonNullable<PreviewMargin["opens"]>[number]): Step["take"] {
  return (state, market, context) => {
    const given = asked_price === undefined ? {} : { price: asked_price };
    const asked = openAtMarket(state, market, { ...request, ...given }, context);
    if (asked.ok) return { ok: true, holdings: asked.result.holdings, changes: asked.changes, refusal: undefined };
    const quote = market.quotes.get(request.symbol);
    const price = asked_price ?? (quote && openPrice(quote, request.side));
    if (price === undefined) return asked;
    const done = executeTrade(state, market, { ...request, price, source: internalSource }, context);
    if (!done.ok) return done;
    return { ok: true, holdings: done.result.holdings, changes: done.changes, refusal: asked.refusal };
  };
}

function tradesAfter(before: PreviewState["trades"], changes: readonly TradingChange[]): PreviewState["trades"] {
  const after = new Map(before);
  for (const change of changes) {
    if (change.op !== "create" && change.op !== "update") continue;
    if (change.entity !== "trade") continue;
    const trade = (change.op === "create" ? change.item : change.after) as Trade;
    after.set(trade.id, trade);
  }
  return after;
}

/** Bookings of a step of trading, from its ledger entries. */
function resultOf(pointer: string, changes: readonly TradingChange[], { account, balance }: PreviewState) {
  const entries = changes.flatMap((change) =>
    change.op === "create" && change.entity === "ledger" ? [change.item as Ledger] : [],
  );
  const sum = (...kinds: readonly string[]) =>
    entries.reduce((total, { kind, amount_minor }) => (kinds.includes(kind) ? total + amount_minor : total), 0n);
  const money = (minor: bigint) => formatAmount(minor, account.currency);
  return {
    pointer,
    commission: money(sum("commission")),
    gross_pnl: money(sum("realised_pnl")),
    net_pnl: money(sum("realised_pnl", "swap", "commission")),
    used_margin: money(balance.used_margin_minor),
  };
}
