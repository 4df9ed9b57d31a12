import { type Context, later, type Requirement } from "../kernel/decision.ts";
import type { Balance } from "../records/balance.ts";
import type { BalanceAdjustment } from "../records/change.ts";

/** An adjustment of the balance, which never turns its clock back. `set` and `add` name different members. */
export function adjustBalance(
  balance: Balance,
  { now }: Pick<Context, "now">,
  change: { readonly set?: Partial<Balance>; readonly add?: Added; readonly require: readonly Requirement[] },
): BalanceAdjustment {
  const set = { updated_at: later(balance.updated_at, now), ...change.set };
  const { add, require } = change;
  const after = plus({ ...balance, ...set }, add ?? {});
  const money = { before: balance, after };
  return { op: "adjust", entity: "balance", id: balance.account_id, ...money, set, ...(add && { add }), require };
}

/** An adjustment that sets more, and where they are given on other requirements. */
export function adjustMore(
  change: BalanceAdjustment,
  set: Partial<Balance>,
  require: readonly Requirement[] = change.require,
): BalanceAdjustment {
  return { ...change, after: { ...change.after, ...set }, set: { ...change.set, ...set }, require };
}

/** Whether a change is one of the money of an account; a decision makes one at most. */
export function isAdjustment(change: { readonly op: string; readonly entity?: string }): change is BalanceAdjustment {
  return change.op === "adjust" && change.entity === "balance";
}

function plus(balance: Balance, add: Added): Balance {
  const { aside_minor: aside } = add;
  return {
    ...balance,
    ...(aside === undefined ? {} : { aside_minor: (balance.aside_minor ?? 0n) + aside }),
    available_minor: balance.available_minor + (add.available_minor ?? 0n),
    held_minor: balance.held_minor + (add.held_minor ?? 0n),
    pos_version: balance.pos_version + (add.pos_version ?? 0),
    pending: balance.pending + (add.pending ?? 0),
  };
}

/** Members of a balance that a change may add to, whatever they are by then (ADR 0002). */
type Added = Partial<Pick<Balance, "available_minor" | "held_minor" | "aside_minor" | "pos_version" | "pending">>;

/** The gate of an account that is neither disabled nor closed. */
export const notClosed: Requirement = { attribute: "accepts", is: "not", value: "none" };

/** A requirement that an attribute has exactly this value. */
export function equal(attribute: string, value: string | number): Requirement {
  return { attribute, is: "equal", value };
}
