import { limits } from "../../limits.ts";
import type { FeedData } from "../../schema/feed.ts";
import { type Context, type FieldError, later, refuse, refuseFields, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { rational } from "../trading/pricing/rational.ts";
import { isZone } from "../trading/pricing/zone-clock.ts";

/** Terms that the money of open positions is computed from: they stay as they were at the opening. */
const fixed = ["base_currency", "quote_currency", "margin_currency", "calc_mode", "contract_size"] as const;

/** Decides a new symbol, or new terms of a known one. The same terms again change nothing. */
export function setSymbol(
  before: TradingSymbol | undefined,
  terms: FeedData["symbol"],
  context: Context,
): TradingDecision<TradingSymbol> {
  const faults = faultsOf(terms);
  if (faults.length > 0) return refuseFields(faults);
  const { market_status, ...given } = terms;
  const shared = {
    ...given,
    max_leverage: terms.max_leverage ?? null,
    margin_factor: terms.margin_factor ?? "1",
    stops_level: terms.stops_level ?? 0,
    max_deviation_percent: terms.max_deviation_percent ?? null,
    trading_mode: terms.trading_mode ?? "enabled",
    holidays: terms.holidays ?? [],
    halted: market_status === "halted",
    tenant_id: context.tenant_id,
  } as const;
  if (before === undefined) {
    const item: TradingSymbol = { ...shared, created_at: context.now, updated_at: context.now, version: 1 };
    return { ok: true, result: item, changes: [{ op: "create", entity: "symbol", item }], events: [] };
  }
  const refusal = refuseChange(before, terms);
  if (refusal !== undefined) return refusal;
  const { created_at, updated_at, version } = before;
  const begins = before.swap.type === "none" && terms.swap.type !== "none";
  const swap_since = begins ? context.now : before.swap_since;
  const since = swap_since === undefined ? {} : { swap_since };
  const same: TradingSymbol = { ...shared, ...since, created_at, updated_at, version };
  if (sameValue(before, same)) return unchanged(before);
  const after = { ...same, updated_at: later(updated_at, context.now), version: version + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "symbol", before, after }], events: [] };
}

/** Lots and prices of before must stay some of their symbol: a step may only become finer. */
function refuseChange(before: TradingSymbol, terms: FeedData["symbol"]) {
  const moved = fixed.filter((name) => !sameNumberOrText(String(before[name]), String(terms[name])));
  const coarser = !rational(before.lot_step).divisible(terms.lot_step);
  const fewer = terms.digits < before.digits;
  const names = [...moved, ...(coarser ? ["lot_step"] : []), ...(fewer ? ["digits"] : [])];
  if (names.length === 0) return undefined;
  const errors = names.map((name) => ({
    pointer: `#/${name}`,
    code: "immutable_field",
    detail: "cannot be changed so; positions are computed from it",
  }));
  return refuse("immutable_field", "Terms that positions are computed from cannot be changed.", { errors });
}

function sameNumberOrText(a: string, b: string): boolean {
  return a === b || (/^[\d.]+$/.test(a) && /^[\d.]+$/.test(b) && rational(a).equals(rational(b)));
}

/** Every way in which terms contradict each other. */
function faultsOf(terms: FeedData["symbol"]): FieldError[] {
  const fault = (name: string, detail: string) => ({ pointer: `#/${name}`, code: "out_of_range", detail });
  const point = rational(1n).div(10n ** BigInt(terms.digits));
  const positive = (["contract_size", "lot_step", "lot_min", "pip_size"] as const).filter((name) =>
    rational(terms[name]).lte(0n),
  );
  const faults = positive.map((name) => fault(name, "must be above 0"));
  if (!rational(terms.point).equals(point)) faults.push(fault("point", `must be 10^-${terms.digits}`));
  if (terms.margin_factor !== undefined && rational(terms.margin_factor).lte(0n)) {
    faults.push(fault("margin_factor", "must be above 0"));
  }
  const deviation = terms.max_deviation_percent ?? null;
  const most = limits.feed.max_deviation_percent;
  if (deviation !== null && (rational(deviation).lte(0n) || rational(deviation).gt(BigInt(most)))) {
    faults.push(fault("max_deviation_percent", `must be above 0 and at most ${most}`));
  }
  const zones = { zone: terms.zone, "swap/rollover_zone": terms.swap.rollover_zone };
  for (const [name, zone] of Object.entries(zones)) {
    if (zone === undefined || isZone(zone)) continue;
    faults.push({ pointer: `#/${name}`, code: "invalid_value", detail: "must be a time zone (IANA)" });
  }
  if (rational(terms.lot_max).lt(rational(terms.lot_min))) faults.push(fault("lot_max", "must not be below lot_min"));
  if (positive.length === 0) {
    for (const name of ["lot_min", "lot_max"] as const) {
      if (!rational(terms[name]).divisible(terms.lot_step)) faults.push(fault(name, "must be a multiple of lot_step"));
    }
  }
  return [...faults, ...sessionFaults(terms.sessions)];
}

/** Sessions end after they begin and do not overlap; those of one day may touch. */
function sessionFaults(sessions: FeedData["symbol"]["sessions"]): FieldError[] {
  return sessions.flatMap((session, place) => {
    const before = sessions.find(
      (other, index) =>
        index < place && other.day === session.day && other.open < session.close && session.open < other.close,
    );
    const pointer = `#/sessions/${place}`;
    if (session.close <= session.open) return [{ pointer, code: "out_of_range", detail: "must end after it begins" }];
    return before === undefined ? [] : [{ pointer, code: "out_of_range", detail: "overlaps another one" }];
  });
}
