import { limits } from "../../limits.ts";
import { later } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import { greatest, least } from "../kernel/money.ts";
import type { Exposure, StoredRisk, StoredTrigger } from "../records/risk.ts";
import type { TradingChange } from "../records/trading-change.ts";
import { shardsWritten, type Trigger } from "./exposure.ts";
import { type Holdings, valuePositions } from "./margin.ts";
import type { Market } from "./pricing/quote.ts";
import { liquidatorOf } from "./pricing/source.ts";
import { marketClock } from "./pricing/symbol.ts";
import { quietAt } from "./risk.ts";
import type { EvaluationOutcome } from "./stop-out.ts";
import { highest, type WatchedState } from "./stored-risk.ts";

/**
 * Written when it differs, and with every other change: then two decisions about one account always meet here. Another
 * level of the same state alone is not written: as long as prices are between the triggers it means nothing.
 */
export function riskChange(
  { risk: before }: WatchedState,
  stored: StoredRisk,
  always: boolean,
  now: string,
): readonly TradingChange[] {
  if (before === undefined) return [{ op: "create", entity: "risk", item: { ...stored, version: 1 } }];
  const { updated_at, version, left_by, margin_level, equity_minor, seq, pos_version } = before;
  const same = { ...stored, seq, pos_version, updated_at, version, left_by, margin_level, equity_minor };
  if (!always && sameValue(same, before)) return [];
  const after: StoredRisk = { ...stored, updated_at: later(updated_at, now), version: version + 1 };
  return [{ op: "update", entity: "risk", before, after }];
}

/** A trigger within the prices that there can be, in the shards that its symbol uses; one beyond them is none. */
export function storedTrigger({ symbol, down, up }: Trigger, { quotes }: Market): StoredTrigger {
  return {
    symbol,
    down: down === null || down < -highest ? null : String(least(down, highest)),
    up: up === null || up > highest ? null : String(greatest(up, -highest)),
    shards: shardsWritten(quotes.get(symbol)),
  };
}

/** The trigger that an entry stands for. */
export function knownTrigger({ symbol, down, up }: StoredTrigger): Trigger {
  return { symbol, down: down === null ? null : BigInt(down), up: up === null ? null : BigInt(up) };
}

interface ExposurePlan {
  /** Triggers of the index afterwards. */
  readonly triggers: readonly StoredTrigger[];
  readonly changes: readonly TradingChange[];
  /** Whether every price that matters is watched: what does not fit a transaction is left for the next one. */
  readonly complete: boolean;
}

/**
 * The writes that turn the entries of an account into the wanted ones, symbol by symbol, as many as there is room. The
 * write that lets a price go furthest unseen comes first. The plan is complete when no entry does, since one that is
 * met too early only costs an evaluation: so it is completed while prices move, and no symbol is passed over for ever.
 */
export function exposurePlan(
  holder: { readonly tenant_id: string; readonly id: string },
  known: readonly StoredTrigger[],
  wanted: readonly StoredTrigger[],
  room: number,
): ExposurePlan {
  const before = new Map(known.map((trigger) => [trigger.symbol, trigger]));
  const next = new Map(wanted.map((trigger) => [trigger.symbol, trigger]));
  const held = new Map(before);
  const changes: TradingChange[] = [];
  let complete = true;
  const names = [...new Set([...next.keys(), ...before.keys()])];
  const unseen = new Map(names.map((name) => [name, unseenUnits(before.get(name), next.get(name))]));
  const hidden = (name: string) => unseen.get(name) ?? 0n;
  for (const symbol of names.toSorted((a, b) => Number(hidden(b) > hidden(a)) - Number(hidden(b) < hidden(a)))) {
    const after = next.get(symbol);
    const needed = entryChanges(holder, before.get(symbol), after);
    if (changes.length + needed.length > room) {
      if (hidden(symbol) > 0n) complete = false;
      continue;
    }
    changes.push(...needed);
    if (after === undefined) held.delete(symbol);
    else if (needed.length > 0 || !held.has(symbol)) held.set(symbol, after);
  }
  return { triggers: [...held.values()], changes, complete };
}

/** How far a price can go beyond the wanted trigger before the stored one is met, in their units; 0 when in time. */
function unseenUnits(stored: StoredTrigger | undefined, wanted: StoredTrigger | undefined): bigint {
  const down = wanted?.down == null ? 0n : BigInt(wanted.down) - BigInt(stored?.down ?? -2n * highest);
  const up = wanted?.up == null ? 0n : BigInt(stored?.up ?? 2n * highest) - BigInt(wanted.up);
  return greatest(0n, greatest(down, up));
}

/** The entries that the exposure index holds for a stored trigger: one for each direction in which a price matters. */
export function entriesOf(
  holder: { readonly tenant_id: string; readonly id: string },
  { symbol, down, up, shards }: StoredTrigger,
): readonly Exposure[] {
  const { tenant_id, id: account_id } = holder;
  const place = { tenant_id, account_id, symbol, shards };
  return [
    ...(down === null ? [] : [{ ...place, direction: "dn", trigger: down } as const]),
    ...(up === null ? [] : [{ ...place, direction: "up", trigger: up } as const]),
  ];
}

function entryChanges(
  holder: Parameters<typeof entriesOf>[0],
  before: StoredTrigger | undefined,
  after: StoredTrigger | undefined,
): TradingChange[] {
  const [old, wanted] = [before, after].map((trigger) => (trigger === undefined ? [] : entriesOf(holder, trigger)));
  const pairs = (["dn", "up"] as const).map((direction) => {
    const [from, to] = [old, wanted].map((entries) => entries?.find((entry) => entry.direction === direction));
    return { from, to, moves: from?.trigger !== to?.trigger };
  });
  if (!pairs.some(({ moves }) => moves)) return [];
  // An entry stays in the shard that it was put into until it moves; then the other direction goes along.
  const resharded = before?.shards !== after?.shards;
  return pairs.flatMap(({ from, to, moves }) => {
    if (!moves && !resharded) return [];
    return [
      ...(from === undefined ? [] : [{ op: "hide", entry: from } as const]),
      ...(to === undefined ? [] : [{ op: "expose", entry: to } as const]),
    ];
  });
}

/**
 * When an account must be looked at although no price of it moves: {@link liquidationWakesAt}, or when a stop-out by
 * its platform ends.
 */
export function wakeAt(
  after: Holdings,
  outcome: EvaluationOutcome,
  before: StoredRisk | undefined,
  market: Market,
  now: string,
): string | null {
  const at = liquidationWakesAt(after, outcome, before, market, now);
  const { platform_run: run } = outcome.risk;
  if (run === undefined) return at;
  const end = quietAt(run);
  const retry = outcome.mayLiquidate ? now : afterMs(now, limits.trading.stuck_retried_after_ms);
  const due = end > now ? end : retry;
  return at === null || due < at ? due : at;
}

/**
 * When an account must be looked at although no price of it moves: a liquidation that is under way or still to begin,
 * and one that waits for a market to open. A time to come that is stored already stays if it is sooner, so that an
 * account which every quote wakes in vain is not written each time.
 */
function liquidationWakesAt(
  after: Holdings,
  outcome: EvaluationOutcome,
  before: StoredRisk | undefined,
  market: Market,
  now: string,
): string | null {
  const { risk, mayLiquidate, waiting } = outcome;
  const retry = afterMs(now, limits.trading.stuck_retried_after_ms);
  if (risk.run !== null) return waiting ? retry : risk.wake_at;
  if (risk.requested !== undefined && mayLiquidate) return now;
  if (risk.requested !== undefined && outcome.metrics.margin_status !== "stop_out") return soonest(before, retry, now);
  if (outcome.metrics.margin_status !== "stop_out" || after.positions.length === 0) return null;
  if (liquidatorOf(market, after.positions) === "platform") return null;
  const values = valuePositions(market, after.positions, now);
  if (mayLiquidate && !waiting && values.some(({ open, stale }) => open && !stale)) return now;
  const openings = values.map(({ open, position }) => {
    const symbol = market.symbols.get(position.symbol);
    return open || symbol === undefined ? retry : (marketClock(symbol, now).next_open_at ?? retry);
  });
  const times = risk.requested === undefined ? openings : [...openings, retry];
  return soonest(
    before,
    times.reduce((a, b) => (b < a ? b : a)),
    now,
  );
}

/** A time, or the one that is stored where that is still to come and sooner. */
function soonest(before: StoredRisk | undefined, at: string, now: string): string {
  const known = before?.wake_at ?? null;
  return known !== null && known > now && known < at ? known : at;
}

/** A moment so many milliseconds later, RFC 3339. */
export function afterMs(now: string, ms: number): string {
  return new Date(Date.parse(now) + ms).toISOString();
}
