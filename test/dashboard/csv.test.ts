import { describe, expect, it } from "vitest";
import { csvOf } from "../../infra/dashboard/app/parts/csv.ts";
import { brokerNames } from "../support/builders/symbol-names.ts";

describe("rows as CSV", () => {
  it("have the names of the API, members of objects, lists as JSON and amounts as they were sent", () => {
    const rows = [
      { id: "cli_1", balance: "-12.00", actor: { name: 'Ana "A" Silva' }, tags: ["a", "b"], _links: { self: {} } },
      { id: "cli_2", balance: "0.50", actor: null, email: "ana@example.com" },
    ];
    expect(csvOf(rows).split("\r\n")).toEqual([
      "id,balance,actor.name,tags,actor,email",
      'cli_1,-12.00,"Ana ""A"" Silva","[""a"",""b""]",,',
      "cli_2,0.50,,,,ana@example.com",
      "",
    ]);
  });

  it.each(brokerNames)("have the symbol %j in one cell", (symbol) => {
    const shown = symbol.startsWith("@") || symbol.startsWith("+") ? `'${symbol}` : symbol;
    expect(csvOf([{ symbol, lots: "1.00" }])).toBe(`symbol,lots\r\n${shown},1.00\r\n`);
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["+1+1", "'+1+1"],
    ["-1+1", "'-1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1+1", "'\t=1+1"],
    ["  =1+1", "'  =1+1"],
    ['=HYPERLINK("http://x")', '"\'=HYPERLINK(""http://x"")"'],
    [";=1+1", "';=1+1"],
    ["; DROP", "'; DROP"],
    ["＝1+1", "'＝1+1"],
    ["＋1", "'＋1"],
    ["－1+1", "'－1+1"],
    ["＠SUM(A1)", "'＠SUM(A1)"],
    [" \u3000＝1", "' \u3000＝1"],
    ["a;b", "a;b"],
    ["-12.50", "-12.50"],
    ["+49 30 1234", "'+49 30 1234"],
    ["a=b", "a=b"],
  ])("show %j to a spreadsheet as %j", (text, shown) => {
    expect(csvOf([{ text }])).toBe(`text\r\n${shown}\r\n`);
  });
});
