import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import type { Cloud } from "../../../infra/local/cloud.ts";
import { limits } from "../../../shared/limits.ts";
import type { Application } from "../../support/stack/application.ts";
import { openSocket } from "./reader.ts";

/** How fast a symbol ticks, and for how long. */
export interface TickOptions {
  readonly perSecond: number;
  readonly seconds: number;
}

/** Receipts of one subscription to the symbol. */
export interface TickReceipt {
  readonly maxPerSecond: number;
  readonly quotes: number;
  readonly perSecond: number;
  /** Whether the last quote that it received is of the last tick. */
  readonly lastIsNewest: boolean;
}

/** Result for a symbol that ticks. */
export interface TickFigures {
  readonly sent: number;
  readonly sentPerSecond: number;
  /** Calls that sent them, each with all ticks since the one before, as a bridge does. */
  readonly calls: number;
  readonly receipts: readonly TickReceipt[];
  /** Sentences about what must not be. */
  readonly faults: readonly string[];
}

const symbol = "EURUSD";
/** A rate that is a subscription's by default, and the highest. */
const rates = [limits.stream.default_quotes_per_second, limits.stream.max_quotes_per_second];
/** A slot is exact where it is sent; what is received is some milliseconds more or less under way. */
const tolerance = 1.1;
const settledWithinMs = 10_000;

/** Sends ticks of one symbol through the feed, and notes what subscriptions of one connection receive of them. */
export async function measureTicks(cloud: Cloud, app: Application, options: TickOptions): Promise<TickFigures> {
  const reader = await QuoteReader.open(cloud.streamUrl ?? "", app.api.token);
  await reader.subscribe();
  const path = await newSource(app);
  reader.received.clear();
  const { sent, calls, accepted, spanMs } = await sendTicks(app, path, options);
  await reader.settled(String(sent));
  reader.close();
  const receipts = rates.map((rate) => receiptOf(reader.received.get(nameOf(rate)) ?? [], rate, String(sent)));
  const figures = { sent, sentPerSecond: Math.round((sent * 1000) / spanMs), calls, receipts };
  const refused = accepted < sent ? [`${sent - accepted} of ${sent} ticks were not accepted`] : [];
  return { ...figures, faults: [...refused, ...faultsOf(figures, options)] };
}

function receiptOf(quotes: readonly Received[], maxPerSecond: number, newest: string): TickReceipt {
  const [first, last] = [quotes[0], quotes.at(-1)];
  const betweenMs = (last?.at_ms ?? 0) - (first?.at_ms ?? 0);
  const perSecond = betweenMs === 0 ? 0 : ((quotes.length - 1) * 1000) / betweenMs;
  return { maxPerSecond, quotes: quotes.length, perSecond, lastIsNewest: last?.sequence === newest };
}

/** The figures as a paragraph. */
export function tickLines({ sent, sentPerSecond, calls, receipts }: TickFigures): string {
  const rows = receipts.map(
    ({ maxPerSecond, quotes, perSecond, lastIsNewest }) =>
      `| ${maxPerSecond} | ${quotes} | ${perSecond.toFixed(2)} | ${lastIsNewest ? "yes" : "no"} |`,
  );
  return `A symbol that ticks ${sentPerSecond} times a second, ${sent} ticks in ${calls} calls of a bridge:

| max_per_second | quotes received | a second | last is the newest |
|---|---|---|---|
${rows.join("\n")}`;
}

function faultsOf(figures: Omit<TickFigures, "faults">, options: TickOptions): string[] {
  const { sentPerSecond, receipts } = figures;
  // On a busy machine a call takes longer than its ticks; the quotes that come of them must be right all the same.
  const slow = sentPerSecond < 0.9 * options.perSecond;
  return [
    ...(slow ? [`${sentPerSecond} ticks a second were sent, not ${options.perSecond}`] : []),
    ...receipts.flatMap(({ maxPerSecond, perSecond, lastIsNewest }) => [
      ...(perSecond > maxPerSecond * tolerance
        ? [`${perSecond.toFixed(2)} quotes a second came where ${maxPerSecond} may`]
        : []),
      ...(perSecond < maxPerSecond / 4 ? [`${perSecond.toFixed(2)} quotes a second came of ${maxPerSecond}`] : []),
      ...(lastIsNewest ? [] : [`with ${maxPerSecond} a second the last quote was not the newest price`]),
    ]),
  ];
}

async function newSource({ api }: Application): Promise<string> {
  const body = { name: "mt5:ticks", platform: "mt5" };
  const made = await api.call<{ id: string }>("POST", "/feed/sources", { body });
  if (made.status !== 201) throw new Error(made.text);
  return `/feed/sources/${made.body.id}/quotes`;
}

/** Sends each tick when it is due, with all that are due at the time of a call; numbers and prices tell them apart. */
async function sendTicks({ api }: Application, path: string, { perSecond, seconds }: TickOptions) {
  const { body: quote } = await api.call<{ bid: string }>("GET", `/quotes/${symbol}`);
  const startMs = Date.now();
  let [sent, calls, accepted, spanMs] = [0, 0, 0, 0];
  while (sent < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, Math.floor(((Date.now() - startMs) * perSecond) / 1000));
    const count = Math.min(limits.feed.max_quotes, due - sent);
    if (count === 0) {
      await pause(1);
      continue;
    }
    spanMs = Date.now() - startMs;
    const quotes = Array.from({ length: count }, (_, at) => tickOf(sent + at + 1, Number(quote.bid)));
    const answer = await api.call<{ accepted: number }>("POST", path, { body: { quotes } });
    if (answer.status !== 200) throw new Error(answer.text);
    sent += count;
    calls += 1;
    accepted += answer.body.accepted;
  }
  return { sent, calls, accepted, spanMs };
}

/** Prices that go up and down by a point a tick. */
function tickOf(number: number, bid: number) {
  const price = bid + Math.abs((number % 200) - 100) / 100_000;
  const [low, high] = [price.toFixed(5), (price + 0.0001).toFixed(5)];
  return { symbol, bid: low, ask: high, time: new Date().toISOString(), seq: String(number) };
}

interface Received {
  readonly sequence: string;
  readonly at_ms: number;
}

interface QuoteMessage {
  readonly type: string;
  readonly subscription?: string;
  readonly subscriptions?: readonly string[];
  readonly quote?: { readonly sequence: string };
  readonly messages?: readonly QuoteMessage[];
}

const nameOf = (maxPerSecond: number) => `q${maxPerSecond}`;

/** A connection that notes the quotes of each of its subscriptions. */
class QuoteReader {
  readonly received = new Map<string, Received[]>();
  private readonly socket: WebSocket;
  private readonly synced = new Set<string>();
  private changed: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.receive(JSON.parse(String(data))));
    socket.on("close", () => this.changed());
  }

  static open(url: string, token: string): Promise<QuoteReader> {
    return openSocket(url, token, (socket) => new QuoteReader(socket));
  }

  /** Subscribes at each rate, and waits for the quotes that there are. */
  async subscribe(): Promise<void> {
    for (const max_per_second of rates) {
      const channels = [{ name: "quotes", symbols: [symbol], max_per_second }];
      this.socket.send(JSON.stringify({ type: "subscribe", id: nameOf(max_per_second), channels }));
    }
    await this.until(() => this.synced.size === rates.length);
  }

  /** Waits until each subscription has the quote with this number, or has had the time for it. */
  async settled(sequence: string): Promise<void> {
    const isNewest = (rate: number) => this.received.get(nameOf(rate))?.at(-1)?.sequence === sequence;
    await this.until(() => rates.every(isNewest));
  }

  close(): void {
    this.socket.terminate();
  }

  private async until(holds: () => boolean): Promise<void> {
    const endMs = Date.now() + settledWithinMs;
    while (!holds() && Date.now() < endMs && this.socket.readyState === WebSocket.OPEN) {
      const change = new Promise<void>((resolve) => {
        this.changed = resolve;
      });
      await Promise.race([change, pause(endMs - Date.now(), undefined, { ref: false })]);
    }
  }

  private receive(message: QuoteMessage): void {
    for (const { type, subscription, subscriptions = [], quote } of message.messages ?? [message]) {
      if (type === "sync_end" && subscription !== undefined) this.synced.add(subscription);
      if (type !== "quote" || quote === undefined) continue;
      const one = { sequence: quote.sequence, at_ms: Date.now() };
      for (const name of subscriptions) this.received.set(name, [...(this.received.get(name) ?? []), one]);
    }
    this.changed();
  }
}
