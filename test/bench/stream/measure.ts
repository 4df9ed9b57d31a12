import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Cloud, startCloud } from "../../../infra/local/cloud.ts";
import { moneyMoved } from "../../support/builders/bridge.ts";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { type Application, newApplication } from "../../support/stack/application.ts";
import { quantile } from "../load/figures.ts";
import { Reader } from "./reader.ts";
import { measureTicks, type TickFigures } from "./ticks.ts";

/** Options of a measurement. */
export interface StreamOptions {
  readonly assemblyDir: string;
  readonly connections: number;
  /** Events a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Events of a replay, at least. */
  readonly replayed: number;
  readonly log: (line: string) => void;
}

/** From commit to receipt, in milliseconds. */
export interface Receipt {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** Result of a measurement. */
export interface StreamFigures {
  readonly lone: Receipt;
  readonly replay: { readonly events: number; readonly ms: number };
  /** A symbol that ticks a thousand times a second. */
  readonly ticks: TickFigures;
  readonly crowd: Receipt;
  /** The same with one more connection, which takes nothing. */
  readonly stalled: Receipt;
  /** Sentences about numbers that are missing or out of order. */
  readonly faults: readonly string[];
}

const loneEvents = 40;
const perApplication = 25;
const writers = 3;
const itemsPerBatch = 100;

/** Measures on a stack of its own. */
export async function measureStream(options: StreamOptions): Promise<StreamFigures> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-stream-"));
  const cloud = await startCloud({ assemblyDir: options.assemblyDir, dataDir, port: 0, maxEnvironments: 60 });
  try {
    return await new Measurement(cloud, options).run(await newApplication(cloud));
  } finally {
    await cloud.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

class Measurement {
  private readonly cloud: Cloud;
  private readonly options: StreamOptions;
  private readonly faults: string[] = [];
  private names = 0;

  constructor(cloud: Cloud, options: StreamOptions) {
    this.cloud = cloud;
    this.options = options;
  }

  async run(first: Application): Promise<StreamFigures> {
    const { connections, rate, replayed, log } = this.options;
    const { client_id, account_id } = await fundedAccount(first.api, "100.00");
    const lone = await this.lone(first, client_id);
    log(`one subscriber: ${say(lone)}`);
    const replay = await this.replay(first);
    log(`${replay.events} of at least ${replayed} events replayed in ${replay.ms} ms`);
    const ticks = await measureTicks(this.cloud, first, { perSecond: 1000, seconds: 10 });
    this.faults.push(...ticks.faults);
    log(`${ticks.sentPerSecond} ticks a second: ${ticks.receipts.map(({ quotes }) => quotes).join(" and ")} quotes`);
    const others = Math.ceil(connections / perApplication);
    const { tenant_id } = first;
    const apps = await all(others + writers, () => newApplication(this.cloud, { tenant_id }));
    const source_id = await this.source(first);
    const readers = await all(connections, async (at) => this.opened(apps[at % others] ?? first));
    await all(readers.length, async (at) => readers[at]?.subscribe(tenSubscriptions(account_id, source_id)));
    const repeated = readers.flatMap((reader) => reader.repeated);
    const counts = [...new Set(repeated)].map((code) => `${repeated.filter((each) => each === code).length} ${code}`);
    log(`${connections} connections, each with ten subscriptions; sent again: ${counts.join(", ") || "none"}`);
    // A client for each event of a second: writes of one client that meet are answered 503 after some tries.
    const clients = await all(rate, () => newClient(first));
    const writing = { apps: apps.slice(others), clients };
    await this.load(readers, writing, 5);
    const crowd = await this.load(readers, writing, this.options.seconds);
    log(`${rate} events a second: ${say(crowd)}`);
    const slow = await this.opened(await newApplication(this.cloud, { tenant_id }), true);
    slow.stall();
    const stalled = await this.load(readers, writing, this.options.seconds);
    log(`with a reader that takes nothing: ${say(stalled)}`);
    for (const each of [...readers, slow]) each.close();
    return { lone, replay, ticks, crowd, stalled, faults: this.faults };
  }

  private async opened({ api }: Application, replaysAll = false): Promise<Reader> {
    const reader = await Reader.open(this.cloud.streamUrl ?? "", api.token);
    // A reader that is stalled right after has all there was on its way.
    if (replaysAll) void reader.subscribe({ all: { name: "events", after_sequence: "0" } }).catch(() => undefined);
    return reader;
  }

  /** One subscriber, and an event now and then. */
  private async lone(app: Application, client_id: string): Promise<Receipt> {
    const reader = await this.opened(app);
    await reader.subscribe({ all: { name: "events" } });
    await this.write(app, client_id);
    await reader.until(() => reader.numbers.length === 1);
    reader.latencies = [];
    for (let count = 2; count <= loneEvents + 1; count += 1) {
      await pause(700);
      await this.write(app, client_id);
      await reader.until(() => reader.numbers.length >= count);
    }
    this.judge(reader);
    reader.close();
    return receiptOf([reader]);
  }

  /** A client that connects again after it has missed so many events. */
  private async replay(app: Application): Promise<StreamFigures["replay"]> {
    const before = await headOf(app);
    const source_id = await this.source(app);
    const login = "71000001";
    const { client_id } = await fundedAccount(app.api, "1.00");
    const account = { client_id, platform: "mt5", platform_login: login, currency: "USD", type: "demo", leverage: 100 };
    const made = await app.api.call("POST", "/accounts", { body: account });
    if (made.status !== 201) throw new Error(made.text);
    let next = 1;
    let head = before;
    while (head - before < this.options.replayed) {
      const items = Array.from({ length: itemsPerBatch }, (_, at) => ({
        seq: String(next + at),
        ...moneyMoved(login, `OP-${next + at}`, "deposit", "1.00"),
      }));
      const path = `/feed/sources/${source_id}/batches`;
      const sent = await app.api.call("POST", path, { body: { first_seq: String(next), items } });
      if (sent.status !== 200) throw new Error(sent.text);
      next += itemsPerBatch;
      head = await headOf(app);
    }
    const reader = await this.opened(app);
    const startMs = Date.now();
    await reader.subscribe({ all: { name: "events", after_sequence: String(before) } });
    const figure = { events: reader.numbers.length, ms: Date.now() - startMs };
    this.judge(reader);
    if (reader.numbers[0] !== before + 1) this.faults.push(`a replay after ${before} began with ${reader.numbers[0]}`);
    reader.close();
    return figure;
  }

  private async source({ api }: Application): Promise<string> {
    this.names += 1;
    const body = { name: `mt5:bench-${this.names}`, platform: "mt5" };
    const made = await api.call<{ id: string }>("POST", "/feed/sources", { body });
    if (made.status !== 201) throw new Error(made.text);
    return made.body.id;
  }

  /** Events at a rate, and what the readers received of them. */
  private async load(
    readers: readonly Reader[],
    { apps, clients }: { readonly apps: readonly Application[]; readonly clients: readonly string[] },
    seconds: number,
  ): Promise<Receipt> {
    for (const reader of readers) reader.latencies = [];
    const startMs = Date.now();
    const writes: Promise<void>[] = [];
    for (let at = 0; at < this.options.rate * seconds; at += 1) {
      await pause(Math.max(0, startMs + (at * 1000) / this.options.rate - Date.now()));
      const app = apps[at % apps.length];
      if (app !== undefined) writes.push(this.write(app, clients[at % clients.length] ?? ""));
    }
    await Promise.all(writes);
    const [first] = apps;
    await pause(1000);
    const head = first === undefined ? 0 : await headOf(first);
    await all(readers.length, async (at) => readers[at]?.until(() => (readers[at]?.numbers.at(-1) ?? 0) >= head));
    for (const reader of readers) this.judge(reader);
    return receiptOf(readers);
  }

  private async write({ api }: Application, client_id: string): Promise<void> {
    this.names += 1;
    const changed = await api.call("PATCH", `/clients/${client_id}`, { body: { last_name: `Silva ${this.names}` } });
    if (changed.status !== 200) this.faults.push(`a write was answered ${changed.status}`);
  }

  private judge({ numbers }: Reader): void {
    const gap = numbers.findIndex((number, at) => at > 0 && number !== (numbers[at - 1] ?? 0) + 1);
    if (gap > 0) this.faults.push(`after number ${numbers[gap - 1]} came ${numbers[gap]}`);
  }
}

/** Ten subscriptions, the first of which has all events. */
function tenSubscriptions(account_id: string, source_id: string): Readonly<Record<string, object>> {
  return {
    all: { name: "events" },
    clients: { name: "events", types: ["client.*"] },
    money: { name: "events", types: ["transaction.*"] },
    accounts: { name: "events", types: ["account.*"] },
    account: { name: "events", account_id },
    state: { name: "accounts", ids: [account_id] },
    margin: { name: "margin" },
    euro: { name: "quotes", symbols: ["EURUSD"] },
    gold: { name: "quotes", symbols: ["XAUUSD"], max_per_second: 5 },
    commands: { name: "commands", source_id },
  };
}

async function newClient({ api }: Application): Promise<string> {
  const made = await api.call<{ id: string }>("POST", "/clients", { body: someClient() });
  if (made.status !== 201) throw new Error(made.text);
  return made.body.id;
}

async function headOf({ api }: Application): Promise<number> {
  const { body } = await api.call<{ data: { sequence: string }[] }>("GET", "/events?sort=-sequence&limit=1");
  return Number(body.data[0]?.sequence ?? 0);
}

/** So many of something, eight at a time. */
async function all<T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let at = 0; at < count; at += 8) {
    made.push(...(await Promise.all(Array.from({ length: Math.min(8, count - at) }, (_, place) => make(at + place)))));
  }
  return made;
}

function receiptOf(readers: readonly Reader[]): Receipt {
  const latencies = readers.flatMap((reader) => reader.latencies);
  return { count: latencies.length, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function say({ count, p50, p99 }: Receipt): string {
  return `${count} receipts, p50 ${p50} ms, p99 ${p99} ms`;
}
