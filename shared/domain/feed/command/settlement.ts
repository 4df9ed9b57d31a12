import { limits } from "../../../limits.ts";
import { isAdjustment } from "../../accounts/balance.ts";
import type { Context, DomainEvent } from "../../kernel/decision.ts";
import type { Account } from "../../records/account.ts";
import type { Balance } from "../../records/balance.ts";
import type { Change } from "../../records/change.ts";
import type { SettlementCommand } from "../../records/command.ts";
import { type FeedSource, isEnded } from "../../records/feed-source.ts";
import type { Ledger, Settlement } from "../../records/ledger.ts";
import { announcing } from "./announce.ts";
import { correctionIssued } from "./correction.ts";

interface Decided {
  readonly changes: readonly { readonly op: string; readonly entity?: string }[];
  readonly events: readonly DomainEvent[];
}

/** The source that decides for an account: that of the report, or that it is linked to. */
type Deciding = Pick<FeedSource, "id" | "authoritative" | "ended_at">;

/** Settlements of this service alone: they have not happened on a platform. */
const settles: ReadonlySet<Settlement> = new Set(["correction", "credit", "repayment"]);

/**
 * The decision with commands by which the platform of an account follows what was settled here: the correction of a
 * loss, the credit that paid it, and what a late credit has repaid of both. It is booked at once, since what is decided
 * next depends on it (ADR 0025), and each entry has a command of its own amount. Nothing changes where the account is
 * not linked to the source, where the platform decides, or where the source has ended.
 */
export function followedByPlatform<D extends { readonly ok: boolean } | (Decided & { readonly ok: true })>(
  decision: D,
  account: Account,
  source: Deciding | undefined,
  context: Context,
): D {
  if (!decision.ok || !isFollowed(account, source)) return decision;
  const { changes, events } = decision as D & Decided;
  const settled = changes.flatMap((change) => settledEntry(change as Change, account));
  if (settled.length === 0) return decision;
  const booked = new Set(changes.flatMap((change) => correctionIn(change as Change)));
  const issued = settled.map((entry) => {
    const corrects = booked.has(entry.transaction_id ?? "") ? (entry.transaction_id ?? undefined) : undefined;
    return { entry, corrects, ...correctionIssued(draftOf(entry, account, context), context, corrects) };
  });
  const named = new Map(issued.map(({ entry, command }) => [entry.id, command.id]));
  const about = new Map(issued.flatMap(({ corrects, command }) => (corrects ? [[corrects, command.id]] : [])));
  const ids = issued.map(({ command }) => command.id);
  const own = changes.flatMap((change) => linked(change as Change, { account_id: account.id, named, about, ids }));
  const added = announcing({ ok: true, changes: issued.flatMap(({ changes: each }) => each), events: [] } as const);
  const shown = events.map((event) => withCommand(event, about));
  return { ...decision, changes: [...own, ...added.changes], events: [...shown, ...added.events] };
}

function isFollowed({ source_id }: Account, source: Deciding | undefined): boolean {
  return source !== undefined && source.id === source_id && source.authoritative === "service" && !isEnded(source);
}

/** The entry that a change makes, where it settles something of the account. */
function settledEntry(change: Change, { id }: Account): readonly Ledger[] {
  if (change.op !== "create" || change.entity !== "ledger") return [];
  const entry = change.item as Ledger;
  const own = entry.account_id === id && entry.amount_minor !== 0n;
  return own && entry.settlement !== undefined && settles.has(entry.settlement) ? [entry] : [];
}

/** The correction of a loss that a change makes. */
function correctionIn(change: Change): readonly string[] {
  if (change.op !== "create" || change.entity !== "transaction") return [];
  const { id, kind } = change.item as { readonly id: string; readonly kind: string };
  return kind === "negative_balance_correction" ? [id] : [];
}

function draftOf(
  { amount_minor, currency, moves, transaction_id }: Ledger,
  { tenant_id, client_id, id: account_id, source_id, platform_login }: Account,
  { actor: issued_by }: Context,
) {
  return {
    ...{ tenant_id, client_id, account_id, source_id: source_id ?? "", platform_login: platform_login ?? "" },
    ...{ amount_minor, currency, issued_by, transaction_id },
    type: moves === "credit" ? "credit_operation" : "balance_operation",
    purpose: "settlement",
    drift_id: null,
  } as const;
}

interface Links {
  readonly account_id: string;
  /** The command of each entry. */
  readonly named: ReadonlyMap<string, string>;
  /** The command of each correction. */
  readonly about: ReadonlyMap<string, string>;
  readonly ids: readonly string[];
}

/** A change with the commands that it is followed by. The marker of a correction makes way for that of its command. */
function linked(change: Change, { account_id, named, about, ids }: Links): readonly Change[] {
  if (change.op === "list" && !("command_id" in change.leg) && about.has(change.leg.transaction_id)) return [];
  if (change.op === "create") {
    const { id } = change.item as { readonly id?: string };
    const command_id = (change.entity === "ledger" ? named : about).get(id ?? "");
    return command_id === undefined ? [change] : [{ ...change, item: { ...change.item, command_id } } as Change];
  }
  if (change.op !== "adjust" || !isAdjustment(change) || change.id !== account_id) return [change];
  const settled_by = settledBy(change.before, ids);
  return [{ ...change, set: { ...change.set, settled_by }, after: { ...change.after, settled_by } }];
}

/** The commands that a balance names of what was settled on its account, with these. */
export function settledBy({ settled_by = [] }: Balance, ids: readonly string[]): NonNullable<Balance["settled_by"]> {
  return [...settled_by, ...ids.map((command_id) => ({ command_id }))].slice(-limits.commands.compared_settlements);
}

/** Whether a balance names the commands of all settlements of its account, and not only the newest. */
export function namesAllSettlements({ settled_by = [] }: Pick<Balance, "settled_by">): boolean {
  return settled_by.length < limits.commands.compared_settlements;
}

/** The event of a correction with its command, as GET shows it. */
function withCommand(event: DomainEvent, about: ReadonlyMap<string, string>): DomainEvent {
  const command_id = about.get(event.resource.id);
  return command_id === undefined ? event : { ...event, object: { ...event.object, command_id } };
}

/** Whether a command makes a platform follow what was settled here. */
export function isSettlement(command: { readonly purpose: string } | undefined): command is SettlementCommand {
  return command?.purpose === "settlement";
}

/**
 * Whether the platform may have done by itself what a settlement asks for: an operation of at least that amount is put
 * aside, and a person says what it is before anything is sent. A debit is not known apart from other holds.
 */
export function mayBeDone(
  { amount_minor, type }: Pick<SettlementCommand, "amount_minor" | "type">,
  balance: Pick<Balance, "aside_minor"> | undefined,
): boolean {
  return type === "balance_operation" && amount_minor > 0n && (balance?.aside_minor ?? 0n) >= amount_minor;
}
