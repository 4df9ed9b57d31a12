import { describe, expect, it } from "vitest";
import { symbolBody } from "../../../shared/domain/trading/pricing/symbol.ts";
import { portableSymbolPattern } from "../../../shared/openapi/schemas.ts";
import { SymbolName, symbolNames } from "../../../shared/schema/symbol.ts";
import { brokerNames, noNames } from "../../support/builders/symbol-names.ts";
import { someSymbol } from "../../support/builders/trading.ts";

const published = new RegExp(`^${portableSymbolPattern}$`, "u");

describe("a name of a symbol", () => {
  it.each(brokerNames)("may be %j, alone, in a list and in the published pattern", (name) => {
    expect(SymbolName.parse(name)).toBe(name);
    expect(symbolNames().parse(`EURUSD,${name},GBPUSD`)).toBe(`EURUSD,${name},GBPUSD`);
    expect(published.test(name)).toBe(true);
  });

  it.each(noNames)("is not %j, neither alone nor in a list", (name) => {
    expect(SymbolName.safeParse(name).success).toBe(false);
    const listed = symbolNames().safeParse(`EURUSD,${name},GBPUSD`);
    // A comma makes two names of one.
    expect(listed.success).toBe(name === "EUR,USD");
  });

  it.each(brokerNames)("stands in the links of %j so that they lead to it", (name) => {
    const { _links } = symbolBody(
      someSymbol(name, { quote_currency: "USD", base_currency: "EUR" }),
      "2026-11-20T10:00:00.000Z",
    );
    const { pathname, search, hash } = new URL(_links["self"]?.href ?? "", "https://api.example");
    expect([search, hash, decodeURIComponent(pathname)]).toEqual(["", "", `/v2/symbols/${name}`]);
    expect(pathname.split("/")).toHaveLength(4);
  });

  it("is the same in each of its Unicode forms", () => {
    expect(SymbolName.parse("O\u0308lsaat")).toBe("Ölsaat");
    expect(symbolNames().parse("O\u0308lsaat")).toBe("Ölsaat");
  });
});
