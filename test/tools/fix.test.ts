import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig } from "../../infra/bridge/config.ts";
import { SentNumbers } from "../../infra/bridge/fix/numbers.ts";
import { Orders } from "../../infra/bridge/fix/orders.ts";
import { type Field, FixMessage } from "../../infra/bridge/fix/parse.ts";
import { Prices } from "../../infra/bridge/fix/prices.ts";
import { quantityOf, type TranslateConfig, translate } from "../../infra/bridge/fix/translate.ts";
import { unitsOf } from "../../infra/bridge/units.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-fix-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A message from its text, tag=value with bars, as a log shows it. */
const message = (text: string) => {
  const fields = text.split("|").map((pair): Field => [Number(pair.split("=")[0]), pair.slice(pair.indexOf("=") + 1)]);
  return new FixMessage("FIX.4.4", fields);
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
    expect(translate(message(text), lots)).toEqual({ events: [] });
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
    ["no symbol", fill.replace("|55=EURUSD", ""), "55= names no symbol"],
    ["a time that is none", fill.replace("60=20261120", "60=20261320"), "60=20261320-09:00:00.120 is no time"],
    ["a quantity twice", `${fill}|32=20000`, "32=10000 is there twice"],
    ["an account twice", `${fill}|1=5002`, "1=5001 is there twice"],
    ["a type of execution twice", `${fill}|150=0`, "150=F is there twice"],
    [
      "fewer sides than it counts",
      "35=AE|571=T1|32=100|31=2650.10|55=XAUUSD|552=2|54=1|1=5001",
      "552=2 does not count the 1 entries of its group",
    ],
    [
      "a side with two accounts",
      "35=AE|571=T1|32=100|31=2650.10|55=XAUUSD|552=2|54=1|1=5001|1=5003|54=2|1=5002",
      "1=5001 is there twice",
    ],
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

  it.each([
    ["20261120-09:00:00", "2026-11-20T09:00:00Z"],
    ["20261120-09:00:00.123456789", "2026-11-20T09:00:00.123456789Z"],
    ["20261120-09:00:00.123456789012", "2026-11-20T09:00:00.123456789Z"],
  ])("has its own time, of which digits are cut: %s", (stamp, at) => {
    const text = fill.replace("60=20261120-09:00:00.120", `60=${stamp}`);
    expect(translate(message(text), lots).events).toMatchObject([{ fill: { at } }]);
  });

  it("leaves out the side of a counterparty without an account", () => {
    const report = message("35=AE|571=T1|32=100|31=2650.10|55=XAUUSD|552=2|54=1|54=2|1=5002");
    expect(translate(report, lots).events).toMatchObject([{ fill: { deal_id: "T1/2", platform_login: "5002" } }]);
  });

  it("becomes a fill of each side as a trade capture report, with what the venue says of the side or of all", () => {
    const text = "35=AE|571=T1|880=M1|32=100|31=2650.10|55=XAUUSD|198=P-9|552=2|54=1|1=5001|12=-1|54=2|1=5002|12=-2";
    const config = { ...lots, tags: { commission: 12, position_id: 198 } };
    const both = { lots: "1.00", position_id: "P-9", trade: { form: "capture", ids: ["571=T1", "880=M1"] } };
    expect(translate(message(text), config).events).toMatchObject([
      { fill: { deal_id: "T1", platform_login: "5001", side: "buy", commission: "-1", ...both } },
      { fill: { deal_id: "T1/2", platform_login: "5002", side: "sell", commission: "-2", ...both } },
    ]);
  });
});

describe("the prices of a venue", () => {
  const full = "35=W|55=EURUSD|268=4|269=0|278=a|270=1.1|269=0|278=b|270=1.0|269=1|278=c|270=1.2|269=1|278=d|270=1.3";
  /** The quote of the last of some messages: bid and ask, or nothing. */
  const after = (...texts: readonly string[]) => {
    const prices = new Prices();
    return texts.map((text) => prices.apply(message(text)).map(({ bid, ask }) => `${bid} ${ask}`)).at(-1);
  };
  const update = (...entries: readonly string[]) => `35=X|268=${entries.length}|${entries.join("|")}`;

  it.each([
    ["a full refresh of several levels", [full], ["1.1 1.2"]],
    ["a full refresh of one side", [full, "35=W|55=EURUSD|268=1|269=0|270=1.05"], ["1.05 1.2"]],
    ["a full refresh without entries", [full, "35=W|55=EURUSD|268=0"], []],
    ["one side only", ["35=W|55=EURUSD|268=1|269=0|270=1.05"], []],
    ["a trade", ["35=W|55=EURUSD|268=3|269=2|270=9|269=0|270=1.05|269=1|270=1.06"], ["1.05 1.06"]],
    ["a new best bid", [full, update("279=0|269=0|278=e|55=EURUSD|270=1.15")], ["1.15 1.2"]],
    ["a change by id", [full, update("279=1|269=0|278=a|55=EURUSD|270=0.9")], ["1.0 1.2"]],
    ["a change of the size by id", [full, update("279=1|278=a|271=5")], ["1.1 1.2"]],
    ["a change of the id", [full, update("279=1|280=a|278=z|270=1.14"), update("279=2|278=z")], ["1.0 1.2"]],
    ["a deletion by id", [full, update("279=2|278=c")], ["1.1 1.3"]],
    ["a deletion of far entries", [full, update("279=2|278=b|270=1.0", "279=2|278=d|270=1.3")], ["1.1 1.2"]],
    ["a deletion by price", [full, update("279=2|269=1|55=EURUSD|270=1.20")], ["1.1 1.3"]],
    ["a change by price", [full, update("279=1|269=1|55=EURUSD|270=1.20|271=5")], ["1.1 1.20"]],
    [
      "a change of the only level",
      ["35=W|55=EURUSD|268=2|269=0|270=1|269=1|270=2", update("279=1|269=0|55=EURUSD|270=1.5")],
      ["1.5 2"],
    ],
    ["a side that becomes empty", [full, update("279=2|278=c", "279=2|278=d")], []],
    ["an empty book", [full, update("279=0|269=J|55=EURUSD")], []],
    [
      "a side that is emptied and filled",
      [full, update("279=2|278=c", "279=2|278=d"), update("279=0|269=1|278=e|55=EURUSD|270=1.25")],
      ["1.1 1.25"],
    ],
  ])("are the best of each side after %s", (_, texts, quotes) => {
    expect(after(...texts)).toEqual(quotes);
  });

  it("are those of each symbol, of which the entries after the first may not name it", () => {
    const prices = new Prices();
    const gold = update("279=0|269=0|55=XAUUSD|270=2650", "279=0|269=1|270=2650.3", "279=0|269=0|55=EURUSD|270=1.2");
    expect(prices.apply(message(gold))).toEqual([{ symbol: "XAUUSD", bid: "2650", ask: "2650.3" }]);
    expect(prices.apply(message(full))).toEqual([{ symbol: "EURUSD", bid: "1.1", ask: "1.2" }]);
  });

  it.each([
    ["a price that is no decimal", update("279=1|278=a|270=1e3"), "270=1e3 is no decimal"],
    ["no price", update("279=0|269=0|278=e|55=EURUSD"), "270= names no price"],
    ["a price twice", update("279=1|278=a|270=1.1|270=1.2"), "270=1.1 is there twice"],
    ["no symbol", update("279=0|269=0|270=1"), "55= names no symbol"],
    ["another action", update("279=7|278=a"), "279=7 is no action"],
    ["a change that names none of several levels", update("279=1|269=0|55=EURUSD|270=1.12"), "changes no price"],
    ["another count", `${full}|269=0|270=1`.replace("268=4", "268=7"), "268=7 does not count the 5 entries"],
  ])("are none after %s, until the next full refresh", (_, text, sentence) => {
    const prices = new Prices();
    prices.apply(message(full));
    expect(() => prices.apply(message(text))).toThrow(sentence);
    expect(prices.apply(message(update("279=0|269=0|55=EURUSD|270=1", "279=0|269=1|55=EURUSD|270=2")))).toEqual([]);
    expect(prices.apply(message(full))).toHaveLength(1);
  });
});

describe("the quantity of an order", () => {
  it("is exact for every hundredth of a lot up to ten", () => {
    for (let hundredths = 1; hundredths <= 1000; hundredths += 1) {
      const text = (hundredths / 100).toFixed(2);
      expect(quantityOf(text, "EURUSD", lots)).toBe(String(hundredths * 1000));
      expect(quantityOf(text, "XAUUSD", lots)).toBe(String(hundredths));
    }
  });

  it("is a fraction where a lot is one, and none where a number would not be exactly that", () => {
    expect(quantityOf("0.00012345", "BTCUSD", {})).toBe("0.00012345");
    expect(quantityOf("0.000000000001", "BTCUSD", { lot_size: { default: "0.1" } })).toBeUndefined();
    expect(quantityOf("1234567890.123456789", "BTCUSD", {})).toBeUndefined();
  });
});

describe("the order of a command", () => {
  const reader = (text: string) => (tag: number) => message(text).get(tag);
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
      late = orders.positionOf(["cmd_2", "cmd_1"]);
    };
    expect(await outcome(silent, 1)).toMatchObject({ status: "unknown", error: { code: "order_unknown" } });
    expect(late).toBe("P-1");
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
  const example = readFileSync(new URL("../../infra/bridge/bridge.example.json", import.meta.url), "utf8");
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
