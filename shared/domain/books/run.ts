import type { CurrencyCode } from "../../currencies.ts";
import { limits } from "../../limits.ts";
import type { ReconciliationBody } from "../../schema/internal-money/reconciliation.ts";
import { type Context, type DomainEvent, later } from "../kernel/decision.ts";
import { type Nets, plusNets } from "./controls.ts";
import type { Difference } from "./difference.ts";

/** Phases of a run, in order. */
export const bookPhases = ["accounts", "holds", "control_accounts", "postings", "events", "audit_log"] as const;

/** One of them. */
export type BookPhase = (typeof bookPhases)[number];

/** A comparison of the books of a brokerage, and how far it is. */
export interface BookRun extends Omit<ReconciliationBody, "object" | "_links"> {
  readonly tenant_id: string;
  /** Its number, from 1. */
  readonly number: number;
  readonly phase: BookPhase;
  /** Where the phase goes on; null at its beginning. */
  readonly position: string | null;
  /** Sums that are not zero yet, see {@link Nets}. Absent once they all are, or are explained. */
  readonly nets?: Nets;
  /** Currencies that entries were found in. */
  readonly currencies: readonly CurrencyCode[];
  /** Months whose control accounts are read: `2026-11`. */
  readonly months: readonly string[];
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** Numbers of what was compared. */
export type BookCounts = Partial<Record<keyof BookRun["checked"], number>>;

/** Result of one step of a run. */
export interface BookStep {
  /** Where its phase goes on; null when it is over. */
  readonly position: string | null;
  readonly checked?: BookCounts;
  readonly unsettled?: number;
  readonly differences?: readonly Difference[];
  readonly nets?: Nets;
  readonly currencies?: readonly CurrencyCode[];
}

/** A run that begins now. */
export function newRun(
  number: number,
  months: readonly string[],
  { tenant_id, now, newId }: Pick<Context, "tenant_id" | "now" | "newId">,
): BookRun {
  return {
    id: newId("rcn"),
    tenant_id,
    number,
    status: "running",
    phase: "accounts",
    position: null,
    checked: { accounts: 0, ledger_entries: 0, transactions: 0, control_entries: 0, events: 0, audit_entries: 0 },
    unsettled: 0,
    difference_count: 0,
    differences: [],
    currencies: [],
    months,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.books.kept_seconds,
    created_at: now,
    updated_at: now,
    completed_at: null,
    version: 1,
  };
}

/** Whether a nightly run is to begin: none has begun on this day (UTC), on which the brokerage was not created. */
export function isRunDue(last: BookRun | undefined, createdAt: string, now: string): boolean {
  if (last?.status === "running") return false;
  return (last?.created_at ?? createdAt).slice(0, 10) < now.slice(0, 10);
}

/** A run after a step, with the event of its first difference. */
export function afterStep(
  run: BookRun,
  step: BookStep,
  now: string,
): { readonly run: BookRun; readonly events: readonly DomainEvent[] } {
  const { differences = [], nets = {}, currencies = [], checked = {} } = step;
  const found = differences
    .filter((each) => !isExplained(each, run.differences))
    .map((each) => ({ ...each, found_at: now }));
  const sums = plusNets(run.nets ?? {}, nets);
  const phase = step.position === null ? phaseAfter(run.phase) : run.phase;
  const { nets: _nets, ...before } = run;
  const after: BookRun = {
    ...before,
    ...(phase === undefined ? { status: "completed", completed_at: now } : { phase }),
    position: step.position,
    checked: counted(run.checked, checked),
    unsettled: run.unsettled + (step.unsettled ?? 0),
    difference_count: run.difference_count + found.length,
    differences: [...run.differences, ...found].slice(0, limits.books.kept_differences),
    ...(phase === undefined || Object.keys(sums).length === 0 ? {} : { nets: sums }),
    currencies: [...new Set([...run.currencies, ...currencies])],
    updated_at: later(run.updated_at, now),
    version: run.version + 1,
  };
  const isFirst = run.difference_count === 0 && found.length > 0;
  return { run: after, events: isFirst ? [differenceFound(after)] : [] };
}

/** Sums of an account that a missing or changed entry falsifies; they are compared later. */
const ofEntries: ReadonlySet<Difference["field"]> = new Set([
  ...(["ledger_entry", "ledger_entries", "balance_before", "balance_after", "balance"] as const),
]);

/** Whether a ledger that was reported does not agree with control accounts either: that is one difference. */
function isExplained({ field, account_id }: Difference, before: readonly Difference[]): boolean {
  if (field !== "control_accounts" || account_id === null) return false;
  return before.some((each) => each.account_id === account_id && ofEntries.has(each.field));
}

/** A run that a reset of the sandbox ended: what it compared is being removed. */
export function cancelled({ nets: _nets, ...run }: BookRun, now: string): BookRun {
  return {
    ...run,
    status: "cancelled",
    completed_at: now,
    updated_at: later(run.updated_at, now),
    version: run.version + 1,
  };
}

function phaseAfter(phase: BookPhase): BookPhase | undefined {
  return bookPhases[bookPhases.indexOf(phase) + 1];
}

function counted(before: BookRun["checked"], more: BookCounts): BookRun["checked"] {
  const names = Object.keys(before) as (keyof BookRun["checked"])[];
  return Object.fromEntries(names.map((name) => [name, before[name] + (more[name] ?? 0)])) as BookRun["checked"];
}

/** The event of the first difference of a run. */
function differenceFound(run: BookRun): DomainEvent {
  return {
    type: "reconciliation.difference_found",
    resource: { type: "reconciliation", id: run.id, version: run.version },
    client_id: null,
    account_id: null,
    object: runBody(run),
  };
}

/** The run as the API shows it. */
export function runBody(run: BookRun): ReconciliationBody {
  const { id, status, checked, unsettled, difference_count, differences } = run;
  const { created_at, updated_at, completed_at, version } = run;
  return {
    ...{ id, object: "reconciliation", status, checked, unsettled, difference_count },
    differences: [...differences],
    ...{ created_at, updated_at, completed_at, version },
    _links: { self: { href: "/v2/reports/reconciliation" } },
  };
}
