import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import { createdRange, ownFields, PlatformTime, pageParameters, Timestamp } from "../fields.ts";
import { Decimal, SignedDecimal, SymbolName } from "../symbol.ts";
import { Side } from "../trade.ts";
import { PlatformId } from "./members.ts";

/** A position as a snapshot has it. */
export const SnapshotPosition = z.strictObject({
  position_id: described(PlatformId, "Identifier of the position on the platform."),
  symbol: described(SymbolName, "Symbol name."),
  side: described(Side, "Direction of the position: `buy` or `sell`."),
  lots: described(Decimal, "Open volume in lots."),
  open_price: described(SignedDecimal, "Price at which the position was opened."),
});

const SnapshotAccount = z.strictObject({
  platform_login: described(PlatformId, "Login on the trading platform."),
  balance: described(SignedDecimal, "Balance on the platform, without floating profit."),
  credit: described(SignedDecimal, "Credit on the platform."),
  positions: described(z.array(SnapshotPosition), "Every open position of the account."),
});

const Part = z.int().check(z.minimum(1), z.maximum(limits.snapshots.max_parts));

/** `POST /feed/sources/{id}/snapshots` */
export const SnapshotPartRequest = z.strictObject({
  snapshot_id: described(PlatformId, "Identifier of the snapshot, assigned by the bridge; the same in all its parts."),
  taken_at: described(PlatformTime, "Time of the snapshot on the platform."),
  as_of_seq: described(
    z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number, as text")),
    "Sequence number of the last item that the snapshot includes; everything up to it, and nothing later.",
  ),
  part: described(Part, "Number of this part, counted from 1. Parts can be sent in any order."),
  parts: described(Part, "Number of parts of the snapshot."),
  complete: described(
    z.boolean(),
    "Whether the snapshot contains every account of the source, so that an account that is not in it is missing there.",
  ),
  accounts: described(
    z.array(SnapshotAccount).check(z.maxLength(limits.snapshots.max_accounts)),
    "The accounts, none of them divided between two parts.",
  ),
});

const counts = {
  compared: described(z.int(), "Number of accounts that were compared."),
  equal: described(z.int(), "Number of accounts that are equal at `as_of_seq`."),
  moved_on: described(
    z.int(),
    "Number of accounts that could not be compared completely, because they have changed since; the rest is equal.",
  ),
  drifting: described(z.int(), "Number of accounts that differ, other than in what was accepted."),
};

/** Result of a part of a snapshot. */
export const SnapshotPart = z.object({
  object: described(z.literal("feed_snapshot_part"), "Resource type; always this value."),
  source_id: described(z.string(), "Feed source identifier."),
  snapshot_id: described(z.string(), "Identifier of the snapshot, assigned by the bridge."),
  part: described(z.int(), "Number of the part."),
  status: described(
    z.enum(["compared", "superseded"]),
    "`compared`, or `superseded` if a newer snapshot had arrived: its accounts were not compared.",
  ),
  ...counts,
  left_out: described(
    z.array(
      z.object({
        platform_login: described(z.string(), "Login on the trading platform."),
        ids: described(
          z.array(z.string()),
          "Transactions, trades, ledger entries and positions that were not compared.",
        ),
      }),
    ),
    "What was not compared, because it came later or no item has reported it yet; at most " +
      `${limits.snapshots.named_accounts} accounts.`,
  ),
  _links: ownFields._links,
});

/** A snapshot of a platform's accounts in responses. */
export const FeedSnapshot = z.object({
  object: described(z.literal("feed_snapshot"), "Resource type; always this value."),
  source_id: described(z.string(), "Feed source identifier."),
  snapshot_id: described(z.string(), "Identifier of the snapshot, assigned by the bridge."),
  taken_at: described(Timestamp, "Time of the snapshot on the platform."),
  as_of_seq: described(z.string(), "Sequence number of the last item that the snapshot includes."),
  complete: described(z.boolean(), "Whether the snapshot contains every account of the source."),
  parts: described(z.int(), "Number of parts of the snapshot."),
  received_parts: described(z.int(), "Number of parts that have been received."),
  superseded_parts: described(z.int(), "Number of parts that arrived after a newer snapshot."),
  ...counts,
  missing: described(
    z.nullable(z.int()),
    "Number of accounts of the source that a complete snapshot does not contain; null before all its parts arrived.",
  ),
  created_at: described(Timestamp, "Time at which the first part arrived."),
  _links: ownFields._links,
});

/** Query of `GET /feed/sources/{id}/snapshots`. */
export const ListSnapshotsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  sort: described(z.optional(z.enum(["-as_of_seq", "as_of_seq"])), "Sort order; a leading hyphen means descending."),
});

/** A part of a snapshot on the wire. */
export type SnapshotPartInput = z.infer<typeof SnapshotPartRequest>;
/** An account of a snapshot on the wire. */
export type SnapshotAccountBody = z.infer<typeof SnapshotAccount>;
/** A position of a snapshot on the wire. */
export type SnapshotPositionBody = z.infer<typeof SnapshotPosition>;
/** Result of a part on the wire. */
export type SnapshotPartBody = z.infer<typeof SnapshotPart>;
/** A snapshot on the wire. */
export type FeedSnapshotBody = z.infer<typeof FeedSnapshot>;
