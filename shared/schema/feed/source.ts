import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import { Sequence } from "../feed.ts";
import { name, ownFields, pageParameters, Timestamp } from "../fields.ts";
import { ProposedAuthority } from "../people/proposals.ts";

const Platform = z.enum(["mt4", "mt5", "ctrader", "other"]);
const Authority = z.enum(["platform", "service"]);
const SwapReporting = z.enum(["nightly", "accrued"]);
const swapReporting =
  "How the source reports swap: `nightly` by an item for each night, or `accrued` by the swap so far of a position. " +
  "The other form is set aside.";

const seconds = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z.nullable(z.int().check(z.minimum(min), z.maximum(max)));
const displayName = "Name that people see; null to show `name` alone.";
const silence =
  "Seconds without a batch after which the source is stale, from the next batch on; null for the default of 60.";
const interval =
  "Seconds between two snapshots that its bridge sends; null for the default of 60. Where it is set, " +
  "`feed.snapshots_late` says that none has come for three intervals.";

/** `POST /feed/sources` */
export const CreateFeedSourceRequest = z.strictObject({
  name: described(
    z
      .string()
      .check(z.regex(/^[a-z][a-z0-9]{1,15}:[A-Za-z0-9._-]{1,47}$/, "must be a platform and a name such as mt5:live-1")),
    "Platform and name, such as `mt5:live-1`; unique in the brokerage.",
  ),
  platform: described(Platform, "Platform whose logins the source uses."),
  authoritative: described(
    z.optional(Authority),
    "Which side closes positions at the stop-out level: the platform or this service.",
  ),
  swap_reporting: described(z.optional(SwapReporting), `${swapReporting} Default: \`nightly\`.`),
  display_name: described(z.optional(z.nullable(name(100))), displayName),
  silent_after_seconds: described(z.optional(seconds(limits.feed.silent_after_seconds)), silence),
  snapshot_interval_seconds: described(z.optional(seconds(limits.feed.snapshot_interval_seconds)), interval),
  first_seq: described(z.optional(Sequence), "Sequence number of the first item; 1 by default."),
});

/** `PATCH /feed/sources/{id}`, a merge patch (RFC 7396). */
export const UpdateFeedSourceRequest = z.strictObject({
  display_name: described(z.optional(z.nullable(name(100))), displayName),
  silent_after_seconds: described(z.optional(seconds(limits.feed.silent_after_seconds)), silence),
  snapshot_interval_seconds: described(z.optional(seconds(limits.feed.snapshot_interval_seconds)), interval),
  authoritative: described(
    z.optional(Authority),
    "Which side closes positions at the stop-out level, from the next batch on.",
  ),
  paused: described(z.optional(z.boolean()), "Whether commands wait instead of being handed out."),
});

/** A source of trades and prices in responses. `lag_ms` is the time since its last batch. */
export const FeedSource = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("feed_source"), "Resource type; always this value."),
  name: described(z.string(), "Platform and name: the `source` of its trades and orders."),
  platform: described(Platform, "Platform whose logins the source uses."),
  authoritative: described(
    Authority,
    "Which side closes positions at the stop-out level: the platform or this service.",
  ),
  proposed_authoritative: described(
    z.nullable(ProposedAuthority),
    "A change of `authoritative` that a second person must agree to; null if there is none.",
  ),
  display_name: described(z.nullable(z.string()), "Name that people see; null where `name` is shown."),
  swap_reporting: described(SwapReporting, swapReporting),
  silent_after_seconds: described(z.int(), "Seconds without a batch after which the source is stale."),
  snapshot_interval_seconds: described(z.int(), "Seconds between two snapshots that its bridge sends."),
  snapshots_late_since: described(
    z.nullable(Timestamp),
    "Time at which `feed.snapshots_late` reported that no snapshot comes; null while they come or none is expected.",
  ),
  clock_off: described(
    z.nullable(
      z.object({
        since: described(Timestamp, "Time at which the first item with a wrong time was received."),
        reported_at: described(Timestamp, "Time that this item says."),
      }),
    ),
    "Items are dated more than five minutes ahead, or before 2000, and are booked at their receipt; null while they " +
      "are not. It ends with an item whose time is within five minutes of its receipt.",
  ),
  status: described(
    z.enum(["active", "ended"]),
    "Whether the source is `active` or has `ended`; accounts of an ended source take no money until they are linked " +
      "to another one.",
  ),
  paused: described(z.boolean(), "Whether commands wait instead of being handed out."),
  ended_at: described(z.nullable(Timestamp), "Time at which the source ended; null while it is active."),
  expected_next_seq: described(z.string(), "Sequence number expected for the next item."),
  accepted_through: described(
    z.nullable(z.string()),
    "Sequence number up to which all items are settled; null before the first item.",
  ),
  quote_epoch: described(z.int(), "Current epoch of the source's prices; starts at 1."),
  last_batch_at: described(
    z.nullable(Timestamp),
    "Time of the last batch, including empty batches; null before the first batch.",
  ),
  lag_ms: described(z.nullable(z.int()), "Milliseconds since the last batch; null before the first batch."),
  stale: described(
    z.boolean(),
    "Whether the source has been silent for more than `silent_after_seconds`; no decisions are made on its positions " +
      "until it reports again.",
  ),
  ...ownFields,
});

/** Query of `GET /feed/sources`. */
export const ListFeedSourcesQuery = z.strictObject({
  ...pageParameters,
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** A source on the wire. */
export type FeedSourceBody = z.infer<typeof FeedSource>;
/** A new source on the wire. */
export type CreateFeedSource = z.infer<typeof CreateFeedSourceRequest>;
/** Changes of a source on the wire. */
export type UpdateFeedSource = z.infer<typeof UpdateFeedSourceRequest>;
