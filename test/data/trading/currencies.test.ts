import { describe, expect, it } from "vitest";
import { defaultCurrencies } from "../../../shared/currencies.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { api } from "./trading-cases.ts";

const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

const own = newCaller();
const theirs = brokerage(api, own);
const market = tradingFloor(own.tenant_id);
const prices = {
  USDAED: ["3.67250", "3.67250"],
  USDKWD: ["0.30700", "0.30700"],
  USDTUSD: ["1.00050", "1.00050"],
} as const;

await putMarket(api, own.tenant_id, prices, [
  someSymbol("USDAED"),
  someSymbol("USDKWD"),
  someSymbol("USDTUSD", { base_currency: "USDT", quote_currency: "USD" }),
]);
const offered = [...defaultCurrencies, "AED", "KWD", "USDT", "USC"];
await api.call(own, "PATCH", "/settings", { body: { currencies: offered } });

describe("an account", () => {
  // A profit of 5.00 USD, and a loss of more than there is.
  it.each([
    ["AED", "4000", ["4000.00", "1.25", "3998.75", "18.36", "4017.11", "917.11", "3100.00"]],
    ["KWD", "330", ["330.000", "1.250", "328.750", "1.535", "330.285", "30.285", "300.000"]],
    [
      "USDT",
      "1100",
      ["1100.000000", "1.250000", "1098.750000", "4.997501", "1103.747501", "103.747501", "1000.000000"],
    ],
    ["USC", "110000", ["110000.00", "1.25", "109998.75", "500.00", "110498.75", "498.75", "110000.00"]],
  ])(
    "in %s books deposit, trade, payout, credit, correction and ledger with its own digits",
    async (currency, sum, expected) => {
      const [amount, fee = "", net, profit, after, left, paid] = expected;
      const account = await theirs.account(undefined, { currency, type: "demo", leverage: 100 });
      const deposit = await theirs.deposit(account, sum, { fee: "1.25", status: "completed" });
      expect(deposit).toMatchObject({ amount, fee, net_amount: net, currency, balance_after: net });
      await market.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.01" });
      await putQuote(api, own.tenant_id, "EURUSD", ["1.10510", "1.10520"]);
      expect(await market.close(account.id, 0)).toMatchObject({ kind: "done" });
      await putQuote(api, own.tenant_id, "EURUSD", ["1.10000", "1.10010"]);
      const [trade] = (await theirs.get(`/accounts/${account.id}/trades`)).data;
      expect([trade.gross_pnl, trade.currency]).toEqual([profit, currency]);
      expect((await theirs.get(`/accounts/${account.id}`)).balance).toBe(after);
      const withdrawal = await theirs.withdrawal(account, left ?? "", { fee: "0.25" });
      expect((await theirs.move(withdrawal, "completed")).body).toMatchObject({ amount: left, balance_after: paid });
      const credit = { account_id: account.id, direction: "in", amount: "12.5", reason: { code: "bonus" } };
      const granted = (await api.call(own, "POST", "/transactions/credit", { body: credit })).body;
      const bonus = `12.5${fee.slice("1.2".length).replaceAll(/\d/g, "0")}`;
      expect((await theirs.move(granted, "completed")).body).toMatchObject({ amount: bonus, balance_after: paid });
      expect(await market.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.50" })).toMatchObject({
        kind: "done",
      });
      await putQuote(api, own.tenant_id, "EURUSD", ["1.05000", "1.05010"]);
      await market.evaluate(account.id);
      await putQuote(api, own.tenant_id, "EURUSD", ["1.10000", "1.10010"]);
      const { data } = await theirs.get(`/accounts/${account.id}/ledger`);
      const zero = net?.replaceAll(/\d/g, "0").replace(/^0+/, "0");
      expect(data.map(({ kind }: { kind: string }) => kind)).toEqual([
        "negative_balance_correction",
        "credit_out",
        "credit_out",
        "realised_pnl",
        "credit_in",
        "withdrawal",
        "realised_pnl",
        "deposit",
      ]);
      const booked = [data[0].balance_after, data[5].amount, data[6].amount, data[7].amount];
      expect(booked).toEqual([zero, `-${left}`, profit, net]);
      const credited = [1, 2, 4].map((place) => [data[place].amount, data[place].moves]);
      expect(credited).toEqual([
        [bonus, "balance"],
        [`-${bonus}`, "credit"],
        [bonus, "credit"],
      ]);
      const shape = new RegExp(`^${zero?.replace(".", "\\.").replaceAll("0", "\\d").replace("\\d", "-?\\d+")}$`);
      for (const entry of data) {
        expect([entry.amount, entry.balance_before, entry.balance_after]).toEqual(
          [1, 2, 3].map(() => expect.stringMatching(shape)),
        );
      }
    },
  );
});
