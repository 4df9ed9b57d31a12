import type { CurrencyCode } from "../../currencies.ts";
import { limits } from "../../limits.ts";
import type { ReconciliationBody } from "../../schema/internal-money/reconciliation.ts";
import { type Context, type DomainEvent, later } from "../kernel/decision.ts";
import { type ClosedDay, type Closing, settleDay } from "./closing.ts";
import { type Nets, plusNets } from "./controls.ts";
import type { Difference } from "./difference.ts";

/** Phases of a run, in order. */
export const bookPhases = ["accounts", "holds", "control_accounts", "postings", "events", "audit_log"] as const;

/** One of them. */
export type BookPhase = (typeof bookPhases)[number];

/** A comparison of the books of a brokerage, and how far it is. */
export interface BookRun extends Omit<ReconciliationBody, "object" | "day" | "_links"> {
  readonly tenant_id: string;
  /** Its number, from 1. */
  readonly number: number;
  readonly phase: BookPhase;
  /** Where the phase goes on; null at its beginning. */
  readonly position: string | null;
  /** Sums that are not zero yet, see {@link Nets}. Absent once they all are, or are explained. */
  readonly nets?: Nets;
  /** The day that it closes; absent of one that somebody asked for. */
  readonly closes?: ClosedDay;
  /** Figures of that day so far, see {@link Closing}; absent before there are any. */
  readonly figures?: Nets;
  /** Currencies that entries were found in, and those with money in transit before. */
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
  readonly figures?: Nets;
  readonly currencies?: readonly CurrencyCode[];
}

/** A run that begins now, of a day with the currencies that were in transit before it. */
export function newRun(
  number: number,
  months: readonly string[],
  closes: { readonly day?: ClosedDay | undefined; readonly currencies: readonly CurrencyCode[] },
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
    ...(closes.day === undefined ? {} : { closes: closes.day }),
    currencies: closes.currencies,
    months,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.books.kept_seconds,
    created_at: now,
    updated_at: now,
    completed_at: null,
    version: 1,
  };
}

/** Whether a day is settled: what was decided in it is committed, whichever machine decided it. */
export function isSettled({ ends_at }: ClosedDay, now: string): boolean {
  return Date.parse(ends_at) + limits.audit.sealed_after_seconds * 1000 <= Date.parse(now);
}

/** A run after a step, with the event of its first difference. */
export function afterStep(
  run: BookRun,
  step: BookStep,
  now: string,
): { readonly run: BookRun; readonly events: readonly DomainEvent[] } {
  const { differences = [], nets = {}, figures = {}, currencies = [], checked = {} } = step;
  const found = differences
    .filter((each) => !isExplained(each, run.differences))
    .map((each) => ({ ...each, found_at: now }));
  const sums = plusNets(run.nets ?? {}, nets);
  const ofDay = plusNets(run.figures ?? {}, figures);
  const phase = step.position === null ? phaseAfter(run.phase) : run.phase;
  const { nets: _nets, figures: _figures, ...before } = run;
  const after: BookRun = {
    ...before,
    ...(phase === undefined ? { status: "completed", completed_at: now } : { phase }),
    position: step.position,
    checked: counted(run.checked, checked),
    unsettled: run.unsettled + (step.unsettled ?? 0),
    difference_count: run.difference_count + found.length,
    differences: [...run.differences, ...found].slice(0, limits.books.kept_differences),
    ...(phase === undefined || Object.keys(sums).length === 0 ? {} : { nets: sums }),
    ...(phase === undefined || Object.keys(ofDay).length === 0 ? {} : { figures: ofDay }),
    currencies: [...new Set([...run.currencies, ...currencies])],
    updated_at: later(run.updated_at, now),
    version: run.version + 1,
  };
  const isFirst = run.difference_count === 0 && found.length > 0;
  return { run: after, events: isFirst ? [differenceFound(after)] : [] };
}

/**
 * The closing of the day of a run, once its ledgers and control accounts are read: a step with the differences of the
 * day, and the closing as it is stored with that step.
 */
export function closingOf(
  run: BookRun,
  closes: ClosedDay,
  step: BookStep,
  before: Closing | undefined,
  now: string,
): { readonly step: BookStep; readonly closing: Closing } {
  const { figures, differences } = settleDay(closes, run.figures ?? {}, before);
  const closed = { ...step, differences: [...(step.differences ?? []), ...differences] };
  const { difference_count } = afterStep(run, closed, now).run;
  const { tenant_id, id: reconciliation_id } = run;
  return {
    step: closed,
    closing: { tenant_id, ...closes, closed_at: now, reconciliation_id, difference_count, figures },
  };
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
    ...{ id, object: "reconciliation", status, day: run.closes?.day ?? null, checked, unsettled, difference_count },
    differences: [...differences],
    ...{ created_at, updated_at, completed_at, version },
    _links: { self: { href: "/v2/reports/reconciliation" } },
  };
}
