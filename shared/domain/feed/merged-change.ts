import { isAdjustment } from "../accounts/balance.ts";
import type { Requirement } from "../kernel/decision.ts";
import type { BalanceAdjustment } from "../records/change.ts";
import type { Position } from "../records/position.ts";
import type { TradingChange } from "../records/trading-change.ts";

/** Two changes of one item in one transaction as one, or none where the second undoes the first. */
export type Merged = TradingChange | "none";

type Update<E extends string> = Extract<TradingChange, { op: "update"; entity: E }>;

/**
 * One change that does to an item what two do one after the other, where the second was decided on what the first
 * leaves; undefined when the two need a transaction each. A risk rises by one version whatever is merged. Everything
 * else rises by one for each of its changes, since a version of a trade may be announced, see {@link isAnnounced}.
 */
export function mergedChange(first: TradingChange, second: TradingChange): Merged | undefined {
  if (isExposure(first) && isExposure(second)) return second;
  if (isAdjustment(first) && isAdjustment(second)) return mergedAdjustment(first, second);
  if (first.op === "mark" && second.op === "mark") return { ...second, before: first.before };
  if (second.op === "claim") return mergedClaim(first, second);
  if (second.op === "remove") return mergedRemoval(first, second.before);
  if (isUpdate(second, "risk")) return mergedRisk(first, second);
  if (second.op === "create" && second.entity === "position") return mergedReturn(first, second.item);
  if (isUpdate(second, "position") || isUpdate(second, "order") || isAnnounced(second))
    return mergedUpdate(first, second);
  return undefined;
}

/** Whether a change is one that an event may announce, with the version that it leads to. */
export function isAnnounced(change: TradingChange): change is Update<"trade"> {
  return isUpdate(change, "trade");
}

function isUpdate<E extends "risk" | "position" | "trade" | "order">(
  change: TradingChange,
  entity: E,
): change is Update<E> {
  return change.op === "update" && change.entity === entity;
}

function mergedRisk(first: TradingChange, { after }: Update<"risk">): TradingChange | undefined {
  if (first.op === "create" && first.entity === "risk") {
    return { ...first, item: { ...after, version: first.item.version } };
  }
  return isUpdate(first, "risk") ? { ...first, after: { ...after, version: first.after.version } } : undefined;
}

function mergedUpdate(first: TradingChange, second: Update<"position" | "trade" | "order">): TradingChange | undefined {
  // The second requires a state that the first leaves, which no condition of the table compares.
  if (second.require !== undefined) return undefined;
  const { entity, after } = second;
  if (first.op === "create" && first.entity === entity) return { ...first, item: after } as TradingChange;
  if (first.op === "update" && first.entity === entity) return { ...first, after } as TradingChange;
  return undefined;
}

function mergedRemoval(first: TradingChange, { id }: Position): Merged | undefined {
  if (first.op === "create" && first.entity === "position" && first.item.id === id) return "none";
  return isUpdate(first, "position") ? { op: "remove", entity: "position", before: first.before } : undefined;
}

/** A position that one deal closes, and that is there again once the deal is taken back, with a version of its own. */
function mergedReturn(first: TradingChange, after: Position): TradingChange | undefined {
  const before = first.op === "remove" ? first.before : undefined;
  return before === undefined || before.version >= after.version
    ? undefined
    : { op: "update", entity: "position", before, after };
}

/** A name that goes from one owner to the next, or is given back and taken again. */
function mergedClaim(first: TradingChange, second: Extract<TradingChange, { op: "claim" }>): TradingChange | undefined {
  if (first.op === "release" && second.instead_of === undefined) return { ...second, instead_of: first.owner };
  if (first.op !== "claim") return undefined;
  const { instead_of: _owner, ...claim } = second;
  return first.instead_of === undefined ? claim : { ...claim, instead_of: first.instead_of };
}

function isExposure({ op }: TradingChange): boolean {
  return op === "expose" || op === "hide";
}

type Value = string | number | bigint | null | readonly object[];

/** Both changes of a balance as one. Requirements of the second become ones on the state before the first. */
export function mergedAdjustment(first: BalanceAdjustment, second: BalanceAdjustment): BalanceAdjustment | undefined {
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

/** The value before so much was added; undefined when nothing can be added to it. */
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
