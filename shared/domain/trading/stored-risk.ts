import { limits } from "../../limits.ts";
import type { Position } from "../records/position.ts";
import type { Quote } from "../records/quote.ts";
import type { StoredRisk, StoredTrigger } from "../records/risk.ts";
import type { Holdings } from "./margin.ts";
import { triggerUnits } from "./pricing/quote.ts";

/** Met by every price that falls to it; its negative by every one that rises. */
export const highest = limits.trading.highest_trigger;

/** When an account is to be looked at although no price of it moves, RFC 3339; null where nothing is due. */
export function riskDueAt({ wake_at, swap_at, credit_ends_at: ends }: StoredRisk): string | null {
  const ahead =
    ends === undefined ? [] : [new Date(Date.parse(ends) - limits.trading.credit_end_ahead_ms).toISOString()];
  const moments = [...(wake_at === null ? [] : [wake_at]), ...(swap_at === undefined ? [] : [swap_at]), ...ahead];
  return moments.toSorted()[0] ?? null;
}

/** In how many milliseconds credit of an account ends, at least 0; undefined while no message may wait for that. */
export function creditEndsInMs({ credit_ends_at: ends }: Pick<StoredRisk, "credit_ends_at">, now: string) {
  const ms = ends === undefined ? Number.POSITIVE_INFINITY : Date.parse(ends) - Date.parse(now);
  return ms > limits.trading.credit_end_ahead_ms ? undefined : Math.max(0, ms);
}

/**
 * Whether the commit that wrote this risk left its account to the evaluator at once. A run in progress, a retry and
 * what a sweep put off wake later than they were written.
 */
export function isDueAtOnce({ wake_at, updated_at }: StoredRisk): boolean {
  return wake_at !== null && wake_at <= updated_at;
}

/**
 * Whether the newest price of its symbol meets a trigger that a risk was left with. The price may have come while the
 * decision was made, when it was compared with the triggers of before. Where every quote is a trigger, those that came
 * after the decision meet it.
 */
export function isMetBy(
  { down, up }: StoredTrigger,
  { bid, ask, received_at }: Quote,
  { updated_at }: StoredRisk,
): boolean {
  if (down === String(highest)) return received_at > updated_at;
  return (down !== null && triggerUnits(bid) <= BigInt(down)) || (up !== null && triggerUnits(ask) >= BigInt(up));
}

/** A symbol whose price met triggers: it is checked again until no account is past its trigger. */
export interface Breach {
  readonly tenant_id: string;
  readonly symbol: string;
  /** When the sweep checks, RFC 3339. */
  readonly wake_at: string;
  /** How many checks it made since the last price that met any. */
  readonly checks: number;
}

/** An account as its decisions about margin read it. */
export interface WatchedState extends Holdings {
  readonly risk: StoredRisk | undefined;
  /** Items of the positions that due nights make others than they are stored, by identifier. */
  readonly stored?: ReadonlyMap<string, Position>;
}

/**
 * Whether the items of an account, read one by one, are of one moment. Every commit that writes positions gives them a
 * higher `pos_version` than any before, so a position that is missing, older or newer than the balance changes the sum.
 */
export function isWhole({ account, balance, positions, risk }: WatchedState): boolean {
  const { pos_version, seq } = balance;
  const sum = positions.reduce((total, position) => total + position.pos_version, 0);
  return (
    account.leverage === balance.leverage &&
    account.version >= balance.terms_version &&
    positions.length === balance.positions &&
    sum === balance.positions_sum &&
    positions.every((position) => position.pos_version <= pos_version) &&
    (risk === undefined || (risk.seq <= seq && risk.pos_version <= pos_version))
  );
}
