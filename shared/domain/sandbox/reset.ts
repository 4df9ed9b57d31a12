import type { RemovedKind, SandboxResetBody } from "../../schema/reset.ts";
import { type Context, later } from "../kernel/decision.ts";

/** The last reset of a tenant: what it works by while it runs, and what is shown of it. */
export interface Reset extends Omit<SandboxResetBody, "object" | "_links"> {
  readonly tenant_id: string;
  /** Currencies of accounts that it removed: where the other side of their postings is to be looked for. */
  readonly currencies: readonly string[];
  /** Month of the first of those accounts, `2026-11`; null before one was found. */
  readonly since: string | null;
  /** From then on no function is still at work on what was there before, RFC 3339. */
  readonly settled_at: string;
  /** When the sweep looks for it, RFC 3339; null when it is done. */
  readonly wake_at: string | null;
}

/** Numbers of removed items by what they were. */
export type Removed = Readonly<Record<RemovedKind, number>>;

/** Nothing removed yet. */
export const nothingRemoved: Removed = {
  clients: 0,
  accounts: 0,
  transactions: 0,
  trades: 0,
  orders: 0,
  feed_sources: 0,
  other_items: 0,
};

/** The reset as the API shows it. */
export function resetBody(reset: Reset): SandboxResetBody {
  const { tenant_id: _tenant, currencies: _c, since: _m, settled_at: _s, wake_at: _w, ...fields } = reset;
  return { ...fields, object: "sandbox_reset", _links: { self: { href: "/v2/sandbox/reset" } } };
}

/**
 * A reset that begins now, in the place of the last one. `settleSeconds`: no function that began before works longer.
 */
export function beginReset(last: Reset | undefined, settleSeconds: number, context: Context): Reset {
  return {
    id: context.newId("rst"),
    tenant_id: context.tenant_id,
    status: "running",
    removed: nothingRemoved,
    currencies: [],
    since: null,
    settled_at: context.in(settleSeconds),
    wake_at: context.now,
    created_at: context.now,
    updated_at: context.now,
    completed_at: null,
    version: (last?.version ?? 0) + 1,
  };
}

/** Result of one walk through everything. */
export interface Pass {
  readonly began_at: string;
  /** Whether it got to its end. */
  readonly whole: boolean;
  /** Whether it saw something that is to be removed and cannot be yet. */
  readonly left: boolean;
  readonly removed: Removed;
}

/**
 * The reset after a walk. It is done by a whole walk that found nothing and began when no function was at work any more
 * on what was there before; else it is looked at again, at once when the walk was cut off.
 */
export function afterPass(reset: Reset, pass: Pass, settleSeconds: number, context: Context): Reset {
  const found = pass.left || Object.values(pass.removed).some((count) => count > 0);
  const done = pass.whole && !found && pass.began_at >= reset.settled_at;
  return {
    ...reset,
    status: done ? "completed" : "running",
    removed: sumOf(reset.removed, pass.removed),
    wake_at: done ? null : pass.whole ? context.in(settleSeconds) : context.now,
    completed_at: done ? context.now : null,
    updated_at: later(reset.updated_at, context.now),
    version: reset.version + 1,
  };
}

function sumOf(a: Removed, b: Removed): Removed {
  const sums: Record<string, number> = { ...a };
  for (const [kind, count] of Object.entries(b)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums as Removed;
}

/** The reset with the accounts noted that are about to be removed: their postings are found by it afterwards. */
export function withAccounts(reset: Reset, accounts: readonly { currency: string; created_at: string }[]): Reset {
  const currencies = [...new Set([...reset.currencies, ...accounts.map(({ currency }) => currency)])];
  const months = accounts.map(({ created_at }) => created_at.slice(0, 7));
  const [since = null] = [...months, ...(reset.since === null ? [] : [reset.since])].toSorted();
  const same = currencies.length === reset.currencies.length && since === reset.since;
  return same ? reset : { ...reset, currencies, since, version: reset.version + 1 };
}

/** Every month from this one to that of a moment: `2026-11`. */
export function monthsUntil(since: string, now: string): string[] {
  const months: string[] = [];
  for (const month = new Date(`${since}-01T00:00:00Z`); month.toISOString() <= now; ) {
    months.push(month.toISOString().slice(0, 7));
    month.setUTCMonth(month.getUTCMonth() + 1);
  }
  return months;
}

/** Whether an identifier was made before a reset began. */
export function isBefore(id: string, resetId: string): boolean {
  return timeOf(id) < timeOf(resetId);
}

/** The first ten characters of a ULID are its time, and sort by it. */
function timeOf(id: string): string {
  return id.slice(id.indexOf("_") + 1).slice(0, 10);
}
