import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { commands, quotes, streamFlags } from "../../../shared/table/entities.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";

const api = await startApi();
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { messagesIn, streaming } = await import("../../support/emulator/streaming.ts");
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { replaceQuote } = await import("../../../shared/trading/quotes.ts");
const { readAll } = await import("../../../shared/table/store.ts");
const { transactOnce } = await import("../../../shared/table/transact.ts");
const { putNew } = await import("../../../shared/table/write.ts");
const { wakeStreams } = await import("../../../shared/trading/margin-watch.ts");
const market = marketWatch(api);
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});
afterEach(() => {
  gateway.fate = () => "taken";
  api.queues.takeMessages();
  gateway.takePosts();
});

const withoutAge = ({ age_ms: _age, stale: _stale, ...quote }: Record<string, unknown>) => quote;
const withoutTime = ({ metrics_as_of: _as_of, ...account }: Record<string, unknown>) => account;

/** A brokerage with a market, and a connection. */
async function connected() {
  const caller = newCaller();
  await putMarket(api, caller.tenant_id);
  const work = streaming(api, gateway, caller.tenant_id);
  return { caller, tenant: caller.tenant_id, broker: brokerage(api, caller), work, one: await work.connect() };
}

describe("quotes", () => {
  it("come at once, then at most so often while a symbol ticks as fast as it can, the newest price last", async () => {
    const { tenant, work, broker, one } = await connected();
    await work.subscribe(one, "slow", [{ name: "quotes", symbols: ["EURUSD"] }]);
    await work.subscribe(one, "fast", [{ name: "quotes", symbols: ["EURUSD"], max_per_second: 4 }]);
    expect((await readAll(streamFlags, [streamFlags.key(tenant)]))[0]?.sets["0"]?.prices).toBeDefined();
    await work.runAll();
    const shown = withoutAge(await broker.get("/quotes/EURUSD"));
    const first = work.messages(one).filter(({ type }) => type === "quote");
    expect(first.map(({ quote, subscriptions }) => [withoutAge(quote), subscriptions])).toEqual([
      [shown, ["slow"]],
      [shown, ["fast"]],
    ]);
    let quote: Quote | undefined;
    let ticks = 0;
    const tick = async () => {
      [quote] = await readAll(quotes, [quotes.key(tenant, "EURUSD")]);
      while (performance.now() - began < 4000) {
        const price = (1.1 + (ticks + 1) / 100_000).toFixed(5);
        const now = new Date().toISOString();
        const next: Quote = { ...(quote as Quote), bid: price, ask: price, time: now, received_at: now };
        await replaceQuote(tenant, quote, next);
        quote = { ...next, version: (quote?.version ?? 0) + 1 };
        ticks += 1;
      }
    };
    const began = performance.now();
    const ticking = tick();
    const see = () => wakeStreams(new Set([tenant]));
    // The margin watch sees prices all the time, and the messages of a set are worked on one after the other.
    while (performance.now() - began < 4000) {
      await see();
      await work.runAll();
    }
    await ticking;
    await see();
    await work.runAll();
    const posts = gateway.takePosts();
    const sent = (id: string) =>
      posts.flatMap((post) =>
        messagesIn([post], one.connection_id)
          .filter(({ type, subscriptions }) => type === "quote" && subscriptions.includes(id))
          .map((message) => ({ at_ms: post.at_ms, bid: message.quote.bid })),
      );
    const took_ms = Math.round(performance.now() - began);
    console.info(`${ticks} ticks in ${took_ms} ms: ${sent("slow").length} and ${sent("fast").length} quotes`);
    for (const [id, interval] of [
      ["slow", 1000],
      ["fast", 250],
    ] as const) {
      const found = sent(id);
      expect(found.length).toBeGreaterThan(3000 / interval / 2);
      // A post takes some milliseconds more or less than the one before; the slots themselves are exact.
      const span_ms = (found.at(-1)?.at_ms ?? 0) - (found[0]?.at_ms ?? 0);
      expect(found.length - 1).toBeLessThanOrEqual(span_ms / (interval * 0.9));
      expect(found.at(-1)?.bid).toBe(quote?.bid);
    }
  }, 120_000);
});

describe("accounts", () => {
  it("come at once, on each of their events, and once more after prices moved, as GET shows them", async () => {
    const { tenant, broker, work, one } = await connected();
    const account = await broker.account("1650.00", { type: "demo", leverage: 100 });
    await tradingFloor(tenant).open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    await work.subscribe(one, "1", [{ name: "accounts", ids: [account.id] }]);
    await work.runAll();
    const shown = async () => withoutTime(await broker.get(`/accounts/${account.id}`));
    const received = () =>
      work
        .messages(one)
        .filter(({ type }) => type === "account")
        .map(({ account: each }) => withoutTime(each));
    expect(received()).toEqual([await shown()]);
    await work.rest();
    await work.publish(2, { account_id: account.id });
    await work.runAll();
    expect(received()).toEqual([await shown()]);
    await work.rest();
    await work.publish(1, { account_id: "acc_other" });
    await work.runAll();
    expect(received()).toEqual([]);
    await market.see(await market.price(tenant, "EURUSD", ["1.10050", "1.10060"], { version: 7 }));
    await work.runAll();
    const [moved, ...more] = received();
    expect([moved, more]).toEqual([await shown(), []]);
  });

  it("whose texts do not fit a message come as their id and link, and hold up nothing", async () => {
    const { caller, broker, work, one } = await connected();
    const { id } = await broker.account();
    const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`note_${at}`, '"'.repeat(500)]));
    expect((await api.call(caller, "PATCH", `/accounts/${id}`, { body: { metadata } })).status).toBe(200);
    await work.subscribe(one, "1", [{ name: "events" }, { name: "accounts", ids: [id] }]);
    await work.runAll();
    const received = work.messages(one);
    const [shown] = received.filter(({ type }) => type === "account");
    expect(shown).toMatchObject({ account: { id, object: "account" }, truncated: true });
    expect(shown.account).not.toHaveProperty("metadata");
    expect(received.map(({ type, channel }) => [type, channel])).toEqual([
      ["sync_end", "events"],
      ["account", undefined],
      ["sync_end", "accounts"],
    ]);
    expect((await broker.get(new URL(shown.account._links.self.href).pathname.replace("/v2", ""))).metadata).toEqual(
      metadata,
    );
  });

  it("in a margin call come at once by the channel margin, and any account on its margin event", async () => {
    const { tenant, broker, work, one } = await connected();
    const [account, calm] = [
      await broker.account("1650.00", { type: "demo", leverage: 100 }),
      await broker.account("5.00"),
    ];
    const floor = tradingFloor(tenant);
    await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    await market.see(await market.price(tenant, "EURUSD", ["1.09400", "1.09410"], { version: 3 }));
    await floor.evaluate(account.id);
    api.queues.takeMessages();
    await work.subscribe(one, "m", [{ name: "margin" }]);
    await work.runAll();
    const accounts = () =>
      work
        .messages(one)
        .filter(({ type }) => type === "account")
        .map(({ account: { id, margin_status } }) => [id, margin_status]);
    expect(accounts()).toEqual([[account.id, "margin_call"]]);
    await work.rest();
    await work.publish(1, { account_id: calm.id, type: "margin.recovered" });
    await work.publish(1, { account_id: calm.id, type: "account.updated" });
    await work.runAll();
    expect(accounts()).toEqual([[calm.id, "normal"]]);
  });
});

describe("commands", () => {
  it("of a source come at once where they wait, and on each of their events, and none of another source", async () => {
    const { caller, broker, work, one } = await connected();
    const { newSource, unusedLogin } = bridge(api, caller);
    const [source, other] = [await newSource(), await newSource()];
    const linkedTo = (source_id: string) => ({ platform: "mt5", platform_login: unusedLogin(), source_id });
    const [mine, theirs] = [
      await broker.account(undefined, { type: "demo", ...linkedTo(source.id) }),
      await broker.account(undefined, { type: "demo", ...linkedTo(other.id) }),
    ];
    const deposit = await broker.deposit(mine, "100.00", { status: "completed" });
    const foreign = await broker.deposit(theirs, "100.00", { status: "completed" });
    await work.subscribe(one, "c", [{ name: "commands", source_id: source.id }]);
    const received = () =>
      work
        .messages(one)
        .filter(({ type }) => type === "command")
        .map(({ command }) => command);
    await work.runAll();
    const shown = await broker.get(`/feed/sources/${source.id}/commands/${deposit.command_id}`);
    expect(received()).toEqual([shown]);
    await work.rest();
    for (const resource_id of [deposit.command_id, foreign.command_id]) {
      await work.publish(1, { type: "command.settled", resource_id });
    }
    await work.runAll();
    expect(received()).toEqual([shown]);
  });

  it("whose outcome is unknown come first, and a snapshot that is cut says so", async () => {
    const { caller, tenant, broker, work, one } = await connected();
    const { newSource, unusedLogin } = bridge(api, caller);
    const { id: source_id } = await newSource();
    const linked = { platform: "mt5", platform_login: unusedLogin(), source_id };
    const account = await broker.account(undefined, { type: "demo", ...linked });
    const { command_id } = await broker.deposit(account, "100.00", { status: "completed" });
    const [stored] = await readAll(commands, [commands.key(tenant, command_id)]);
    const waiting = stored as NonNullable<typeof stored>;
    const copies = Array.from({ length: limits.stream.snapshot_commands }, () => ({ ...waiting, id: newId("cmd") }));
    const unknown = { ...waiting, id: newId("cmd"), status: "unknown" } as const;
    const snapshot = async (id: string) => {
      await work.rest();
      await work.subscribe(one, id, [{ name: "commands", source_id }]);
      await work.runAll();
      const messages = work.messages(one).filter(({ type }) => type !== "event");
      return { commands: messages.flatMap(({ command }) => command ?? []), end: messages.at(-1) };
    };
    await transactOnce([putNew(commands, unknown)]);
    const whole = await snapshot("whole");
    expect(whole.commands.map(({ status }) => status)).toEqual(["unknown", "waiting"]);
    expect(whole.end).not.toHaveProperty("truncated");
    await transactOnce(copies.slice(0, 98).map((each) => putNew(commands, each)));
    expect((await snapshot("full")).end).not.toHaveProperty("truncated");
    await transactOnce(copies.slice(98).map((each) => putNew(commands, each)));
    const cut = await snapshot("cut");
    expect([cut.commands.length, cut.commands[0].id]).toEqual([100, unknown.id]);
    expect(cut.end).toMatchObject({ type: "sync_end", channel: "commands", truncated: true });
  });
});
