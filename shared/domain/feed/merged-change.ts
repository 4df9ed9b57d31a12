import type { BalanceAdjustment, Requirement } from "../decision.ts";
import { isAdjustment } from "../posting.ts";
import type { TradingChange } from "../trading/changes.ts";

/**
 * One change that does to an item what two do one after the other, where the second was decided on what the first
 * leaves; undefined when the two need a transaction each. Only what has no events is changed twice by one transaction:
 * entries of the exposure index, a balance, and a risk, which then rises by one version all the same. What is announced
 * has one write for each of its versions.
 */
export function mergedChange(first: TradingChange, second: TradingChange): TradingChange | undefined {
  if (isExposure(first) && isExposure(second)) return second;
  if (isAdjustment(first) && isAdjustment(second)) return mergedAdjustment(first, second);
  if (second.op !== "update" || second.entity !== "risk") return undefined;
  if (first.op === "create" && first.entity === "risk") {
    return { ...first, item: { ...second.after, version: first.item.version } };
  }
  if (first.op === "update" && first.entity === "risk") {
    return { ...first, after: { ...second.after, version: first.after.version } };
  }
  return undefined;
}

function isExposure({ op }: TradingChange): boolean {
  return op === "expose" || op === "hide";
}

type Value = string | number | bigint | null | readonly object[];

/** Both changes of a balance in one. What the second requires after the first is required of what was there. */
function mergedAdjustment(first: BalanceAdjustment, second: BalanceAdjustment): BalanceAdjustment | undefined {
  const set: Record<string, Value> = { ...first.set };
  const add: Record<string, number | bigint> = { ...first.add };
  const require = [...first.require];
  for (const requirement of second.require) {
    const { attribute } = requirement;
    const written = set[attribute];
    if (written !== undefined) {
      if (!meets(written, requirement)) return undefined;
      continue;
    }
    const value = less(requirement.value, add[attribute]);
    if (value === undefined) return undefined;
    if (!require.some((other) => isSame(other, { ...requirement, value }))) require.push({ ...requirement, value });
  }
  for (const [name, by] of Object.entries(second.add ?? {})) {
    const changed = name in set ? plus(set[name] ?? null, by) : plus(add[name] ?? zeroOf(by), by);
    if (changed === undefined) return undefined;
    if (name in set) set[name] = changed;
    else add[name] = changed;
  }
  for (const [name, value] of Object.entries(second.set ?? {})) {
    set[name] = value;
    delete add[name];
  }
  return { ...first, after: second.after, set, add, require };
}

function zeroOf(value: number | bigint): number | bigint {
  return typeof value === "bigint" ? 0n : 0;
}

/** The sum of two numbers of one kind; undefined for any others. */
function plus(value: Value, by: number | bigint): number | bigint | undefined {
  if (typeof value === "bigint" && typeof by === "bigint") return value + by;
  return typeof value === "number" && typeof by === "number" ? value + by : undefined;
}

/** What was there before so much was added; undefined when nothing can be added to it. */
function less(value: Requirement["value"], by: number | bigint | undefined): Requirement["value"] | undefined {
  return by === undefined ? value : plus(value, -by);
}

function meets(stored: Value, { is, value }: Requirement): boolean {
  if (is === "equal") return stored === value;
  if (is === "not") return stored !== value;
  if (stored === null || typeof stored === "object") return false;
  return is === "at_least" ? stored >= value : stored < value;
}

function isSame(one: Requirement, other: Requirement): boolean {
  return one.attribute === other.attribute && one.is === other.is && one.value === other.value;
}
