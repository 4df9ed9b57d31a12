import { Drift, ListDriftQuery, ResolveDriftRequest } from "../schema/feed/drift.ts";
import { FeedSnapshot, ListSnapshotsQuery, SnapshotPart, SnapshotPartRequest } from "../schema/feed/snapshot.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** `POST /feed/sources/{id}/snapshots` */
export const sendSnapshot = route({
  id: "send_feed_snapshot",
  method: "POST",
  path: "/feed/sources/{id}/snapshots",
  tag: "Drift",
  summary: "Submit a part of a snapshot",
  description: `Compares accounts of the platform with those of this service, at the number of an item: without what
later items did. Send a snapshot in parts of at most 256 KiB, in any order; a part that is sent again returns the same
result. \`as_of_seq\` is the number of the last item that the snapshot includes; \`snapshot_ahead\` if it has not been
received.

- Money of a command is compared once it is booked. What was acknowledged and no item has reported yet is left out until
  a snapshot that is taken five minutes later.
- Positions that have changed since are left out, and the account counts as \`moved_on\`.
- A difference becomes a drift (\`GET /drift\`). Nothing is corrected automatically. A later snapshot without the
  difference resolves it as \`agreed\`.
- A snapshot that is older than the newest one, by \`as_of_seq\` and then \`taken_at\`, is \`superseded\`.
- Once all parts of a \`complete\` snapshot have arrived, linked accounts that it does not contain are
  \`account_missing\`.`,
  file: "feed/send-snapshot",
  scope: "feed:write",
  rate: "feed",
  grants: ["read", "query", "query:client", "put", "update", "delete"],
  body: SnapshotPartRequest,
  named: true,
  cleaned: true,
  reply: SnapshotPart,
  example: {
    snapshot_id: "S-1",
    taken_at: "2026-11-21T06:30:00.000Z",
    as_of_seq: "0",
    part: 1,
    parts: 1,
    complete: false,
    accounts: [
      {
        platform_login: "50012345",
        balance: "1000.00",
        credit: "0.00",
        positions: [{ position_id: "P-41", symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" }],
      },
    ],
  },
  refusals: ["snapshot_ahead", "snapshot_conflict", "source_ended"],
  emits: ["drift.detected", "drift.resolved", "command.settled"],
});

/** `GET /feed/sources/{id}/snapshots` */
export const listSnapshots = route({
  id: "list_feed_snapshots",
  method: "GET",
  path: "/feed/sources/{id}/snapshots",
  tag: "Drift",
  summary: "List snapshots",
  description:
    "Snapshots of the last 30 days with what their parts came to. By default, newest items first. A page examines a " +
    "limited number of snapshots for `created_from` and `created_to`.",
  file: "feed/list-snapshots",
  scope: "feed:read",
  grants: ["read", "query", "query:list"],
  query: ListSnapshotsQuery,
  reply: page(FeedSnapshot),
  refusals: ["invalid_cursor"],
});

/** `GET /feed/sources/{id}/snapshots/{snapshot_id}` */
export const getSnapshot = route({
  id: "get_feed_snapshot",
  method: "GET",
  path: "/feed/sources/{id}/snapshots/{snapshot_id}",
  tag: "Drift",
  summary: "Get a snapshot",
  description: "Returns how many accounts were compared, equal, moved on or drifting.",
  file: "feed/get-snapshot",
  scope: "feed:read",
  grants: ["query"],
  reply: FeedSnapshot,
});

/** `GET /drift` */
export const listDrift = route({
  id: "list_drift",
  method: "GET",
  path: "/drift",
  tag: "Drift",
  summary: "List drifts",
  description: "Differences between this service and trading platforms, newest first.",
  file: "feed/list-drift",
  scope: "transactions:read",
  grants: ["read", "query:list"],
  query: ListDriftQuery,
  reply: page(Drift),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /drift/{id}` */
export const getDrift = route({
  id: "get_drift",
  method: "GET",
  path: "/drift/{id}",
  tag: "Drift",
  summary: "Get a drift",
  description: "Returns both sides of the difference, what may be the cause, and how it was resolved.",
  file: "feed/get-drift",
  scope: "transactions:read",
  grants: ["read"],
  reply: Drift,
});

/** `POST /drift/{id}/resolve` */
export const resolveDrift = route({
  id: "resolve_drift",
  method: "POST",
  path: "/drift/{id}/resolve",
  tag: "Drift",
  summary: "Resolve a drift",
  description: `\`accept\` keeps the difference; only a change of it is reported again. \`adopt_platform\` books a
difference here and changes nothing on the platform: that of a balance as an adjustment, that of credit as
\`credit_in\` without an end or \`credit_out\` of the lots in their order, that of a position as trades without money.
The first request proposes it, the same request of another application or operator approves it: one with a role of the
approval rule, where one covers the amount.
\`command_platform\` books nothing here: it issues a command that makes the balance of a linked account on the
platform the one of this service. It is approved likewise if the brokerage requires four eyes. Both are refused with
\`drift_changed\` unless the newest snapshot found the difference, the account has not changed since, no item of it is
set aside and all of its commands have ended; this is checked again at the approval.

- The drift stays open with its \`command_id\`, and the next snapshot that includes the operation resolves it as
  \`agreed\`. A command that is waiting is cancelled if the drift is resolved otherwise, or if a snapshot finds another
  amount; \`command_outstanding\` while it may still move money. An operation without a reference that was made by hand
  in place of the command is set aside; retry it with the \`command_id\`, before or after the drift is resolved.

- A position that only the platform has is opened at its \`open_price\` and under its \`position_id\`, so that later
  deals find it. One that only this service has is closed at its own opening price.
- An \`account_unknown\` is adopted with an account of this service, \`account_id\`, that is not linked and has nothing.
  It is linked, and the balance, the credit and the positions of the platform are booked. More than 12 positions are
  opened in steps, which can go on after the answer: until the last one items of the account are \`deferred\`, and
  requests that change it are answered with 503. Items of the account that were set aside are then retried in their
  order; those that the snapshot includes are resolved as \`in_baseline\`.
- With other lots or another direction the position here is closed and that of the platform is opened.`,
  file: "feed/resolve-drift",
  scope: "transactions:settle",
  standing: "read",
  grants: ["read", "query", "put", "update", "delete", "read:quotes"],
  body: ResolveDriftRequest,
  reply: Drift,
  example: { action: "accept", reason: { code: "known_difference", message: "Opened before the link." } },
  refusals: [
    "illegal_transition",
    "four_eyes_required",
    "drift_changed",
    "command_outstanding",
    "source_ended",
    "account_closed",
    "amount_too_large",
    "insufficient_credit",
    "symbol_not_found",
    "invalid_price",
    "too_many_positions",
    "exposure_too_large",
    "no_conversion_path",
    "no_quote",
    "account_not_found",
    "account_not_empty",
    "platform_login_taken",
    "amount_precision",
  ],
  emits: [
    "drift.resolved",
    "transaction.created",
    "transaction.completed",
    "transaction.updated",
    "trade.opened",
    "trade.closed",
    "account.updated",
    "command.issued",
    "command.settled",
    "stop.out",
    "margin.call",
    "margin.recovered",
  ],
});

/** Rows of snapshots and drifts. */
export const driftRoutes = [sendSnapshot, listSnapshots, getSnapshot, listDrift, getDrift, resolveDrift] as const;
