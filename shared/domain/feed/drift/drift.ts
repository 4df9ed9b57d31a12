import type { DriftBody } from "../../../schema/feed/drift.ts";
import type { Decided, DomainEvent } from "../../kernel/decision.ts";
import type { Drift, DriftPositions, PlatformAccount } from "../../records/drift.ts";
import type { TradingChange } from "../../records/trading-change.ts";

/**
 * State of the comparisons of one login of a source; only of one that has differed, or could not be compared.
 * Differences are named by their subject, see `subjectOf`.
 */
export interface Reconciliation {
  readonly tenant_id: string;
  readonly source_id: string;
  readonly platform_login: string;
  /** The newest snapshot that was compared while there was something to remember. */
  readonly as_of_seq: string;
  readonly taken_at: string;
  /** Since when the account could not be compared completely; absent when it was. */
  readonly moved_on_since?: string;
  /** Open drifts. */
  readonly open: Readonly<Record<string, string>>;
  /** Accepted differences, each with what it was: another one is reported. */
  readonly accepted: Readonly<Record<string, string>>;
  readonly version: number;
}

/** One change of a decision about drifts, in addition to what it books. */
export type DriftChange =
  | TradingChange
  | { readonly op: "create"; readonly entity: "drift"; readonly item: Drift }
  | { readonly op: "create"; readonly entity: "reconciliation"; readonly item: Reconciliation }
  | { readonly op: "keep"; readonly entity: "drift_positions"; readonly item: DriftPositions }
  | { readonly op: "update"; readonly entity: "drift"; readonly before: Drift; readonly after: Drift }
  | {
      readonly op: "update";
      readonly entity: "reconciliation";
      readonly before: Reconciliation;
      readonly after: Reconciliation;
    };

/** Result of a decision about drifts. */
export type DriftDecision<R> = Decided<R, DriftChange>;

/** The accepted part of a difference: for money its amount, otherwise both sides. */
export function acceptedOf({ kind, ours, theirs }: Pick<Drift, "kind" | "ours" | "theirs">): string {
  if (kind !== "balance" && kind !== "credit") return JSON.stringify([kind, ours, theirs]);
  return String(minorOf(theirs) - minorOf(ours));
}

/** An amount as a whole number: both sides of a difference have as many digits as their currency. */
function minorOf(amount: string | null): bigint {
  return BigInt((amount ?? "0").replace(".", ""));
}

/** Amount that only the platform has, in minor units. */
export function deltaMinor({ ours, theirs }: Pick<Drift, "ours" | "theirs">): bigint {
  return minorOf(theirs) - minorOf(ours);
}

/** The event of a drift that was found or resolved. */
export function driftEvent(type: "drift.detected" | "drift.resolved", drift: Drift): DomainEvent {
  return {
    type,
    resource: { type: "drift", id: drift.id, version: drift.version },
    client_id: drift.client_id,
    account_id: drift.account_id,
    object: driftBody(drift),
    ...(type === "drift.resolved" && { previous: { status: "open" } }),
  };
}

function shownAccount({ balance, credit, positions, position_count = positions.length }: PlatformAccount) {
  return { balance, credit, positions, position_count };
}

/** The drift as the API shows it. */
export function driftBody(drift: Drift): DriftBody {
  const { tenant_id: _tenant, client_id: _client, retry_at: _retry, positions_digest: _all, ...shown } = drift;
  const { balance_seq: _seq, pos_version: _positions, ...fields } = shown;
  const { account_id: account, source_id, command_id: command, resolution, platform_account: theirs } = drift;
  const { transaction_id: transaction = null, trade_id: trade = null } = resolution ?? {};
  return {
    ...fields,
    object: "drift",
    platform_account: theirs === undefined ? null : shownAccount(theirs),
    _links: {
      self: { href: `/v2/drift/${drift.id}` },
      source: { href: `/v2/feed/sources/${source_id}` },
      ...(account === null ? {} : { account: { href: `/v2/accounts/${account}` } }),
      ...(transaction === null ? {} : { transaction: { href: `/v2/transactions/${transaction}` } }),
      ...(command === null ? {} : { command: { href: `/v2/feed/sources/${source_id}/commands/${command}` } }),
      ...(trade === null ? {} : { trade: { href: `/v2/trades/${trade}` } }),
    },
  };
}
