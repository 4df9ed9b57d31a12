import { accounts, balances, exposures, positions, risks, trades } from "../../../shared/table/entities.ts";
import { type Program, Stage } from "../../support/model/stage.ts";
import type { Item } from "../../support/model/values.ts";
import { quantile, scaleTenant as tenant } from "./publishing.ts";

const priceEveryMs = 1000;

/** A price that is past the trigger of many accounts at once. */
export interface TickRun {
  readonly program: Program;
  readonly assemblyDir: string;
  readonly seed: number;
  readonly accounts: number;
  /** Longest virtual time that is waited for. */
  readonly seconds: number;
}

/** Result of a tick. Times are in milliseconds from the price to the commit of an account's evaluation. */
export interface Ticked {
  readonly evaluated: number;
  readonly p50: number;
  readonly p99: number;
  readonly last: number;
  /** Evaluations a second of the whole, and of one busy instance. */
  readonly per_second: number;
  readonly per_busy_second: number;
  /** Percent of the transactions that a conflict or a spent partition cancelled. */
  readonly cancelled: number;
  readonly throttled: number;
  /** Longest time that a message waited for its first receipt. */
  readonly queue_ms: number;
  readonly write_units: number;
}

const copied = new Set<string>([accounts, balances, positions, trades, risks, exposures].map(({ et }) => et));
const ulidOf = (id: string) => id.slice(id.indexOf("_") + 1);

/** Keys of a copy that follow from its identifier otherwise than by containing it. */
function placeOf(item: Item): object {
  if (item["et"] === exposures.et) return exposures.keyOf(item as never);
  return item["et"] === risks.et ? risks.indexesOf(item as never) : {};
}

/** Copies of everything that one account has, each under an identifier of its own. */
function copyAccount(stage: Stage, id: string, copies: number): void {
  const account = ulidOf(id);
  const items = [...stage.database.tables.items(stage.mainTable)].map((item) => JSON.stringify(item));
  const own = items.filter((text) => text.includes(account)).map((text) => ({ text, item: JSON.parse(text) as Item }));
  const kept = own.filter(({ item }) => copied.has(String(item["et"])));
  const trade = ulidOf(String(kept.find(({ item }) => item["et"] === trades.et)?.item["id"]));
  for (let copy = 1; copy <= copies; copy += 1) {
    const numbered = (ulid: string) => `${ulid.slice(0, -6)}${String(copy).padStart(6, "0")}`;
    for (const { text } of kept) {
      const item = JSON.parse(text.replaceAll(account, numbered(account)).replaceAll(trade, numbered(trade))) as Item;
      stage.database.seed(stage.mainTable, { ...item, ...placeOf(item) });
    }
  }
}

/** Opens a position, copies its account, and lets a price through that brings every copy to its margin call. */
export async function measureTick({ accounts: count, seconds, ...options }: TickRun): Promise<Ticked> {
  const stage = new Stage({ ...options, shards: 4 });
  const { simulation, database } = stage;
  const opening = stage.call("account", { tenant });
  await simulation.run(5000);
  const opened = await opening;
  if (!opened.ok) throw new Error("The account could not be opened.", { cause: opened });
  copyAccount(stage, String(opened.result), count - 1);
  const evaluatedMs = new Map<string, number>();
  const startMs = simulation.elapsedMs;
  database.listeners.push(({ pk, before, after }) => {
    if (after?.["et"] !== risks.et || before?.["margin_status"] === after["margin_status"]) return;
    evaluatedMs.set(pk, simulation.elapsedMs - startMs);
  });
  const unitsBefore = database.counts.write_units;
  simulation.start(async () => {
    // The market goes on: nothing is decided on a price that is a minute old.
    for (;;) {
      const priced = await stage.call("price", { tenant, bid: "1.08550", ask: "1.08560" });
      if (!priced.ok) throw new Error("The price could not be written.", { cause: priced });
      await simulation.sleep(priceEveryMs);
    }
  });
  await simulation.run(seconds * 1000, () => evaluatedMs.size === count);
  const times = [...evaluatedMs.values()];
  const last = quantile(times, 1);
  const { sent, conflict, condition, throttled } = database.counts.transactions["evaluate"] ?? {
    sent: 1,
    conflict: 0,
    condition: 0,
    throttled: 0,
  };
  const queue = [...stage.queues.entries].find(([name]) => name.endsWith("-margin"))?.[1];
  return {
    evaluated: times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    last,
    per_second: (1000 * times.length) / last,
    per_busy_second: (1000 * times.length) / (stage.functions.counts["evaluate"]?.busy_ms ?? Number.NaN),
    cancelled: (100 * (conflict + condition)) / sent,
    throttled: (100 * throttled) / sent,
    queue_ms: queue?.longestAgeMs ?? 0,
    write_units: (database.counts.write_units - unitsBefore) / Math.max(1, times.length),
  };
}
