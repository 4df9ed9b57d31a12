import { readFileSync } from "node:fs";
import { type BackgroundWork, type EventUnits, eventUnits } from "../../../shared/domain/usage/event-cost.ts";

/** Use of other services by one request of a route. */
export interface RequestUnits {
  readonly read_units: number;
  /** With the rate counter, all indexes, and the doubling of transactions. */
  readonly write_units: number;
  /** Messages that it sends to queues. */
  readonly messages: number;
  /** Waiting of its function, ms: published times of its calls, those that overlap counted once. */
  readonly waiting_ms: number;
  /** Processor time of its function, ms of a whole processor; null where the bench has not measured it. */
  readonly processor_ms: number | null;
}

/** A commit of trading, or an item of a batch, on DynamoDB: the request that makes it has its other costs. */
export interface TradingUnits {
  readonly name: string;
  readonly read_units: number;
  readonly write_units: number;
}

/** Reads and writes of one empty run of a scheduled function, by the id of the function. */
export interface SweepUnits {
  readonly read_units: number;
  readonly write_units: number;
  /** Waiting, ms. */
  readonly waiting_ms: number;
}

/** A request with prices of a bridge. */
export interface TickUnits {
  readonly prices_per_request: number;
  readonly request: RequestUnits;
  /** Work behind the whole request. */
  readonly behind: BackgroundWork;
}

/** The counts that `npm run bench:units` writes. */
export interface MeasuredUnits {
  /** Date of the count. */
  readonly counted_on: string;
  /** By the id of the route. */
  readonly routes: Readonly<Record<string, RequestUnits>>;
  /** A miss of the gateway's cache of tokens: what the authorizer reads. */
  readonly authorizer: SweepUnits;
  /** In a file of their own, which `GET /usage` reads too. */
  readonly events: EventUnits;
  /** Requests with prices: one alone, and many. */
  readonly ticks: readonly TickUnits[];
  /** Units of a second of a hot set of the stream. */
  readonly hot_second: Pick<SweepUnits, "read_units" | "write_units">;
  /** Bytes that a command with one event leaves in the table, indexes included. */
  readonly stored_bytes: number;
  readonly trading: readonly TradingUnits[];
  readonly sweeps: Readonly<Record<string, SweepUnits>>;
}

let committed: MeasuredUnits | undefined;

/** The committed count, which is read once: alarms and their tests ask for it route by route. */
export function measuredUnits(): MeasuredUnits {
  const text = () => readFileSync(new URL("units.json", import.meta.url), "utf8");
  committed ??= { ...JSON.parse(text()), events: eventUnits } as MeasuredUnits;
  return committed;
}
