import { describe, expect, it } from "vitest";
import { inCommitOrder } from "../../../shared/events/publish.ts";
import { type BridgeItem, closing, opening, reversal } from "../../support/builders/bridge.ts";
import { newSource, outboxesOf, trader } from "./feed-cases.ts";

/** The versions of a trade in the order of these outbox items, and whether each item is stored next to the trade. */
const versionsOf = (outboxes: ReturnType<typeof inCommitOrder>, tradeId: string) =>
  outboxes.flatMap(({ root_id, events }) =>
    events.flatMap((text) => {
      const { resource } = JSON.parse(text).body;
      return resource.id === tradeId ? [{ version: resource.version, isOwn: root_id === tradeId }] : [];
    }),
  );

/** The order in which events are published that wait, where the clock of the machine that wrote the later is behind. */
async function published(accountId: string, known: ReadonlySet<string>) {
  const own = await ofAccount(accountId);
  const behind = own.map((item) =>
    known.has(item.id) ? item : { ...item, created_at: new Date(Date.parse(item.created_at) - 60_000).toISOString() },
  );
  return inCommitOrder(behind);
}

const ofAccount = async (id: string) =>
  (await outboxesOf()).filter(({ events }) => events.some((text) => text.includes(id)));

const idsNow = async () => new Set((await outboxesOf()).map(({ id }) => id));

const swap = (position_id: string): BridgeItem => ({
  type: "swap",
  data: { position_id, amount: "-1.00", for_date: "2026-11-20" },
});

describe("the events of a batch", () => {
  it("of a trade stay next to it where another deal calls its account: the next batch comes after them", async () => {
    const account = await trader("1500.00");
    const source = await newSource({ authoritative: "platform" });
    const [opened] = await source.send(opening(account.login, "D-3", "P-3", { lots: "0.50", commission: "0" }));
    await source.send(
      swap("P-3"),
      opening(account.login, "D-1", "P-1", { lots: "1.00", commission: "0" }),
      closing("D-4", "P-3", { profit: "1.00", commission: "0" }),
    );
    const known = await idsNow();
    await source.send(reversal(account.login, "R-4", "D-4"));
    expect(versionsOf(await published(account.id, known), opened.trade_id)).toEqual(
      [1, 3, 4].map((version) => ({ version, isOwn: true })),
    );
  });

  it("of the trade of a netting position that was turned round are next to it from its close on", async () => {
    const account = await trader("100000.00", { position_mode: "netting" });
    const source = await newSource({ authoritative: "platform" });
    const results = await source.send(
      opening(account.login, "D-1", "N", { commission: "0" }),
      opening(account.login, "D-2", "N", { side: "sell", lots: "2.00", commission: "0" }),
      closing("D-3", "N", { profit: "1.00", commission: "0" }),
    );
    const known = await idsNow();
    await source.send(reversal(account.login, "R-3", "D-3"));
    expect(versionsOf(await published(account.id, known), results[1].trade_id)).toEqual([
      { version: 1, isOwn: false },
      { version: 2, isOwn: true },
      { version: 3, isOwn: true },
    ]);
  });

  it("announce a stop-out after all trades that it names", async () => {
    const account = await trader("1500.00");
    const source = await newSource({ authoritative: "platform" });
    const first = await source.send(
      opening(account.login, "D-0", "P-0", { lots: "1.00", commission: "0" }),
      opening(account.login, "D-9", "P-9", { lots: "0.30", commission: "0" }),
    );
    const stopOut = { commission: "0", reason: "stop_out" };
    const results = await source.send(
      opening(account.login, "D-1", "P-1", { lots: "0.20", commission: "0" }),
      closing("C-0", "P-0", { ...stopOut, profit: "-700.00" }),
      closing("C-9", "P-9", { ...stopOut, profit: "-100.00" }),
      closing("C-1", "P-1", { ...stopOut, profit: "-100.00" }),
    );
    const types = inCommitOrder(await ofAccount(account.id)).flatMap(({ events }) =>
      events.map((text) => JSON.parse(text).body),
    );
    const closed = types.filter(({ type }) => type === "trade.closed").map(({ resource }) => resource.id);
    expect(new Set(closed)).toEqual(new Set([...first, results[0]].map(({ trade_id }) => trade_id)));
    const order = types.map(({ type }) => type);
    expect(order.indexOf("stop.out")).toBeGreaterThan(order.lastIndexOf("trade.closed"));
  });
});
