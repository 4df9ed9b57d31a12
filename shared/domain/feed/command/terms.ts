import type { UpdateAccount } from "../../../schema/account.ts";
import type { AckCommand } from "../../../schema/feed/command.ts";
import type { FeedData } from "../../../schema/feed.ts";
import { accountUpdated } from "../../accounts/account.ts";
import type { OwnedAccount } from "../../accounts/amend-account.ts";
import type { AccountWithBalance } from "../../accounts/open-account.ts";
import { type Context, later, refuse, refuseField, unchanged } from "../../kernel/decision.ts";
import { sameValue } from "../../kernel/equality.ts";
import type { Account, PendingTerms } from "../../records/account.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { PlatformCommand, TermsCommand } from "../../records/command.ts";
import { isEnded } from "../../records/feed-source.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import type { WatchedState } from "../../trading/stored-risk.ts";
import { updateAccount } from "../account-update.ts";
import type { Made } from "../apply.ts";
import { refuseEnded } from "../source.ts";
import { announcing } from "./announce.ts";
import {
  type CommandMove,
  commandChanges,
  isOpen,
  lostLease,
  movedCommand,
  moveOfAck,
  refuseOutstanding,
  waitingFrom,
} from "./command.ts";

type Term = keyof PendingTerms;
type Reported = Omit<FeedData["account_update"], "platform_login">;
type Booking<R> = Extract<TradingDecision<R>, { ok: true }>;

const terms = ["leverage", "group_id", "trading_mode"] as const satisfies readonly Term[];

/** The command that changes a term, and the name that a report gives the term. */
const commandOfTerm = {
  leverage: { type: "set_leverage", name: "leverage" },
  group_id: { type: "set_group", name: "group" },
  trading_mode: { type: "set_account_access", name: "access" },
} as const satisfies Readonly<Record<Term, { type: TermsCommand["type"]; name: keyof Reported }>>;

/** Whether a patch of an account may have to ask its platform: a disabled account may trade nothing there either. */
export function namesTerms(patch: UpdateAccount): boolean {
  return patch.status !== undefined || terms.some((term) => patch[term] !== undefined);
}

/** An account with the commands that change its terms, as far as they were asked for. */
export type AskedAccount = OwnedAccount & Commanded;

interface Commanded extends Pick<OwnedAccount, "account" | "source"> {
  readonly asked?: readonly (PlatformCommand | undefined)[];
}

/**
 * Decides a patch of an account: where it is linked to a source, the terms of the platform are commanded and change
 * once the platform has changed them, and the rest changes now. Terms that are refused here are refused before they are
 * commanded. A command that waits makes way for a later one of the same term; any other must end first. A disable
 * applies at once, waits for none of them and asks the platform for no access; its end asks for what there was before.
 * @param decide decides a patch that applies at once
 */
export function amendOnPlatform<R extends AccountWithBalance>(
  owned: Commanded,
  patch: UpdateAccount,
  context: Context,
  decide: (patch: UpdateAccount) => TradingDecision<R>,
): TradingDecision<R> {
  const whole = decide(patch);
  if (!whole.ok || !namesTerms(patch)) return whole;
  const { leverage: _l, group_id: _g, trading_mode: _t, ...others } = patch;
  const rest = decide(others);
  if (!rest.ok || rest.result.account.source_id == null) return whole;
  const access = accessOf(owned.account, rest.result.account, patch);
  const wanted = access === undefined ? patch : { ...patch, trading_mode: access };
  const asked = askFor(owned, rest.result.account, { wanted, access }, context);
  if (!asked.ok) return asked;
  const { pending, changes } = asked.result;
  if (sameValue(pending, owned.account.pending ?? {})) return rest;
  const before = { account: owned.account, balance: rest.result.balance };
  const mode = rest.result.account.status === "disabled" && access !== undefined ? pendingMode(owned.account) : {};
  const { account, ...told } = withPending(rest, before, pending, context, mode);
  const result = { ...rest.result, account };
  return announcing<Booking<R>>({ ...rest, ...told, result, changes: [...told.changes, ...changes] });
}

/** Access to ask the platform for when the status of an account changes; undefined where nothing changes there. */
function accessOf(before: Account, after: Account, patch: UpdateAccount): Account["trading_mode"] | undefined {
  if (before.status === after.status) return undefined;
  if (after.status === "active") return patch.trading_mode ?? after.trading_mode;
  const has = before.trading_mode !== "none" || before.pending?.trading_mode !== undefined;
  return after.status === "disabled" && has ? "none" : undefined;
}

/** The trading mode of a disabled account when it is active again: the last that was asked for. */
function pendingMode({ pending }: Account): Pick<Partial<Account>, "trading_mode_before"> {
  return pending?.trading_mode === undefined ? {} : { trading_mode_before: pending.trading_mode.value };
}

interface Asked {
  readonly pending: PendingTerms;
  readonly changes: readonly Change[];
}

/** The commands that a patch issues and gives up, and what is pending after it. */
function askFor(
  { account: before, asked = [], source }: Commanded,
  account: Account,
  { wanted, access }: { readonly wanted: UpdateAccount; readonly access: Account["trading_mode"] | undefined },
  context: Context,
): Decision<Asked> {
  const pending: Record<string, PendingTerms[Term]> = { ...before.pending };
  const changes: Change[] = [];
  for (const term of terms) {
    const value = wanted[term];
    const byStatus = term === "trading_mode" && access !== undefined;
    if (value === undefined || (!byStatus && before.pending?.[term]?.value === value)) continue;
    // The trading mode of a disabled account is decided when it is active again.
    if (term === "trading_mode" && !byStatus && account.status !== "active") continue;
    const earlier = asked.find((command) => command?.id === before.pending?.[term]?.command_id);
    if (earlier !== undefined && isOpen(earlier)) {
      const disables = byStatus && account.status === "disabled";
      const ended = movedCommand(earlier, "cancel", context) ?? (disables ? superseded(earlier, context) : undefined);
      if (ended === undefined) return refuseOutstanding(earlier, "The platform has been asked for another value.");
      changes.push(...commandChanges(earlier, ended));
    }
    delete pending[term];
    if (value === account[term] && !byStatus) continue;
    if (source !== undefined && isEnded(source)) {
      // No platform can be asked, which keeps no account from being disabled.
      if (byStatus) continue;
      return refuseEnded();
    }
    const item = draftTerms(account, term, value, context);
    pending[term] = { value, command_id: item.id } as PendingTerms[Term];
    changes.push({ op: "create", entity: "command", item });
  }
  return unchanged({ pending: pending as PendingTerms, changes });
}

/**
 * A command that a disable does not wait for. One in the hands of a bridge ends before the lane is free for the next,
 * and is not handed out again; of one whose outcome is unknown nothing is begun any more.
 */
function superseded(command: PlatformCommand, context: Context): PlatformCommand | undefined {
  if (command.purpose !== "terms") return undefined;
  const error = { code: "superseded", message: null };
  const failed = command.status === "unknown" ? movedCommand(command, "failed", context, { error }) : undefined;
  const updated_at = later(command.updated_at, context.now);
  return failed ?? { ...command, superseded: true, updated_at, version: command.version + 1 };
}

/** The move of a command to change a term: one that was superseded is not handed out again, and fails instead. */
function moveOf({ superseded }: TermsCommand, move: CommandMove | undefined): CommandMove | undefined {
  return superseded === true && (move === "unknown" || move === "not_sent") ? "failed" : move;
}

/** A command to change a term that waits to be taken. It does not expire, because nothing decides it again. */
function draftTerms(account: Account, term: Term, value: string | number, context: Context): TermsCommand {
  const { tenant_id, client_id, id: account_id, source_id, platform_login } = account;
  if (source_id == null || platform_login === null) throw new Error(`The account ${account_id} is not linked.`);
  const { type, name } = commandOfTerm[term];
  return {
    id: context.newId("cmd"),
    ...{ tenant_id, client_id, account_id, source_id, platform_login },
    // Access must not wait behind money, and no change of leverage or group may keep a position from being closed.
    lane: term === "trading_mode" ? "risk" : "money",
    type,
    purpose: "terms",
    payload: { [name]: value },
    ...{ transaction_id: null, leg: null, drift_id: null },
    not_after: null,
    ...waitingFrom(context.now),
  };
}

/** Changes and events of a decision with the pending terms after it, in its one change of the account. */
function withPending(
  { changes, events }: Pick<Booking<unknown>, "changes" | "events">,
  { account: before, balance }: AccountWithBalance,
  left: PendingTerms,
  { now }: Pick<Context, "now">,
  more: Partial<Account> = {},
): Pick<Booking<unknown>, "changes" | "events"> & { readonly account: Account } {
  const own = changes.find((change) => change.op === "update" && change.entity === "account") as Own | undefined;
  const renewed = { ...before, updated_at: later(before.updated_at, now), version: before.version + 1 };
  const { pending: _before, ...fields } = { ...(own?.after ?? renewed), ...more };
  const after: Account = Object.keys(left).length === 0 ? fields : { ...fields, pending: left };
  const told = events.find(({ type }) => type === "account.updated");
  const shown = told && { ...told, object: { ...told.object, pending: after.pending ?? null } };
  return {
    account: after,
    changes: [
      ...changes.filter((change) => change !== own),
      { op: "update", entity: "account", before, after } satisfies TradingChange,
    ],
    events: [...events.filter((event) => event !== told), shown ?? accountUpdated(before, after, balance)],
  };
}

type Own = Extract<TradingChange, { op: "update"; entity: "account" }>;

/** The term that a command changes, and what is pending of its account once the command has ended. */
function leftBy({ pending = {} }: Account, { id }: Pick<PlatformCommand, "id">): PendingTerms | undefined {
  const left = Object.entries(pending).filter(([, asked]) => asked?.command_id !== id);
  return left.length === Object.keys(pending).length ? undefined : Object.fromEntries(left);
}

/** An account with everything that a change of its terms depends on. */
type TermsState = WatchedState & Pick<OwnedAccount, "client">;

/**
 * Decides an acknowledgement of a command to change a term. `done` changes it here as a report of the platform does,
 * and `failed` gives it up; an unknown outcome leaves it pending.
 */
export function acknowledgeTerms(
  command: TermsCommand,
  state: TermsState,
  market: Market,
  ack: AckCommand,
  context: Context,
): TradingDecision<TermsCommand> {
  if (ack.attempt > command.attempt) {
    return refuseField("validation_failed", "attempt", "was never taken", "out_of_range");
  }
  const move = moveOf(command, moveOfAck(command, ack));
  const told = ack.error ? { code: ack.error.code, message: ack.error.message ?? null } : null;
  const error = move === "failed" ? (told ?? { code: "platform_refused", message: null }) : told;
  const after = move && movedCommand(command, move, context, { error, operation_id: ack.operation_id ?? null });
  if (after === undefined) return unchanged(command);
  const own = { ok: true, result: after, changes: commandChanges(command, after), events: [] } as const;
  const left = isOpen(after) ? undefined : leftBy(state.account, command);
  if (left === undefined) return announcing<Booking<TermsCommand>>(own);
  const data = { ...command.payload, platform_login: command.platform_login };
  const applied = move === "done" ? updateAccount(state, market, data, context) : unchanged({});
  if (!applied.ok) return applied;
  const { changes, events } = withPending(applied, state, left, context);
  return announcing<Booking<TermsCommand>>({ ...own, changes: [...changes, ...own.changes], events });
}

/**
 * Decides a report of the terms of an account on its platform. A value that a command was to set ends that command as
 * done, whether or not it has set it; any other leaves it pending.
 */
export function reportTerms(
  state: TermsState,
  market: Market,
  data: FeedData["account_update"],
  asked: readonly (PlatformCommand | undefined)[],
  context: Context,
): TradingDecision<Made> {
  const applied = updateAccount(state, market, data, context);
  if (!applied.ok) return applied;
  let { account } = state;
  const ended: Change[] = [];
  for (const command of asked) {
    if (command?.purpose !== "terms" || !isReported(command, data)) continue;
    const left = leftBy(account, command);
    const after = movedCommand(command, "done", context, { error: null });
    if (left === undefined || after === undefined) continue;
    account = { ...account, pending: left };
    ended.push(...commandChanges(command, after));
  }
  if (ended.length === 0) return applied;
  const { changes, events } = withPending(applied, state, account.pending ?? {}, context);
  return announcing<Booking<Made>>({ ...applied, changes: [...changes, ...ended], events });
}

function isReported({ payload }: TermsCommand, data: Reported): boolean {
  return Object.entries(payload).every(([name, value]) => data[name as keyof Reported] === value);
}

/** Decides what time makes of a command to change a term: a lease that ran out. Undefined when it is not that. */
export function overdueTerms(
  command: TermsCommand,
  context: Context,
): Extract<Decision<TermsCommand>, { ok: true }> | undefined {
  const lost = moveOf(command, lostLease(command, context.now));
  const error = { code: "superseded", message: null };
  const after = lost && movedCommand(command, lost, context, lost === "failed" ? { error } : {});
  return after && { ok: true, result: after, changes: commandChanges(command, after), events: [] };
}

/**
 * Decides `POST …/commands/{command_id}/requeue` of a command to change a term: a person hands an unknown one out
 * again at once, since a value that is set twice is the same value.
 */
export function requeueTerms(command: TermsCommand, context: Context): Decision<TermsCommand> {
  const after = movedCommand(command, "requeue", context, { error: null });
  if (after === undefined)
    return refuse("illegal_transition", `A command that is ${command.status} cannot be requeued.`);
  return { ok: true, result: after, changes: commandChanges(command, after), events: [] };
}
