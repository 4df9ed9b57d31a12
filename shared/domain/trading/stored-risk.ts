import { limits } from "../../limits.ts";
import type { Holdings } from "./margin.ts";
import type { Position } from "./position.ts";
import { type Quote, triggerUnits } from "./pricing/quote.ts";
import type { Risk } from "./risk.ts";

/** Met by every price that falls to it; its negative by every one that rises. */
export const highest = limits.trading.highest_trigger;

/** A trigger as it is stored: prices in units of `10^-trigger_digits`, as decimal texts. */
export interface StoredTrigger {
  readonly symbol: string;
  readonly down: string | null;
  readonly up: string | null;
  /** Shards that its entries are spread over: as many as there were when they were put. */
  readonly shards: number;
}

/** The risk of an account as it is stored. It is written with every change of what its account's margin depends on. */
export interface StoredRisk extends Risk {
  /** The triggers that the exposure index holds for the account, no more and no less. */
  readonly triggers: readonly StoredTrigger[];
  /** The numbers of the balance that it was written on: who reads an older one reads two moments. */
  readonly seq: number;
  readonly pos_version: number;
  /** When the next night of its positions is due, RFC 3339; absent where this service charges no swap of them. */
  readonly swap_at?: string;
  /** When credit of the account ends next, RFC 3339: it is judged then. Absent where none does. */
  readonly credit_ends_at?: string;
  /**
   * Its last writer: a commit that changed the basis of margin, or an evaluation at the newest prices. The state after
   * an evaluation is handed over like a commit where credit ends before the next sweep.
   */
  readonly left_by?: "commit" | "evaluation";
}

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

/** One entry of the exposure index: evaluate this account when the symbol's price meets the trigger. */
export interface Exposure {
  readonly tenant_id: string;
  readonly account_id: string;
  readonly symbol: string;
  /** `dn`: the bid falls to the trigger or below; `up`: the ask rises to it or above. */
  readonly direction: "dn" | "up";
  /** Units of {@link StoredTrigger}. */
  readonly trigger: string;
  /** As in {@link StoredTrigger}. */
  readonly shards: number;
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
