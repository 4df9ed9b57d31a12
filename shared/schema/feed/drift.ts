import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { clientExpansion, expandedClient } from "../client.ts";
import { described } from "../described.ts";
import { Actor } from "../event.ts";
import { createdRange, id, ownFields, pageParameters, setOf, Timestamp } from "../fields.ts";
import { SignedDecimal } from "../symbol.ts";
import { StatusReason } from "../transaction.ts";
import { SnapshotPosition } from "./snapshot.ts";

/** Possible differences between the books of an account. */
export const DriftKind = z.enum([
  "balance",
  "credit",
  "position_missing_here",
  "position_missing_there",
  "position_lots",
  "position_side",
  "account_unknown",
  "account_missing",
]);

const DriftStatus = z.enum(["open", "resolved"]);

const Explanation = z.object({
  type: described(
    z.enum(["possible_duplicate", "reject", "command", "transaction"]),
    "`possible_duplicate` or `reject`: an item that was set aside, by its sequence number. `command`: a command that " +
      "has not ended. `transaction`: money that no item of the platform has reported.",
  ),
  id: described(z.string(), "Identifier, or the sequence number of the item."),
});

const Resolution = z.object({
  action: described(
    z.enum(["agreed", "accept", "adopt_platform"]),
    "`agreed` if a later snapshot no longer differs, `accept` if the difference was accepted, or `adopt_platform` if " +
      "the value of the platform was booked.",
  ),
  by: described(z.nullable(Actor), "Application or operator that resolved the drift; null with `agreed`."),
  reason: described(z.nullable(StatusReason), "Reason that was given."),
  transaction_id: described(z.nullable(z.string()), "The transaction that was booked; null if none."),
  trade_id: described(z.nullable(z.string()), "The trade that was opened, or closed if none was; null if neither."),
});

const Proposal = z.object({
  action: described(z.enum(["adopt_platform", "command_platform"]), "What was proposed."),
  by: described(Actor, "Application or operator that proposed it; another one must approve."),
  at: described(Timestamp, "Time of the proposal."),
  account_id: described(z.nullable(z.string()), "Account that an `account_unknown` is to be adopted with."),
});

const PlatformAccount = z.object({
  balance: described(SignedDecimal, "Balance on the platform, without floating profit."),
  credit: described(SignedDecimal, "Credit on the platform."),
  positions: described(
    z.array(SnapshotPosition),
    `Open positions of the account, the first ${limits.snapshots.baseline_positions} of them.`,
  ),
  position_count: described(z.int(), "Number of open positions of the account."),
});

/** A difference between the books of an account in responses. */
export const Drift = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("drift"), "Resource type; always this value."),
  source_id: described(z.string(), "Feed source identifier."),
  platform_login: described(z.string(), "Login on the trading platform."),
  account_id: described(z.nullable(z.string()), "Account identifier; null if the login is not known here."),
  kind: described(DriftKind, "What differs."),
  position_id: described(z.nullable(z.string()), "Identifier of the position on the platform; null for other kinds."),
  symbol: described(z.nullable(z.string()), "Symbol of the position; null for other kinds."),
  ours: described(z.nullable(z.string()), "Value in this service: an amount, or direction and lots; null if none."),
  theirs: described(
    z.nullable(z.string()),
    "Value on the platform, money rounded to the digits of its currency; null if none.",
  ),
  open_price: described(z.nullable(z.string()), "Price at which the platform opened the position; null if none."),
  platform_account: described(
    z.nullable(PlatformAccount),
    `With \`account_unknown\`: the account on the platform, if it has at most ${limits.trading.max_positions} ` +
      "positions; null otherwise.",
  ),
  snapshot_id: described(z.string(), "The newest snapshot that found it like this."),
  as_of_seq: described(z.string(), "Sequence number of the last item that the snapshot includes."),
  taken_at: described(Timestamp, "Time of the snapshot on the platform."),
  explained_by: described(z.array(Explanation), "What may be the cause."),
  status: described(DriftStatus, "Whether the drift is `open` or `resolved`."),
  command_id: described(
    z.nullable(z.string()),
    "The newest command that corrects the difference on the platform; null if there is none.",
  ),
  proposal: described(z.nullable(Proposal), "The proposal that waits for approval; null if there is none."),
  resolution: described(z.nullable(Resolution), "How the drift was resolved; null while it is open."),
  resolved_at: described(z.nullable(Timestamp), "Time of the resolution; null while it is open."),
  created_at: described(Timestamp, "Time at which the drift was detected."),
  updated_at: described(Timestamp, "Time of the last change."),
  version: ownFields.version,
  _links: ownFields._links,
  ...expandedClient,
});

/** `POST /drift/{id}/resolve` */
export const ResolveDriftRequest = z.strictObject({
  action: described(
    z.enum(["accept", "adopt_platform", "command_platform"]),
    "`accept` keeps the difference; only a change of it is reported again. `adopt_platform` books the value of the " +
      "platform here, once a second application or operator has sent the same request. `command_platform` issues a " +
      "command that makes the balance on the platform the one of this service.",
  ),
  reason: described(StatusReason, "Reason, for the audit trail."),
  account_id: described(
    z.optional(id("acc")),
    "With `adopt_platform` of an `account_unknown`: the account of this service that becomes the account of the " +
      "platform. It must not be linked, and nothing must have been booked on it.",
  ),
});

/** Query of `GET /drift`. */
export const ListDriftQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(DriftStatus.options)), "Statuses, separated by commas."),
  kind: described(z.optional(setOf(DriftKind.options)), "Kinds of drift, separated by commas."),
  account_id: described(z.optional(id("acc")), "Account identifier."),
  source_id: described(z.optional(id("src")), "Feed source identifier."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
  ...clientExpansion,
});

/** A drift on the wire. */
export type DriftBody = z.infer<typeof Drift>;
/** A resolution on the wire. */
export type ResolveDrift = z.infer<typeof ResolveDriftRequest>;
