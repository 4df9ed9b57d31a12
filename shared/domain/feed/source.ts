import { limits } from "../../limits.ts";
import type { CreateFeedSource, FeedSourceBody, UpdateFeedSource } from "../../schema/feed/source.ts";
import { agreedByTwo, asksForTwo } from "../access/second-person.ts";
import { type Context, later, refuse, unchanged } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import { type FeedSource, isEnded, type SourcePulse } from "../records/feed-source.ts";
import type { Tenant } from "../records/tenant.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { isSilent } from "../trading/pricing/source.ts";

/** Decides a new source. Its name is what trades and positions are told apart by, so it is taken once. */
export function registerSource(
  request: CreateFeedSource,
  known: number,
  context: Context,
): TradingDecision<FeedSource> {
  if (known >= limits.feed.max_sources) {
    return refuse("too_many_feed_sources", `A brokerage may have at most ${limits.feed.max_sources} sources.`);
  }
  const first = request.first_seq ?? "1";
  const source: FeedSource = {
    id: context.newId("src"),
    tenant_id: context.tenant_id,
    name: request.name,
    platform: request.platform,
    authoritative: request.authoritative ?? "platform",
    ...(request.swap_reporting === undefined ? {} : { swap_reporting: request.swap_reporting }),
    paused: false,
    ...settingsOf(request),
    first_seq: first,
    next_seq: first,
    quote_epoch: firstEpoch,
    watch_at: context.now,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
  const detail = "Another source has this name.";
  return {
    ok: true,
    result: source,
    changes: [
      { op: "create", entity: "feed_source", item: source },
      {
        op: "claim",
        kind: "source_name",
        value: source.name,
        owner: source.id,
        refusal: { code: "source_name_taken", detail, errors: [{ pointer: "#/name", code: "taken", detail }] },
      },
    ],
    events: [],
  };
}

const settings = ["display_name", "silent_after_seconds", "snapshot_interval_seconds"] as const;
type Settings = Pick<FeedSource, (typeof settings)[number]>;

/** The settings that a request names with a value; null is the default. */
function settingsOf(request: CreateFeedSource | UpdateFeedSource): Settings {
  return Object.fromEntries(settings.flatMap((name) => (request[name] == null ? [] : [[name, request[name]]])));
}

/** The refusal of what a source that has ended cannot do. */
export function refuseEnded() {
  return refuse("source_ended", "The feed source has ended.");
}

/** Decides `PATCH /feed/sources/{id}`. A patch that says what is already so changes nothing. */
export function amendSource(
  { source: before, pulse }: Seen,
  request: UpdateFeedSource,
  tenant: Pick<Tenant, "four_eyes" | "approval_rules">,
  context: Context,
): TradingDecision<Seen> {
  if (isEnded(before)) return refuseEnded();
  const { now } = context;
  const agreed = agreeOnAuthority(before, request, tenant, context);
  if (!agreed.ok) return agreed;
  const { authoritative, proposed_authoritative } = agreed.result;
  const { paused = before.paused } = request;
  const given = settings.filter((name) => request[name] !== undefined);
  const rest = Object.fromEntries(Object.entries(before).filter(([name]) => !given.some((each) => each === name)));
  const amended = { ...(rest as unknown as FeedSource), ...settingsOf(request), paused };
  const after = isPacedAlike(before, amended) ? amended : paceAgain(amended, now);
  const same = settings.every((name) => after[name] === before[name]);
  const sameAuthority =
    authoritative === before.authoritative && proposed_authoritative === before.proposed_authoritative;
  if (same && sameAuthority && paused === before.paused) {
    return unchanged({ source: before, pulse });
  }
  // A source that may be silent for a shorter time now is looked at before the time that was noted.
  const sooner = after.silent_after_seconds === before.silent_after_seconds ? {} : { watch_at: now };
  const { proposed_authoritative: _proposal, ...rested } = after;
  const proposed = proposed_authoritative === undefined ? {} : { proposed_authoritative };
  return changedSource({ source: before, pulse }, { ...sooner, authoritative, ...proposed }, now, rested);
}

/**
 * The authority over the accounts of a source after a patch: the requested or the present one, with the proposal that
 * waits for a second person. A request for the present value withdraws a proposal.
 */
function agreeOnAuthority(
  { authoritative: current, proposed_authoritative: proposed }: FeedSource,
  { authoritative }: UpdateFeedSource,
  tenant: Pick<Tenant, "four_eyes" | "approval_rules">,
  context: Context,
): Decision<Pick<FeedSource, "authoritative" | "proposed_authoritative">> {
  if (authoritative === undefined) {
    return unchanged({ authoritative: current, ...(proposed && { proposed_authoritative: proposed }) });
  }
  if (authoritative === current || !asksForTwo(tenant)) return unchanged({ authoritative });
  const agreed = agreedByTwo(proposed, (known) => known.authoritative === authoritative, tenant, context);
  if (!agreed.ok) return agreed;
  if (agreed.result === undefined) return unchanged({ authoritative });
  const { by, at, expires_at } = agreed.result;
  const kept = agreed.result === proposed ? proposed : { authoritative, by, at, expires_at };
  return unchanged({ authoritative: current, proposed_authoritative: kept });
}

type Paced = Pick<FeedSource, "snapshot_interval_seconds" | "paused">;

/** Whether snapshots of a source are waited for as they were before a change of it. */
function isPacedAlike(before: Paced, after: Paced): boolean {
  const isAsked = ({ snapshot_interval_seconds: interval, paused }: Paced) => (paused ? undefined : interval);
  return isAsked(before) === isAsked(after);
}

/** A source whose snapshots are waited for from now on: what was announced of them before is over. */
function paceAgain({ snapshots_late_since: _late, ...source }: FeedSource, now: string): FeedSource {
  return { ...source, snapshots_from: now, watch_at: now };
}

/**
 * Decides `DELETE /feed/sources/{id}`: the source ends, unless a command of it has not ended. A second time changes
 * nothing.
 * @param open commands that have not ended, as far as the index knows yet
 */
export function endSource(seen: Seen, open: number, { now }: Context): TradingDecision<Seen> {
  if (isEnded(seen.source)) return unchanged(seen);
  if (open > 0) return refuse("source_busy", "Commands of the source have not ended yet.");
  return changedSource(seen, { ended_at: now }, now);
}

function changedSource({ source: before, pulse }: Seen, fields: Partial<FeedSource>, now: string, rest = before) {
  const updated_at = later(before.updated_at, now);
  const after: FeedSource = { ...rest, ...fields, updated_at, version: before.version + 1 };
  const changes = [{ op: "update", entity: "feed_source", before, after }] as const;
  return { ok: true, result: { source: after, pulse }, changes, events: [] } as const;
}

/** A source with its last sign of life. */
export interface Seen {
  readonly source: FeedSource;
  readonly pulse: SourcePulse | undefined;
}

/** The epoch of a source that never asked for another one, and of prices that name none. */
export const firstEpoch = 1;

/**
 * Decides the next epoch of a source: the numbers of its prices begin again, and prices of an earlier epoch, from a
 * process that was not ended, are refused from now on.
 */
export function beginEpoch({ source: before, pulse }: Seen, { now }: Context): TradingDecision<Seen> {
  if (isEnded(before)) return refuseEnded();
  return changedSource({ source: before, pulse }, { quote_epoch: before.quote_epoch + 1 }, now);
}

/** Why prices of an epoch are refused: another one was issued since, or it was never issued. */
export function epochFault(source: FeedSource, epoch: number): "old_epoch" | "unknown_epoch" | undefined {
  const current = source.quote_epoch;
  if (epoch === current) return undefined;
  return epoch < current ? "old_epoch" : "unknown_epoch";
}

/** The source as the API shows it, with its last sign of life. */
export function sourceBody(source: FeedSource, pulse: SourcePulse | undefined, now: string): FeedSourceBody {
  const { tenant_id: _tenant, first_seq, next_seq, ended_at = null, ...stored } = source;
  const { swap_reporting = "nightly", stale_since: _stale, watch_at: _watch, display_name = null, ...others } = stored;
  const { silent_after_seconds: silence, snapshot_interval_seconds: interval, ...rest } = others;
  const {
    proposed_authoritative = null,
    snapshots_late_since = null,
    snapshots_from: _from,
    clock_off = null,
    ...fields
  } = rest;
  const lag = pulse === undefined ? null : Math.max(0, Date.parse(now) - Date.parse(pulse.heartbeat_at));
  return {
    ...fields,
    object: "feed_source",
    status: ended_at === null ? "active" : "ended",
    display_name,
    swap_reporting,
    proposed_authoritative,
    silent_after_seconds: silence ?? limits.feed.silent_after_seconds.default,
    snapshot_interval_seconds: interval ?? limits.feed.snapshot_interval_seconds.default,
    snapshots_late_since,
    clock_off,
    ended_at,
    expected_next_seq: next_seq,
    accepted_through: next_seq === first_seq ? null : String(BigInt(next_seq) - 1n),
    last_batch_at: pulse?.heartbeat_at ?? null,
    lag_ms: lag,
    stale: isSilent(pulse, now),
    _links: {
      self: { href: `/v2/feed/sources/${source.id}` },
      commands: { href: `/v2/feed/sources/${source.id}/commands` },
      rejects: { href: `/v2/feed/sources/${source.id}/rejects` },
    },
  };
}
