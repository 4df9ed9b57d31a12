import { describe, expect, it, vi } from "vitest";
import { bridge, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { api, broker, caller, open, post, setPrices, trader } from "./sandbox-cases.ts";

interface Price {
  readonly bid: string;
  readonly ask: string;
}

const start: Readonly<Record<string, Price>> = {
  EURUSD: { bid: "1.10000", ask: "1.10012" },
  GBPUSD: { bid: "1.27500", ask: "1.27520" },
  USDJPY: { bid: "149.990", ask: "150.010" },
  EURGBP: { bid: "0.86250", ask: "0.86270" },
  XAUUSD: { bid: "2400.20", ask: "2400.50" },
  GER40: { bid: "18500.0", ask: "18501.0" },
  BTCUSD: { bid: "64000.00", ask: "64020.00" },
};

const { newSource, unusedLogin } = bridge(api, caller);

type Trade = readonly [symbol: string, side: "buy" | "sell", lots: string];

/** An account with its trades, opened at the prices of the start. */
async function holder(amount: string, more: object, trades: readonly Trade[]): Promise<string> {
  const account = await trader(amount, more);
  for (const [symbol, side, lots] of trades) {
    const opened = await open(account, { symbol, side, lots });
    expect([opened.status, opened.text]).toEqual([201, expect.any(String)]);
  }
  return account.id;
}

/** An account of a platform, which this service liquidates by commands. */
async function onPlatform(): Promise<string> {
  const [source, login] = [await newSource({ authoritative: "service" }), unusedLogin()];
  const link = { platform: "mt5", platform_login: login, source_id: source.id };
  const { id } = await trader(undefined, link);
  await source.send(
    moneyMoved(login, `${login}-1`, "deposit", "2600.00"),
    opening(login, `${login}-2`, `${login}-a`, { price: "1.10012" }),
    opening(login, `${login}-3`, `${login}-b`, { price: "1.10000", side: "sell", lots: "0.20" }),
  );
  return id;
}

/** Each kind of position that a price can take to a margin call. */
const kinds: readonly (readonly [kind: string, make: () => Promise<string>])[] = [
  ["a long pair", () => holder("2000.00", {}, [["EURUSD", "buy", "1.00"]])],
  ["a short pair", () => holder("2000.00", {}, [["EURUSD", "sell", "1.00"]])],
  ["a pair that converts its own profit", () => holder("2000.00", {}, [["USDJPY", "sell", "1.00"]])],
  ["a cross", () => holder("2000.00", { currency: "EUR" }, [["EURGBP", "buy", "1.00"]])],
  [
    "a cross with the pair that converts its profit",
    () =>
      holder("3000.00", {}, [
        ["EURGBP", "buy", "1.00"],
        ["GBPUSD", "sell", "0.40"],
      ]),
  ],
  [
    "metal with the pair that converts its profit",
    () =>
      holder("3000.00", { currency: "EUR" }, [
        ["XAUUSD", "buy", "0.10"],
        ["EURUSD", "sell", "0.50"],
      ]),
  ],
  ["an index", () => holder("3000.00", {}, [["GER40", "sell", "2.0"]])],
  ["a crypto asset", () => holder("9000.00", {}, [["BTCUSD", "buy", "0.20"]])],
  [
    "both sides, whose larger margin counts",
    () =>
      holder("2000.00", { margin_calculation: "max" }, [
        ["EURUSD", "buy", "1.00"],
        ["EURUSD", "sell", "0.40"],
      ]),
  ],
  [
    "both sides, whose difference counts",
    () =>
      holder("2000.00", { margin_calculation: "net" }, [
        ["EURUSD", "buy", "0.30"],
        ["EURUSD", "sell", "1.10"],
      ]),
  ],
  [
    "a netting position that was raised and reduced",
    () =>
      holder("2000.00", { position_mode: "netting" }, [
        ["EURUSD", "buy", "0.70"],
        ["EURUSD", "buy", "0.60"],
        ["EURUSD", "sell", "0.30"],
      ]),
  ],
  [
    "a pair with nights that are not stored",
    async () => {
      const id = await holder("2000.00", {}, [["EURUSD", "buy", "1.00"]]);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5 * 86_400_000 });
      return id;
    },
  ],
  ["positions of a platform", onPlatform],
];

/** The price so many points away, with its spread. */
function moved({ bid, ask }: Price, points: bigint): Price {
  const by = (price: string) => {
    const [whole = "", part = ""] = price.split(".");
    const digits = String(BigInt(whole + part) + points).padStart(part.length + 1, "0");
    return `${digits.slice(0, digits.length - part.length)}.${digits.slice(digits.length - part.length)}`;
  };
  return { bid: by(bid), ask: by(ask) };
}

/** The kinds of the events of an account that its commits wrote. */
async function eventsOf(accountId: string): Promise<readonly string[]> {
  const outboxes = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX");
  return outboxes
    .flatMap(({ events }) => (events as readonly string[]).map((event) => JSON.parse(event)))
    .flatMap(({ account_id, body }) => (account_id === accountId ? [body.type] : []));
}

/** Whether the state of a first price has come: the margin call, or the liquidation here or on a platform. */
async function hasCome(accountId: string, state: "margin_call" | "stop_out"): Promise<boolean> {
  const events = await eventsOf(accountId);
  if (state === "margin_call") return events.includes("margin.call");
  const { liquidation } = await broker.get(`/accounts/${accountId}`);
  return liquidation === "requested" || events.includes("stop.out");
}

async function setTo(prices: Readonly<Record<string, Price>>) {
  const answer = await setPrices(...Object.entries(prices).map(([symbol, price]) => ({ symbol, ...price })));
  expect([answer.text, answer.body.effects?.complete]).toEqual([expect.any(String), true]);
}

interface FirstPrice {
  readonly symbol: string;
  readonly down: Readonly<Record<"margin_call" | "stop_out", Price | null>>;
  readonly up: FirstPrice["down"];
}

/** The first prices of an account of this kind, made at the prices of the start. */
async function made(make: () => Promise<string>) {
  vi.useRealTimers();
  await setTo(start);
  const id = await make();
  const { body } = await post(`/accounts/${id}/margin_preview`, {});
  expect(await eventsOf(id)).not.toContain("margin.call");
  return { id, prices: body.first_prices as readonly FirstPrice[] };
}

describe("the first prices of a margin preview", () => {
  it.each(kinds)(
    "of %s: one point nearer nothing, at the price the event",
    async (_, make) => {
      const { prices } = await made(make);
      const all = prices.flatMap(({ symbol, ...ways }) =>
        (["down", "up"] as const).flatMap((way) =>
          (["margin_call", "stop_out"] as const).flatMap((state) => {
            const price = ways[way][state];
            return price === null ? [] : [{ symbol, way, state, price }];
          }),
        ),
      );
      expect(all.length).toBeGreaterThan(1);
      for (const { symbol, way, state, price } of all) {
        const { id, prices: again } = await made(make);
        expect(again).toEqual(prices);
        await setTo({ [symbol]: moved(price, way === "down" ? 1n : -1n) });
        expect([symbol, way, state, "before", await hasCome(id, state)]).toEqual([symbol, way, state, "before", false]);
        await setTo({ [symbol]: price });
        expect([symbol, way, state, "at", await hasCome(id, state)]).toEqual([symbol, way, state, "at", true]);
      }
      console.log(`first prices: ${all.length} reached`);
    },
    60_000,
  );
});
