import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { generatedTicks } from "../../infra/tools/ticks/generate.ts";
import { readTicks, type Tick } from "../../infra/tools/ticks/tick-file.ts";
import { brokerNames } from "../support/builders/symbol-names.ts";

async function* chunksOf(text: string, size = Buffer.byteLength(text) || 1) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function ticksOf(text: string, options: { size?: number; symbol?: string } = {}): Promise<Tick[]> {
  const ticks: Tick[] = [];
  for await (const tick of readTicks(chunksOf(text, options.size), options.symbol)) ticks.push(tick);
  return ticks;
}

const first = "2026-11-20T09:00:00.000Z,1.10000,1.10010,EURUSD";
const tick = { time: Date.parse("2026-11-20T09:00:00.000Z"), symbol: "EURUSD", bid: "1.10000", ask: "1.10010" };

describe("a file of ticks", () => {
  it.each([
    ["without a header", first],
    ["with its columns in another order", "Symbol;Ask;Bid;Time\r\nEURUSD;1.10010;1.10000;2026-11-20 09:00:00.000\r\n"],
    ["with times in milliseconds", `time,bid,ask,symbol\n${tick.time},1.10000,1.10010,EURUSD\n`],
    ["with comments and empty lines", `# a comment\n\n${first}\n\n`],
    ["with times of a zone", "2026-11-20T10:00:00+01:00,1.10000,1.10010,EURUSD"],
  ])("is read %s", async (_, text) => {
    expect(await ticksOf(text)).toEqual([tick]);
  });

  it.each(brokerNames)("is read with the symbol %j, also where it stands first", async (symbol) => {
    const { time } = tick;
    expect(await ticksOf(`time,bid,ask,symbol\n${time},1.10000,1.10010,${symbol}\n`)).toEqual([{ ...tick, symbol }]);
    expect(await ticksOf(`symbol,time,bid,ask\n${symbol},${time},1.10000,1.10010\n`)).toEqual([{ ...tick, symbol }]);
  });

  it("is read with prices of zero and below it, as the service takes them of symbols other than pairs", async () => {
    const prices = [
      ["-37.63", "-37.60"],
      ["0", "0.00"],
      ["-0.01", "0.01"],
    ] as const;
    const lines = prices.map(([bid, ask]) => `${tick.time},${bid},${ask},WTI`);
    expect(await ticksOf(lines.join("\n"))).toEqual(prices.map(([bid, ask]) => ({ ...tick, symbol: "WTI", bid, ask })));
  });

  it("is read the same in pieces of any size", async () => {
    const text = [...generatedTicks(40, 3, ["EURUSD", "XAUUSD"])].join("\n");
    const whole = await ticksOf(text);
    expect(whole).toHaveLength(40);
    for (const size of [1, 7, 64]) expect(await ticksOf(text, { size })).toEqual(whole);
  });

  it("needs no column for a symbol that is given", async () => {
    const text = "time,bid,ask\n2026-11-20T09:00:00Z,1.10000,1.10010\n";
    expect(await ticksOf(text, { symbol: "EURUSD" })).toEqual([tick]);
  });

  it.each([
    ["2026-11-20T09:00:01Z,1.1,EURUSD", "line 2: must have the columns time, bid, ask, symbol (or give --symbol)"],
    ["yesterday,1.1,1.2,EURUSD", 'line 2: time must be RFC 3339 or milliseconds since 1970, not "yesterday"'],
    ["2026-13-20T09:00:01Z,1.1,1.2,EURUSD", "line 2: time must be RFC 3339"],
    ["2026-11-20T08:59:59Z,1.1,1.2,EURUSD", "line 2: time must not be before that of the line above"],
    ["2026-11-20T09:00:01Z,1e3,1.2,EURUSD", 'line 2: bid must be a decimal such as 1.10000 or -37.63, not "1e3"'],
    ["2026-11-20T09:00:01Z,1.1,+0.1,EURUSD", "line 2: ask must be a decimal such as 1.10000"],
    ["2026-11-20T09:00:01Z,-37.60,-37.63,WTI", "line 2: ask must not be below bid, and -37.63 is below -37.60"],
    ["2026-11-20T09:00:01Z,1.2,1.1,EURUSD", "line 2: ask must not be below bid, and 1.1 is below 1.2"],
    ["2026-11-20T09:00:01Z,1.1,1.2,EUR*USD", "line 2: symbol must be a name such as EURUSD"],
    ["x".repeat(1001), "line 2: is longer than 1000 characters"],
  ])("is refused at the line %j with its rule", async (line, sentence) => {
    await expect(ticksOf(`${first}\n${line}\n`)).rejects.toThrow(sentence);
  });

  it("is refused without a line break before it fills the memory", async () => {
    let read = 0;
    async function* endless() {
      for (; read < 1_000_000; read += 1) yield "x".repeat(500);
    }
    await expect(readTicks(endless()).next()).rejects.toThrow("line 1: is longer than 1000 characters");
    expect(read).toBeLessThan(5);
  });
});

describe("generated ticks", () => {
  it("are those of the sample, which says that it is no recording", () => {
    const sample = readFileSync(new URL("../../infra/tools/ticks/sample.csv", import.meta.url), "utf8");
    expect(sample).toBe(`${[...generatedTicks(600, 7, ["EURUSD", "XAUUSD"])].join("\n")}\n`);
    expect(sample.split("\n")[0]).toContain("NOT a recording");
  });

  it("differ with the seed", () => {
    expect([...generatedTicks(5, 1, ["EURUSD"])]).not.toEqual([...generatedTicks(5, 2, ["EURUSD"])]);
  });
});
