import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CurrencyCode, minorDigits } from "../../../shared/currencies.ts";
import { formatAmount, parseAmount } from "../../../shared/domain/kernel/money.ts";
import { quoteTransfer, useQuote } from "../../../shared/domain/money/transfers/quote.ts";
import { transferRate } from "../../../shared/domain/money/transfers/rate.ts";
import {
  type TransferSides,
  transferAmount,
  transferIn,
  transferOut,
} from "../../../shared/domain/money/transfers/transfer.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import { limits } from "../../../shared/limits.ts";
import {
  accepted,
  createdItems,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../../support/builders/decisions.ts";
import { someMarket, someSymbol } from "../../support/builders/trading.ts";

const context = decisionContext();
const market = someMarket();
const client = someClient();
const side = (currency: CurrencyCode, money: Partial<Balance> = {}, fields: object = {}) => {
  const { account, balance } = someAccount({ currency, client_id: client.id, ...fields }, money);
  return { account, balance };
};
const { tenant } = someAccount();
const sidesOf = (from: CurrencyCode, to: CurrencyCode, more: Partial<TransferSides> = {}): TransferSides => ({
  ...{ tenant, client },
  from: side(from, { balance_minor: 10n ** 9n }),
  to: side(to),
  ...more,
});
const requestOf = ({ from, to }: TransferSides, amount: string) => ({
  from_account_id: from.account.id,
  to_account_id: to.account.id,
  amount,
});
const rated = (from: CurrencyCode, to: CurrencyCode, amount_minor: bigint, markUp = "0.00", on = market) =>
  transferRate(on, { from: { currency: from }, to: { currency: to }, amount_minor }, markUp, decisionTime);

describe("the rate of a transfer", () => {
  it.each([
    ["100.00", "USD", "EUR", "90.90"],
    ["100.00", "USD", "JPY", "14999"],
    ["33.33", "EUR", "USD", "36.66"],
    ["250.00", "GBP", "EUR", "289.74"],
    ["100.00", "USD", "USD", "100.00"],
    ["1.00", "USD", "USC", "100.00"],
    ["1.99", "USC", "USD", "0.01"],
    ["100.00", "EUC", "JPY", "164"],
  ] as const)("makes of %s %s in %s, rounded toward zero, %s", (amount, from, to, credited) => {
    const { credit_minor } = accepted(rated(from, to, parseAmount(amount, from) as bigint)).result;
    expect(formatAmount(credit_minor, to)).toBe(credited);
  });

  const currencies = fc.constantFrom<CurrencyCode>("USD", "EUR", "GBP", "JPY", "USC", "AUD");
  const price = fc.integer({ min: 2_000, max: 5_000_000 }).map((points) => (points / 100_000).toFixed(5));
  const yen = fc.integer({ min: 2_000, max: 5_000_000 }).map((points) => (points / 1000).toFixed(3));
  const prices = fc.record({
    EURUSD: price,
    GBPUSD: price,
    AUDUSD: price,
    EURGBP: price,
    USDJPY: yen,
    EURJPY: yen,
  });
  const spread = (bid: string) => (Number(bid) * 1.001).toFixed(bid.split(".")[1]?.length ?? 0);
  const markUp = fc.integer({ min: 0, max: 1000 }).map((hundredths) => (hundredths / 100).toFixed(2));

  it("leaves what it does not credit to the brokerage, never less than nothing, and adds up to the mid", () => {
    fc.assert(
      fc.property(
        prices,
        currencies,
        currencies,
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        markUp,
        (at, from, to, amount, percent) => {
          const on = someMarket(
            Object.fromEntries(Object.entries(at).map(([name, one]) => [name, [one, spread(one)]])),
          );
          const decision = rated(from, to, amount, percent, on);
          if (!decision.ok) {
            expect(decision.refusal.code).toBe("amount_too_small");
            return;
          }
          const { credit_minor, income_minor, conversion } = decision.result;
          expect(income_minor >= 0n).toBe(true);
          let [n, d] = [amount * 10n ** BigInt(minorDigits[to]), 10n ** BigInt(minorDigits[from])];
          for (const { op, price, mid: step = price } of conversion?.via ?? []) {
            const [whole, unit] = [BigInt(step.replace(".", "")), 10n ** BigInt(step.split(".")[1]?.length ?? 0)];
            [n, d] = op === "multiply" ? [n * whole, d * unit] : [n * unit, d * whole];
          }
          expect(credit_minor + income_minor).toBe((2n * n + d) / (2n * d));
        },
      ),
    );
  });

  it.each([
    ["a closed market", someSymbol("EURUSD", { sessions: [] }), "USD", "market_closed"],
    ["a currency without a pair", someSymbol("EURUSD"), "KWD", "no_conversion_path"],
  ] as const)("is none over %s", (_, euro, to, code) => {
    const on = someMarket({}, [euro]);
    expect(refused(rated("EUR", to, 100n, "0.00", on)).code).toBe(code);
  });

  it("is that of a quote which is not shown as stale: one of 11 s ago moves no money, one of 10 s does", () => {
    const sides = { from: { currency: "EUR" }, to: { currency: "USD" }, amount_minor: 100n } as const;
    const secondsLater = (seconds: number) => new Date(Date.parse(decisionTime) + seconds * 1000).toISOString();
    expect(accepted(transferRate(someMarket(), sides, "0.00", secondsLater(10))).result.credit_minor).toBe(110n);
    expect(refused(transferRate(someMarket(), sides, "0.00", secondsLater(11))).code).toBe("metrics_stale");
  });
});

describe("a transfer", () => {
  it("is asked what a withdrawal is asked of the account that pays, and what a deposit is of the other", () => {
    const sides = sidesOf("USD", "USD");
    const { from, to } = sides;
    const codeOf = (more: Partial<TransferSides>) =>
      refused(transferAmount({ ...sides, ...more }, { amount: "1.00" }, context)).code;
    expect(accepted(transferAmount(sides, { amount: "1.00" }, context)).result).toBe(100n);
    expect(
      accepted(
        transferAmount(
          { ...sides, to: { ...to, balance: { ...to.balance, accepts: "close_only" } } },
          { amount: "1" },
          context,
        ),
      ).ok,
    ).toBe(true);
    expect(codeOf({ to: from })).toBe("transfer_not_allowed");
    expect(codeOf({ to: side("USD", {}, { type: "demo" }) })).toBe("transfer_not_allowed");
    expect(codeOf({ to: side("USD", {}, { platform: "mt5", platform_login: "1" }) })).toBe("platform_account");
    expect(codeOf({ from: { ...from, balance: { ...from.balance, accepts: "close_only" } } })).toBe(
      "account_close_only",
    );
    expect(codeOf({ to: side("USD", { accepts: "none" }, { status: "disabled" }) })).toBe("account_disabled");
    expect(codeOf({ client: { ...client, status: "closed" } })).toBe("client_closed");
    expect(codeOf({ client: { ...client, status: "suspended" } })).toBe("client_suspended");
    expect(codeOf({ tenant: { ...tenant, require_verified_client: "withdrawal" } })).toBe("client_not_verified");
  });

  it("books legs that are zero in each currency, and meets what happens to either account meanwhile", () => {
    const sides = sidesOf("USD", "EUR");
    const rate = accepted(rated("USD", "EUR", 10_000n, "0.50")).result;
    const transfer = { ...rate, id: "trf_1", amount_minor: 10_000n, quote_id: null };
    const request = requestOf(sides, "100.00");
    const ids = ["txn_1", "txn_2"] as const;
    const out = accepted(transferOut({ tenant, ...sides.from }, transfer, ids, sides.to.account, request, context));
    const into = accepted(transferIn({ tenant, ...sides.to }, transfer, ids, sides.from.account, request, context));
    const entries = (changes: typeof out.changes, entity: string) =>
      createdItems<{ amount_minor: bigint; control_account?: string }>(changes, entity).map((item) => [
        item.control_account ?? "customer",
        item.amount_minor,
      ]);
    expect([...entries(out.changes, "ledger"), ...entries(out.changes, "contra")]).toEqual([
      ["customer", -10_000n],
      ["transfers", 10_000n],
    ]);
    expect([...entries(into.changes, "ledger"), ...entries(into.changes, "contra")]).toEqual([
      ["customer", 9044n],
      ["transfers", -9090n],
      ["conversion_income", 46n],
    ]);
    expect(out.changes).toContainEqual(
      expect.objectContaining({
        op: "adjust",
        require: expect.arrayContaining([
          { attribute: "accepts", is: "equal", value: "all" },
          { attribute: "available_minor", is: "at_least", value: 10_000n },
        ]),
      }),
    );
    expect(into.changes).toContainEqual(
      expect.objectContaining({
        op: "adjust",
        require: expect.arrayContaining([{ attribute: "accepts", is: "not", value: "none" }]),
      }),
    );
    expect(out.events.map(({ type }) => type)).toEqual([
      "transaction.created",
      "transaction.completed",
      "transaction.updated",
    ]);
  });
});

describe("a firm quote", () => {
  const sides = sidesOf("USD", "JPY");
  const request = requestOf(sides, "100.00");
  const quoted = () => accepted(quoteTransfer(sides, market, undefined, request, context)).result;

  it("keeps what the brokerage keeps, half a percent until it says another, and a tenth at least", () => {
    expect(quoted()).toMatchObject({ mark_up_percent: "0.50", credit_minor: 14_924n, status: "open" });
    const creditAt = (transfer_mark_up_percent: string) => {
      const at = { ...sides, tenant: { ...tenant, transfer_mark_up_percent } };
      return accepted(quoteTransfer(at, market, undefined, request, context)).result.credit_minor;
    };
    expect(["0.00", "1.00"].map(creditAt)).toEqual([14_984n, 14_849n]);
  });

  it("is for an amount worth 10,000 USD at most", () => {
    const asked = (from: CurrencyCode, amount: string) => {
      const other = sidesOf(from, from === "EUR" ? "USD" : "EUR");
      return quoteTransfer(other, market, undefined, requestOf(other, amount), context);
    };
    expect(accepted(asked("JPY", "1500100")).ok).toBe(true);
    expect(refused(asked("JPY", "1500101")).code).toBe("amount_too_large");
    expect(refused(asked("EUR", "9090.91")).code).toBe("amount_too_large");
    expect(refused(quoteTransfer(sidesOf("USC", "USD"), market, undefined, requestOf(sides, "1"), context)).code).toBe(
      "transfer_not_allowed",
    );
  });

  it("is used once, for its accounts and its amount, within 30 seconds, and is the client's only one", () => {
    const quote = quoted();
    const use = { ...request, quote_id: quote.id };
    const { changes } = accepted(useQuote(quote, use, 10_000n, context));
    expect(changes).toMatchObject([
      { op: "update", before: { status: "open", version: 1 }, after: { status: "used" } },
    ]);
    const late = decisionContext({ now: context.in(limits.transfers.quote_seconds) });
    const codes = [
      useQuote(undefined, use, 10_000n, context),
      useQuote({ ...quote, status: "used" }, use, 10_000n, context),
      useQuote(quote, { ...use, quote_id: "trq_01JD0000000000000000000009" }, 10_000n, context),
      useQuote(quote, { ...use, to_account_id: use.from_account_id }, 10_000n, context),
      useQuote(quote, use, 10_001n, context),
      useQuote(quote, use, 10_000n, late),
    ].map((decision) => refused(decision).code);
    expect(new Set(codes)).toEqual(new Set(["transfer_quote_invalid"]));
    const next = accepted(quoteTransfer(sides, market, quote, request, context));
    expect(next.changes).toMatchObject([{ op: "update", before: { id: quote.id }, after: { version: 2 } }]);
  });
});
