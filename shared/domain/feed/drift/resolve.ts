import { limits } from "../../../limits.ts";
import type { ResolveDrift } from "../../../schema/feed/drift.ts";
import { endOfProposal } from "../../access/agreement.ts";
import { refuseSecond, ruleOfMoney, strictestRule } from "../../access/approval-rules.ts";
import { samePerson } from "../../access/person.ts";
import { type Context, later, refuse, refuseField, refuseScope } from "../../kernel/decision.ts";
import { refuseActed } from "../../money/approval.ts";
import type { CorrectionCommand, PlatformCommand } from "../../records/command.ts";
import type { Drift, DriftPositions } from "../../records/drift.ts";
import { type FeedSource, isEnded } from "../../records/feed-source.ts";
import type { Tenant } from "../../records/tenant.ts";
import { announcing } from "../command/announce.ts";
import { isCorrection, isOpen, refuseOutstanding } from "../command/command.ts";
import { correctionIssued, givenUp } from "../command/correction.ts";
import { followedByPlatform } from "../command/settlement.ts";
import { refuseEnded } from "../source.ts";
import { adoptAccount, refuseAccount } from "./adopt-account.ts";
import { adoptMoney } from "./adopt-money.ts";
import { adoptPosition, type Books, refusePosition } from "./adopt-position.ts";
import { isLeftOut, subjectOf, unnumberedSince } from "./compare.ts";
import {
  acceptedOf,
  type DriftChange,
  type DriftDecision,
  deltaMinor,
  driftEvent,
  type Reconciliation,
} from "./drift.ts";
import type { SnapshotHead } from "./snapshot.ts";

/** A drift with what decides whether the value of the platform can be adopted. */
export interface DriftState {
  readonly drift: Drift;
  readonly reconciliation: Reconciliation | undefined;
  readonly source: FeedSource;
  /** The newest snapshot of the source. */
  readonly head: SnapshotHead | undefined;
  readonly tenant: Tenant;
  /** The account with what it holds; undefined where the drift has none, or nothing is to be booked. */
  readonly books: Books | undefined;
  /** The command that corrects the difference on the platform; undefined where there is none. */
  readonly command: PlatformCommand | undefined;
  /** Possible cause of the difference, as it is now. */
  readonly explained_by: Drift["explained_by"];
  /** All positions of an account that is not known here, where the drift does not have them. */
  readonly positions?: DriftPositions["positions"] | undefined;
}

/**
 * Decides `POST /drift/{id}/resolve`. To accept a difference keeps it, so that only a change of it is reported
 * again. To adopt the platform's value books it here, and takes two callers: the first proposes it, the second
 * approves, and whether it is still as it was proposed is asked again then. To command the platform books nothing here;
 * it takes two callers where the brokerage asks for four eyes, as money that is moved there by hand does.
 */
export function resolveDrift(state: DriftState, request: ResolveDrift, context: Context): DriftDecision<Drift> {
  const decision = announcing(resolution(state, request, context));
  return state.books === undefined
    ? decision
    : followedByPlatform(decision, state.books.state.account, state.source, context);
}

function resolution(state: DriftState, request: ResolveDrift, context: Context): DriftDecision<Drift> {
  const { drift } = state;
  if (drift.status === "resolved") return refuse("illegal_transition", "The drift is resolved already.");
  const reason = { code: request.reason.code, message: request.reason.message ?? null };
  if (request.action === "accept") return accepted(state, reason, context);
  const account_id = request.account_id ?? null;
  if ((drift.kind === "account_unknown") !== (account_id !== null)) {
    const detail = "is required with account_unknown, and with nothing else";
    return refuseField("validation_failed", "account_id", detail, "required");
  }
  const { action } = request;
  const refusal = refuseAction(state, action);
  if (refusal !== undefined) return refusal;
  const acted = action === "command_platform" ? refuseCommander(state, context) : undefined;
  if (acted !== undefined) return acted;
  if (action === "command_platform" && !state.tenant.four_eyes) return commanded(state, context);
  if (drift.proposal === null || isOver(drift.proposal, context))
    return proposed(drift, { action, account_id }, context);
  if (drift.proposal.action !== action) return refuse("illegal_transition", "Another action was proposed.");
  if (drift.proposal.account_id !== account_id) {
    return refuse("illegal_transition", "It was proposed with another account.");
  }
  if (samePerson(drift.proposal.by, context.actor)) {
    return refuse("four_eyes_required", "An application or operator other than the one that proposed it must approve.");
  }
  if (!context.scopes.includes("transactions:approve")) return refuseScope("transactions:approve");
  const second = refuseSecond(ruleOf(state), context);
  if (second !== undefined) return second;
  if (action === "command_platform") return commanded(state, context);
  if (drift.kind === "account_unknown") return adoptedAccount(state, reason, context);
  return isMoney(drift) ? adopted(state, reason, context) : adoptedPosition(state, reason, context);
}

/** Why a caller may not have the difference moved on the platform; undefined where they may. */
function refuseCommander({ drift, books, tenant }: DriftState, context: Context) {
  if (books === undefined || (tenant.approval_rules ?? []).length === 0) return undefined;
  const acted = drift.proposal === null ? [] : [drift.proposal.by];
  const money = { minor: -deltaMinor(drift), currency: books.state.account.currency, acted };
  return refuseActed(money, { ...tenant, four_eyes: false }, context);
}

/** The rule that covers what a drift books: that of its money, or the strictest one for an account or a position. */
function ruleOf({ drift, books, tenant }: DriftState) {
  if (books === undefined || !isMoney(drift)) return strictestRule(tenant);
  return ruleOfMoney(deltaMinor(drift), books.state.account.currency, tenant);
}

/** Whether a proposal has had no second person for as long as one holds. */
function isOver(proposal: NonNullable<Drift["proposal"]>, { now }: Context): boolean {
  return now >= endOfProposal(proposal);
}

function isMoney({ kind }: Drift): boolean {
  return kind === "balance" || kind === "credit";
}

interface Reason {
  readonly code: string;
  readonly message: string | null;
}

function accepted(state: DriftState, reason: Reason, context: Context): DriftDecision<Drift> {
  const { drift, reconciliation } = state;
  if (drift.proposal !== null) return refuse("illegal_transition", "A proposal waits for approval.");
  const ended = givenUp(correctionOf(state), context);
  if (!ended.ok) return ended;
  const resolution = { action: "accept", by: context.actor, reason, transaction_id: null, trade_id: null } as const;
  const noted = { [subjectOf(drift)]: acceptedOf(drift) };
  return resolved(drift, resolution, [...ended.result, ...forgotten(reconciliation, drift, noted)], context);
}

/** The command that corrects the drift; undefined where there is none. */
function correctionOf({ command }: DriftState): CorrectionCommand | undefined {
  return isCorrection(command) ? command : undefined;
}

/** The changes with the end of a command that is not to correct the drift any more. */
function withoutCommand(
  state: DriftState,
  decision: Extract<DriftDecision<Drift>, { ok: true }>,
  context: Context,
): DriftDecision<Drift> {
  const ended = givenUp(correctionOf(state), context);
  return ended.ok ? { ...decision, changes: [...decision.changes, ...ended.result] } : ended;
}

/** Asks the platform for the difference. The drift stays open until a snapshot no longer finds it. */
function commanded({ drift, books }: DriftState, context: Context): DriftDecision<Drift> {
  if (books === undefined) throw new Error("Nothing to correct.");
  const { account } = books.state;
  const { tenant_id, client_id, id: account_id, currency } = account;
  const { source_id, platform_login, id: drift_id } = drift;
  const to = { tenant_id, client_id, account_id, source_id, platform_login };
  const about = { purpose: "drift", drift_id, transaction_id: null, issued_by: context.actor } as const;
  const money = { type: "balance_operation", amount_minor: -deltaMinor(drift), currency } as const;
  const { command, changes } = correctionIssued({ ...to, ...about, ...money }, context);
  const updated_at = later(drift.updated_at, context.now);
  const numbers = { command_id: command.id, proposal: null, updated_at, version: drift.version + 1 };
  const after: Drift = { ...drift, ...numbers };
  const update = { op: "update", entity: "drift", before: drift, after } as const;
  return { ok: true, result: after, changes: [update, ...changes], events: [] };
}

/** The reconciliation of the login without an open drift, and with the accepted difference instead. */
function forgotten(
  before: Reconciliation | undefined,
  drift: Drift,
  noted: Readonly<Record<string, string>>,
): readonly DriftChange[] {
  if (before === undefined) return [];
  const open = Object.fromEntries(Object.entries(before.open).filter(([, id]) => id !== drift.id));
  const after = { ...before, open, accepted: { ...before.accepted, ...noted }, version: before.version + 1 };
  return [{ op: "update", entity: "reconciliation", before, after }];
}

function resolved(
  before: Drift,
  resolution: NonNullable<Drift["resolution"]>,
  changes: readonly DriftChange[],
  { now }: Context,
  adopted_as: Partial<Pick<Drift, "account_id" | "client_id" | "retry_at">> = {},
): Extract<DriftDecision<Drift>, { ok: true }> {
  const updated_at = later(before.updated_at, now);
  const after: Drift = {
    ...before,
    ...adopted_as,
    ...{ status: "resolved", resolution, proposal: null, resolved_at: updated_at },
    updated_at,
    version: before.version + 1,
  };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "drift", before, after }, ...changes],
    events: [driftEvent("drift.resolved", after)],
  };
}

/** Whether what the platform reports can be taken over; a kind that is new must be decided here. */
const adoptable: Readonly<Record<Drift["kind"], boolean>> = {
  balance: true,
  credit: true,
  position_missing_here: true,
  position_missing_there: true,
  position_lots: true,
  position_side: true,
  account_unknown: true,
  account_missing: false,
};

/** Why an action that moves money, or a position, is not possible now; undefined when it is. */
function refuseAction(state: DriftState, action: "adopt_platform" | "command_platform") {
  return refuseAdoption(state, action) ?? refuseCommand(state, action) ?? refuseUnseen(state);
}

/** Why the platform cannot be asked for the difference; undefined when it can. */
function refuseCommand({ drift, books, source, command }: DriftState, action: "adopt_platform" | "command_platform") {
  if (action === "adopt_platform") return undefined;
  if (isEnded(source)) return refuseEnded();
  if (books?.state.account.source_id !== source.id || books.state.account.platform_login !== drift.platform_login) {
    return refuse("illegal_transition", "The account is not linked to the source.");
  }
  return command !== undefined && isOpen(command)
    ? refuseOutstanding(command, "The platform is being asked for the difference already.")
    : undefined;
}

/** The refusal of a drift whose snapshot does not show yet what its command has done; undefined when it does. */
function refuseUnseen({ drift, reconciliation, command, source }: DriftState) {
  if (command === undefined || !isCorrection(command) || command.status !== "done") return undefined;
  const done = { source_id: command.source_id, feed_seq: command.feed_seq, at: command.done_at ?? command.updated_at };
  const newest = reconciliation ?? drift;
  const { as_of_seq } = newest;
  return isLeftOut(done, { source, as_of_seq, unnumbered_since: unnumberedSince(newest) })
    ? refuse("drift_changed", "A later snapshot must show what the command of the drift has done.")
    : undefined;
}

/**
 * Why the difference of a drift cannot be moved now, here or there; undefined when it can: the newest snapshot must
 * have found it on an account that has not changed since, and nothing may be on its way that could be its cause.
 */
function refuseAdoption(
  { drift, reconciliation, head, books, explained_by }: DriftState,
  action: "adopt_platform" | "command_platform",
) {
  const known = action === "adopt_platform" ? adoptable[drift.kind] : drift.kind === "balance";
  if (books === undefined || !known) {
    const verb = action === "adopt_platform" ? "adopted" : "corrected by a command";
    return refuse("illegal_transition", `A drift of the kind ${drift.kind} cannot be ${verb}.`);
  }
  const { account, balance } = books.state;
  if (drift.kind === "account_unknown")
    return refuseAccount(drift, books.state) ?? refuseOlder(drift, reconciliation, head);
  const priceless = isMoney(drift) ? undefined : refusePosition(drift);
  if (priceless !== undefined) return priceless;
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  const causes = explained_by.filter(({ type, id }) => type !== "transaction" && id !== drift.command_id);
  if (causes.length > 0) {
    const detail = "Items that were set aside, or commands that have not ended, may be the cause.";
    return refuse("drift_changed", detail, { extra: { causes: causes.map(({ id }) => id) } });
  }
  const unchanged = drift.balance_seq === balance.seq && drift.pos_version === balance.pos_version;
  return unchanged ? refuseOlder(drift, reconciliation, head) : refuseChanged();
}

function refuseOlder(drift: Drift, reconciliation: DriftState["reconciliation"], head: DriftState["head"]) {
  const newest =
    head !== undefined &&
    reconciliation?.open[subjectOf(drift)] === drift.id &&
    reconciliation.as_of_seq === head.as_of_seq &&
    reconciliation.taken_at === head.taken_at;
  return newest ? undefined : refuseChanged();
}

function refuseChanged() {
  return refuse("drift_changed", "The account, or its newest snapshot, is another one than the drift was found with.");
}

function proposed(
  before: Drift,
  { action, account_id }: Pick<NonNullable<Drift["proposal"]>, "action" | "account_id">,
  { actor, now }: Context,
): DriftDecision<Drift> {
  const updated_at = later(before.updated_at, now);
  const after: Drift = {
    ...before,
    proposal: { action, by: actor, at: updated_at, account_id },
    updated_at,
    version: before.version + 1,
  };
  return { ok: true, result: after, changes: [{ op: "update", entity: "drift", before, after }], events: [] };
}

/** Books the difference of a balance, or of credit, as money that the platform has moved already. */
function adopted(state: DriftState, reason: Reason, context: Context): DriftDecision<Drift> {
  const { drift, books } = state;
  if (books === undefined || drift.proposal === null) throw new Error("Nothing to adopt.");
  const booked = adoptMoney({ ...state, books, by: drift.proposal.by }, reason, context);
  if (!booked.ok) return booked;
  const adoption = { action: "adopt_platform", by: context.actor, reason } as const;
  const resolution = { ...adoption, transaction_id: booked.result.id, trade_id: null };
  const decision = resolved(drift, resolution, forgotten(state.reconciliation, drift, {}), context);
  const whole = {
    ...decision,
    changes: [...decision.changes, ...booked.changes],
    events: [...booked.events, ...decision.events],
  };
  return withoutCommand(state, whole, context);
}

/** Makes the position here what it is on the platform, without money. */
function adoptedPosition(state: DriftState, reason: Reason, context: Context): DriftDecision<Drift> {
  const { drift, books, source } = state;
  if (books === undefined) throw new Error("Nothing to adopt.");
  const booked = adoptPosition(books, drift, source, context);
  if (!booked.ok) return booked;
  const adoption = { action: "adopt_platform", by: context.actor, reason } as const;
  const resolution = { ...adoption, transaction_id: null, trade_id: booked.result.id };
  const decision = resolved(drift, resolution, forgotten(state.reconciliation, drift, {}), context);
  return {
    ...decision,
    changes: [...decision.changes, ...booked.changes],
    events: [...booked.events, ...decision.events],
  };
}

/** Makes an account of this service the account of the platform, with everything that it has. */
function adoptedAccount(state: DriftState, reason: Reason, context: Context): DriftDecision<Drift> {
  const { drift, books, source, tenant, positions = drift.platform_account?.positions } = state;
  if (books === undefined || positions === undefined) throw new Error("Nothing to adopt.");
  const booked = adoptAccount({ ...books, source, tenant, positions }, drift, context);
  if (!booked.ok) return booked;
  const { id: account_id, client_id } = books.state.account;
  const adoption = { action: "adopt_platform", by: context.actor, reason } as const;
  const resolution = { ...adoption, transaction_id: booked.result, trade_id: null };
  const changes = forgotten(state.reconciliation, drift, {});
  const retry_at = context.in(limits.snapshots.baseline_retried_after_seconds);
  const decision = resolved(drift, resolution, changes, context, { account_id, client_id, retry_at });
  return {
    ...decision,
    changes: [...decision.changes, ...booked.changes],
    events: [...booked.events, ...decision.events],
  };
}
