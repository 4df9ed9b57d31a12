import { describe, expect, it } from "vitest";
import { amendSettings, draftTenant } from "../../../shared/domain/access/tenant.ts";
import { amendAccount } from "../../../shared/domain/accounts/amend-account.ts";
import { openAccount } from "../../../shared/domain/accounts/open-account.ts";
import { formatAmount } from "../../../shared/domain/kernel/money.ts";
import type { Tenant } from "../../../shared/domain/records/tenant.ts";
import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import {
  effectiveLeverage,
  marginRatio,
  marginTermsOf,
  positionMargin,
} from "../../../shared/domain/trading/margin.ts";
import { limits } from "../../../shared/limits.ts";
import type { UpdateSettings } from "../../../shared/schema/settings.ts";
import {
  accepted,
  decisionContext,
  decisionTime,
  refused,
  someClient,
  tenantId,
} from "../../support/builders/decisions.ts";

const european = draftTenant(tenantId, decisionTime);
const set = (patch: UpdateSettings, tenant: Tenant = european) =>
  accepted(amendSettings(tenant, patch, decisionContext())).result;
const elsewhere = set({ max_leverage_retail: 500, min_stop_out_retail: "20" });

const client = someClient();
const open = (tenant: Tenant, more: object = {}) =>
  openAccount(client, tenant, { client_id: client.id, ...more }, decisionContext());

describe("a live account of a retail client", () => {
  it("has 1:500 and a stop-out of 20 after two settings, at its opening and by a change", () => {
    const terms = { leverage: 500, stop_out_level: "20.00" };
    const { account, balance } = accepted(open(elsewhere, terms)).result;
    expect(account).toMatchObject({ ...terms, margin_call_level: "100.00" });
    const usual = accepted(open(elsewhere)).result;
    expect(usual.account).toMatchObject({ leverage: 100, stop_out_level: "50.00" });
    const owned = { ...usual, client, tenant: elsewhere };
    expect(accepted(amendAccount(owned, terms, decisionContext())).result.account).toMatchObject(terms);
    expect(balance.leverage).toBe(500);
  });

  it.each([
    [{ leverage: 501 }, "leverage_not_allowed", { max: 500 }],
    [{ stop_out_level: "19.99" }, "validation_failed", undefined],
  ])("is refused %o beyond them, in both ways", (terms, code, extra) => {
    const owned = { ...accepted(open(elsewhere)).result, client, tenant: elsewhere };
    for (const decision of [open(elsewhere, terms), amendAccount(owned, terms, decisionContext())]) {
      expect(refused(decision)).toMatchObject({ code, ...(extra === undefined ? {} : { extra }) });
    }
  });

  it("keeps its terms when the settings become stricter, and cannot leave for others that they do not allow", () => {
    const { result: owned } = accepted(open(elsewhere, { leverage: 500, stop_out_level: "20.00" }));
    const now = { ...owned, client, tenant: european };
    const { account } = accepted(amendAccount(now, { name: "Main" }, decisionContext())).result;
    expect(account).toMatchObject({ name: "Main", leverage: 500, stop_out_level: "20.00" });
    const codes = [{ leverage: 31 }, { margin_call_level: "110.00" }].map((patch) =>
      refused(amendAccount(now, patch, decisionContext())),
    );
    expect(codes.map(({ code }) => code)).toEqual(["leverage_not_allowed", "validation_failed"]);
  });

  it.each([
    ["0", ["100.00", "50.00", "105.00"]],
    ["60.00", ["100.00", "60.00", "105.00"]],
    ["99.50", ["104.50", "99.50", "109.50"]],
    ["100", ["105.00", "100.00", "110.00"]],
  ])("that names no level has levels that a lowest stop-out of %s allows", (min_stop_out_retail, levels) => {
    const { account } = accepted(open(set({ min_stop_out_retail }))).result;
    expect([account.margin_call_level, account.stop_out_level, account.margin_rearm_level]).toEqual(levels);
  });

  it("is refused without the settings as with the strictest", () => {
    const { result } = accepted(open(european));
    expect(refused(amendAccount({ ...result, client }, { leverage: 31 }, decisionContext())).extra).toEqual({
      max: 30,
    });
  });
});

describe("any other account", () => {
  it("keeps its own caps whatever the settings say", () => {
    const strict = set({ max_leverage_retail: 1, min_stop_out_retail: "100" });
    const terms = { type: "demo", leverage: limits.trading.max_leverage, stop_out_level: "1.00" };
    expect(accepted(open(strict, terms)).result.account).toMatchObject({ ...terms, stop_out_level: "1.00" });
  });
});

/**
 * ESMA/2018/796, Annex I: the leverage of one lot that a retail client may have, by symbol, and the margin of a lot
 * that a USD account buys at the first price, by hand: units at the ask, in dollars at the mid of another pair, by the
 * leverage.
 */
const esma: Readonly<Record<string, readonly [cap: number, margin: string]>> = {
  EURUSD: [30, "3667.00"], // 100,000 x 1.10010
  GBPUSD: [30, "4250.67"], // 100,000 x 1.27520
  USDJPY: [30, "3333.33"],
  USDCHF: [30, "3333.33"],
  USDCAD: [30, "3333.33"],
  EURGBP: [30, "3666.83"], // 100,000 x 1.10005
  AUDUSD: [20, "3301.00"], // 100,000 x 0.66020
  NZDUSD: [20, "3051.00"], // 100,000 x 0.61020
  XAUUSD: [20, "12002.50"], // 100 x 2400.50
  US500: [20, "272.53"], // 5450.5
  GER40: [20, "1017.60"], // 18501.0 x 1.10005
  UK100: [20, "522.85"], // 8201.0 x 1.27510
  XAGUSD: [10, "14265.00"], // 5,000 x 28.530
  UKOIL: [10, "7844.00"], // 1,000 x 78.44
  USOIL: [10, "7424.00"], // 1,000 x 74.24
  SWI20: [10, "1363.71"], // 12002.0 / 0.88010
  AAPL: [5, "45.29"], // 226.45
  MSFT: [5, "83.06"], // 415.28
  BTCUSD: [2, "32010.00"], // 64020.00
  ETHUSD: [2, "1601.00"], // 3202.00
};

describe("the sandbox's symbols", () => {
  const symbols = seedSymbols(tenantId, decisionTime);
  const quotes = new Map(seedQuotes(decisionTime).map((quote) => [quote.symbol, quote]));
  const market = { symbols: new Map(symbols.map((symbol) => [symbol.symbol, symbol])), quotes };

  it("are those of the table", () => {
    expect(symbols.map(({ symbol }) => symbol).toSorted()).toEqual(Object.keys(esma).toSorted());
  });

  it.each(Object.entries(esma).map(([name, terms]) => [name, ...terms] as const))(
    "take of one lot of %s the margin of 1:%i, %s",
    (name, cap, margin) => {
      const symbol = symbols.find((each) => each.symbol === name);
      const price = quotes.get(name)?.ask ?? "";
      if (symbol === undefined) throw new Error(name);
      const ratio = marginRatio(market, "USD", symbol, price) ?? "";
      const { account } = accepted(open(european, { leverage: 30 })).result;
      const terms = { lots: "1.00", margin_terms: marginTermsOf(symbol, price, ratio), currency: "USD" } as const;
      const taken = formatAmount(positionMargin(terms, account.leverage), "USD");
      expect([effectiveLeverage(account, symbol), taken]).toEqual([cap, margin]);
    },
  );
});
