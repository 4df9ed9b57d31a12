import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig } from "../../infra/tools/bridge/config.ts";
import { Gate, type Numbered } from "../../infra/tools/bridge/fix/gate.ts";
import { SentNumbers } from "../../infra/tools/bridge/fix/numbers.ts";
import { Orders } from "../../infra/tools/bridge/fix/orders.ts";
import { quantityOf, type TranslateConfig, translate } from "../../infra/tools/bridge/fix/translate.ts";
import { unitsOf } from "../../infra/tools/bridge/units.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-fix-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A message from its text, tag=value with bars, as a log shows it. */
const message = (text: string, fields: Readonly<Record<string, unknown>> = {}) => {
  const pairs = text.split("|").map((pair) => pair.split("=") as [string, string]);
  const get = (tag: number) => pairs.find(([number]) => Number(number) === tag)?.[1];
  return { type: get(35) ?? "", get, fields };
};
const fill = "35=8|37=O1|17=E1|150=F|39=2|1=5001|55=EURUSD|54=1|32=10000|31=1.10005|60=20261120-09:00:00.120";
const lots: TranslateConfig = { lot_size: { default: "100000", XAUUSD: "100" } };

describe("a message of a venue", () => {
  it("becomes a fill as an execution report, in lots and with its time", () => {
    const expected = {
      ...{ deal_id: "E1", platform_login: "5001", symbol: "EURUSD", side: "buy", lots: "0.10", price: "1.10005" },
      at: "2026-11-20T09:00:00.120Z",
    };
    expect(translate(message(fill), lots).events).toMatchObject([{ kind: "fill", fill: expected }]);
  });

  it.each([
    ["says what it opens and closes", `${fill}|77=C`, { effect: "close" }],
    ["carries tags of the venue", `${fill}|198=P-9|9001=12.50`, { position_id: "P-9", profit: "12.50" }],
    ["is one of FIX 4.2", fill.replace("150=F", "20=0|150=2"), { deal_id: "E1" }],
    ["has the account of the session", fill.replace("|1=5001", ""), { platform_login: "7001" }],
    ["sells short", fill.replace("54=1", "54=5"), { side: "sell" }],
  ])("is a fill that %s", (_, text, expected) => {
    const config = { ...lots, account: "7001", tags: { position_id: 198, profit: 9001 } };
    expect(translate(message(text), config).events).toMatchObject([{ kind: "fill", fill: expected }]);
  });

  it.each([
    ["a new order", fill.replace("150=F", "150=0")],
    ["a status", fill.replace("150=F", "20=3|150=2")],
    ["a heartbeat", "35=0"],
  ])("is nothing when it is %s", (_, text) => {
    expect(translate(message(text), lots)).toEqual({ events: [], quotes: [] });
  });

  it.each([
    ["is cancelled", fill.replace("150=F", "150=H"), "by hand"],
    ["is corrected in FIX 4.2", fill.replace("150=F", "20=2|150=2"), "by hand"],
  ])("is reported to a person when it %s", (_, text, note) => {
    const translated = translate(message(text), lots);
    expect(translated.events).toEqual([]);
    expect(translated.note).toContain(note);
  });

  it.each([
    ["29000.", "29000"],
    ["000029000", "29000"],
    ["+29000.0000000000000000", "29000.000000000000"],
    [".5", "0.5"],
    ["0.123456789012", "0.123456789012"],
    ["123456789012345678901234567890.25", "123456789012345678901234567890.25"],
  ])("has every digit of the quantity %s", (quantity, lot) => {
    const [event] = translate(message(fill.replace("32=10000", `32=${quantity}`)), {}).events;
    expect(event?.kind === "fill" && unitsOf(event.fill.lots)).toBe(unitsOf(lot));
  });

  it("has prices and money as plain decimals", () => {
    const text = `${fill.replace("31=1.10005", "31=01.10005")}|12=+5|9001=-0.|9002=-.50`;
    const config = { ...lots, tags: { commission: 12, profit: 9001 } };
    const expected = { price: "1.10005", commission: "5", profit: "0" };
    expect(translate(message(text), config).events).toMatchObject([{ fill: expected }]);
    const other = { ...lots, tags: { profit: 9002 } };
    expect(translate(message(text), other).events).toMatchObject([{ fill: { profit: "-0.50" } }]);
  });

  it.each([
    ["a quantity that is no decimal", fill.replace("32=10000", "32=1e4"), "32=1e4 is no decimal"],
    ["a quantity without a digit", fill.replace("32=10000", "32=."), "32=. is no decimal"],
    [
      "too many decimals",
      fill.replace("32=10000", "32=0.1234567890123"),
      "32=0.1234567890123 has more than 12 decimals",
    ],
    ["a part of the smallest lot", fill.replace("32=10000", "32=0.00000001"), "is no plain number of lots of 100000"],
    ["a quantity below 0", fill.replace("32=10000", "32=-1"), "32=-1 is below 0"],
    ["no quantity", fill.replace("|32=10000", ""), "32= names no quantity"],
    ["no price", fill.replace("|31=1.10005", ""), "31= names no price"],
    ["no side", fill.replace("54=1", "54=7"), "54=7 neither buys nor sells"],
    ["no name", fill.replace("|17=E1", ""), "17= names no deal"],
    ["no account", fill.replace("|1=5001", ""), "1= names no account"],
    ["a trade report without sides", "35=AE|571=T1|32=100|31=2650.10|55=XAUUSD", "552= names no side"],
  ])("cannot be passed over with %s, unless a person books the deal", (_, text, sentence) => {
    expect(() => translate(message(text), lots)).toThrow(sentence);
    const id = /\|(?:17|571)=([^|]+)/.exec(text)?.[1];
    if (id === undefined) return;
    expect(() => translate(message(text), { ...lots, by_hand: ["E2"] })).toThrow(sentence);
    const { events, note } = translate(message(text), { ...lots, by_hand: [id] });
    expect([events, note]).toEqual([[], expect.stringContaining(`The deal ${id} is left to a person`)]);
  });

  it("is read although by_hand names it, where it can be read", () => {
    expect(translate(message(fill), { ...lots, by_hand: ["E1"] }).events).toHaveLength(1);
  });

  it("changes nothing with the quantity 0, and says so", () => {
    const { events, note } = translate(message(fill.replace("32=10000", "32=0")), lots);
    expect([events, note]).toEqual([[], "The deal E1 has the quantity 0, and changes nothing."]);
  });

  it("leaves out the side of a counterparty without an account", () => {
    const NoSides = [{ Side: "1" }, { Side: "2", Account: "5002" }];
    const report = message("35=AE|571=T1|32=100|31=2650.10|55=XAUUSD", { NoSides });
    expect(translate(report, lots).events).toMatchObject([{ fill: { deal_id: "T1/2", platform_login: "5002" } }]);
  });

  it("becomes a fill of each side as a trade capture report", () => {
    const NoSides = [
      { Side: "1", Account: "5001" },
      { Side: "2", Account: "5002" },
    ];
    const report = message("35=AE|571=T1|32=100|31=2650.10|55=XAUUSD", { TrdCapRptSideGrp: { NoSides } });
    expect(translate(report, lots).events).toMatchObject([
      { fill: { deal_id: "T1", platform_login: "5001", side: "buy", lots: "1.00" } },
      { fill: { deal_id: "T1/2", platform_login: "5002", side: "sell", lots: "1.00" } },
    ]);
  });

  it("becomes the best prices of each symbol as market data, when it has both", () => {
    const entry = (MDEntryType: string, MDEntryPx: number, more: object = {}) => ({ MDEntryType, MDEntryPx, ...more });
    const full = message("35=W|55=EURUSD", { MDFullGrp: { NoMDEntries: [entry("0", 1.1), entry("1", 1.1001)] } });
    expect(translate(full, lots).quotes).toEqual([{ symbol: "EURUSD", bid: "1.1", ask: "1.1001" }]);
    const gold = { Instrument: { Symbol: "XAUUSD" } };
    const NoMDEntries = [entry("0", 2650, gold), entry("1", 2650.3, gold), entry("0", 1.2, { Symbol: "EURUSD" })];
    expect(translate(message("35=X", { NoMDEntries }), lots).quotes).toEqual([
      { symbol: "XAUUSD", bid: "2650", ask: "2650.3" },
    ]);
  });
});

describe("the quantity of an order", () => {
  it("is exact for every hundredth of a lot up to ten", () => {
    for (let hundredths = 1; hundredths <= 1000; hundredths += 1) {
      const text = (hundredths / 100).toFixed(2);
      expect(quantityOf(text, "EURUSD", lots)).toBe(hundredths * 1000);
      expect(quantityOf(text, "XAUUSD", lots)).toBe(hundredths);
    }
  });

  it("is a fraction where a lot is one, and none where a number would not be exactly that", () => {
    expect(quantityOf("0.00012345", "BTCUSD", {})).toBe(0.00012345);
    expect(quantityOf("0.000000000001", "BTCUSD", { lot_size: { default: "0.1" } })).toBeUndefined();
    expect(quantityOf("1234567890.123456789", "BTCUSD", {})).toBeUndefined();
  });
});

describe("the order of a command", () => {
  const reader = (text: string) => message(text).get;
  const outcome = async (read: (orders: Orders) => unknown, limitMs?: number) => {
    const orders = new Orders(limitMs);
    const ended = orders.outcomeOf("cmd_1", "P-1", () => orders.sent("cmd_1", 7));
    read(orders);
    const result = await ended;
    expect(orders.size).toBe(0);
    return result;
  };
  it.each([
    "35=3|45=7|58=No",
    "35=j|45=1|379=cmd_1|58=No",
    "35=j|45=7|58=No",
    ...["3", "4", "8", "C"].map((status) => `35=8|11=cmd_1|39=${status}|151=0|14=0|58=No`),
    "35=8|11=X|41=cmd_1|39=4|14=0.|58=No",
  ])("has failed by %s, with the text of the venue", async (text) => {
    const read = (orders: Orders) =>
      text.startsWith("35=8") ? orders.reported(reader(text), false) : orders.rejected(reader(text));
    expect(await outcome(read)).toEqual({ status: "failed", error: { code: "order_rejected", message: "No" } });
  });

  it("is done with the part that was filled before it was cancelled", async () => {
    const part = (orders: Orders) => {
      orders.reported(reader("35=8|11=cmd_1|17=E1|39=1|14=100|151=900"), true);
      orders.reported(reader("35=8|11=cmd_1|17=E2|39=4|14=100|151=0"), false);
    };
    expect(await outcome(part)).toEqual({ status: "done", operation_id: "E1" });
    const unseen = (orders: Orders) => orders.reported(reader("35=8|11=cmd_1|17=E2|39=4|14=100|151=0"), false);
    expect(await outcome(unseen)).toEqual({ status: "done", operation_id: null });
  });

  it("is unknown at its limit and no longer kept, and a late fill still names its position", async () => {
    let late: string | undefined;
    const silent = (orders: Orders) => {
      orders.reported(reader("35=8|11=cmd_2|39=8"), false);
      orders.reported(reader("35=8|11=cmd_1|39=0|14=0|151=1000"), false);
      expect(orders.rejected(reader("35=3|45=6"))).toBe(false);
      late = orders.positionOf(reader("35=8|11=cmd_1"));
    };
    expect(await outcome(silent, 1)).toMatchObject({ status: "unknown", error: { code: "order_unknown" } });
    expect(late).toBe("P-1");
  });
});

describe("the gate of a session", () => {
  const app = (seq: number): Numbered => ({ type: "8", seq });

  it("leaves what comes after a gap until it is repeated, and what was taken before", () => {
    const gate = new Gate(5);
    expect([4, 5, 7, 8].map((seq) => gate.admit(app(seq)))).toEqual(["leave", "take", "leave", "leave"]);
    expect(gate.hasGap).toBe(true);
    expect([6, 7, 8].map((seq) => gate.admit(app(seq)))).toEqual(["take", "take", "take"]);
    expect([gate.next, gate.hasGap]).toEqual([9, false]);
  });

  it("takes nothing from a message on that could not be kept, so that it is asked for again", () => {
    const gate = new Gate(5);
    expect(gate.admit(app(5))).toBe("take");
    gate.hold(5);
    const after = [app(5), app(6), { type: "4", seq: 5, newSeq: 9, gapFill: true }, { type: "A", seq: 1, reset: true }];
    expect(after.map((each) => gate.admit(each))).toEqual(["leave", "leave", "leave", "leave"]);
    expect(gate.next).toBe(5);
  });

  it("follows a gap fill from where it is, and no gap fill from further on", () => {
    const gate = new Gate(5);
    gate.admit({ type: "4", seq: 7, newSeq: 9, gapFill: true });
    expect(gate.next).toBe(5);
    gate.admit({ type: "4", seq: 4, newSeq: 9, gapFill: true });
    expect(gate.next).toBe(9);
  });

  it("begins again where the venue resets its numbers", () => {
    const gate = new Gate(500);
    expect(gate.admit({ type: "A", seq: 1, reset: true })).toBe("reset");
    expect(gate.next).toBe(2);
    expect(gate.admit({ type: "4", seq: 2, newSeq: 40 })).toBe("reset");
    expect(gate.next).toBe(40);
  });

  it("takes every message once and in order, however it is repeated", () => {
    const arrivals = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(arrivals, (bursts) => {
        const gate = new Gate(1);
        const taken: number[] = [];
        // Each burst begins at the next message or before, as a repetition does, or leaves some out.
        for (const [from, length] of bursts) {
          for (let seq = from; seq < from + length; seq += 1) if (gate.admit(app(seq)) === "take") taken.push(seq);
        }
        expect(taken).toEqual(taken.map((_, place) => place + 1));
      }),
    );
  });
});

describe("the numbers that a session sends", () => {
  const fail = (error: unknown) => {
    throw error;
  };

  it("are used once, also after a crash", async () => {
    const path = join(folder, "sent");
    const numbers = new SentNumbers(path, fail);
    await numbers.start();
    for (let next = 2; next <= 1500; next += 1) numbers.moveTo(next);
    await numbers.stop();
    expect(readFileSync(path, "utf8")).toBe("1500");
    const again = new SentNumbers(path, fail);
    await again.start();
    again.moveTo(1510);
    expect(new SentNumbers(path, fail).next).toBeGreaterThan(1510);
  });

  it("begin at 1 again when the session is reset", async () => {
    const numbers = new SentNumbers(join(folder, "reset"), fail);
    await numbers.start();
    numbers.moveTo(900);
    numbers.moveTo(1);
    await numbers.stop();
    expect(new SentNumbers(join(folder, "reset"), fail).next).toBe(1);
  });
});

describe("the configuration of a bridge", () => {
  const example = readFileSync(new URL("../../infra/tools/bridge/bridge.example.json", import.meta.url), "utf8");
  const written = (text: string) => {
    const path = join(folder, "bridge.json");
    writeFileSync(path, text);
    return path;
  };

  it("is that of the example", () => {
    expect(readConfig(written(example))).toEqual(JSON.parse(example));
  });

  it.each([
    ["{", "is not JSON"],
    [example.replace('"port": 9880', '"port": 0'), "fix.port: Too small: expected number to be >=1"],
    [example.replace('"symbols"', '"symbol"'), 'fix: Unrecognized key: "symbol"'],
    ['{"source": "mt5:live-1"}', "fix: Invalid input: expected object, received undefined"],
    [example.replace("mt5:live-1", "live"), "source: must be a platform and a name such as mt5:live-1"],
  ])("is refused with the member that is wrong: %#", (text, sentence) => {
    expect(() => readConfig(written(text))).toThrow(sentence);
  });
});
