import {
  CreateFeedSourceRequest,
  FeedSource,
  ListFeedSourcesQuery,
  UpdateFeedSourceRequest,
} from "../schema/feed/source.ts";
import {
  DismissFeedRejectRequest,
  FeedBatch,
  FeedQuoteReceipt,
  FeedQuotes,
  FeedReceipt,
  FeedReject,
  FeedResult,
  ListFeedRejectsQuery,
  RetryFeedRejectRequest,
} from "../schema/feed.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** Events that applying an item may write. */
const itemEvents = [
  "trade.opened",
  "trade.closed",
  "margin.call",
  "margin.recovered",
  "stop.out",
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
  "transaction.unapproved",
  "command.issued",
  "command.settled",
  "account.updated",
] as const;

/** `POST /feed/sources` */
export const createFeedSource = route({
  id: "create_feed_source",
  method: "POST",
  path: "/feed/sources",
  tag: "Feed",
  summary: "Register a feed source",
  description:
    "A source is a trading platform, connected through its bridge. Its name becomes the `source` of the trades and " +
    "orders that it reports; its `platform` determines which accounts its logins refer to. `authoritative` sets who " +
    "closes positions at the stop-out level: the platform by default, or `service`.",
  file: "feed/create-source",
  scope: "feed:write",
  standing: "read",
  grants: ["read", "query:list", "put"],
  body: CreateFeedSourceRequest,
  reply: FeedSource,
  status: 201,
  example: { name: "mt5:live-1", platform: "mt5", authoritative: "platform", first_seq: "918" },
  refusals: ["source_name_taken", "too_many_feed_sources"],
});

/** `GET /feed/sources` */
export const listFeedSources = route({
  id: "list_feed_sources",
  method: "GET",
  path: "/feed/sources",
  tag: "Feed",
  summary: "List feed sources",
  description: "Newest first, with the time at which each was last seen. Ended sources remain in the list.",
  file: "feed/list-sources",
  scope: "feed:read",
  grants: ["read", "query:list", "read:quotes"],
  query: ListFeedSourcesQuery,
  reply: page(FeedSource),
  refusals: ["invalid_cursor"],
});

/** `PATCH /feed/sources/{id}` */
export const updateFeedSource = route({
  id: "update_feed_source",
  method: "PATCH",
  path: "/feed/sources/{id}",
  tag: "Feed",
  summary: "Update a feed source",
  description:
    "A merge patch (RFC 7396). A paused source still sends items and prices; its commands wait. `name` cannot " +
    "change, because trades, orders and prices are stored with it; `display_name` is what people see. The bridge " +
    "sends heartbeats several times within `silent_after_seconds`.",
  file: "feed/update-source",
  scope: "feed:write",
  standing: "read",
  grants: ["read", "read:quotes", "put", "update"],
  body: UpdateFeedSourceRequest,
  media: "merge_patch",
  reply: FeedSource,
  example: { display_name: "MetaTrader 5, live", silent_after_seconds: 90, paused: false },
  refusals: ["source_ended"],
});

/** `DELETE /feed/sources/{id}` */
export const deleteFeedSource = route({
  id: "delete_feed_source",
  method: "DELETE",
  path: "/feed/sources/{id}",
  tag: "Feed",
  summary: "End a feed source",
  description:
    "The source sends nothing more, and its accounts take no money until they are linked to another source or " +
    "unlinked. Refused with `source_busy` while a command of the source has not ended. Returns the source.",
  file: "feed/delete-source",
  scope: "feed:write",
  standing: "read",
  grants: ["read", "read:quotes", "query:state", "put", "update"],
  reply: FeedSource,
  refusals: ["source_busy"],
});

/** `GET /feed/sources/{id}` */
export const getFeedSource = route({
  id: "get_feed_source",
  method: "GET",
  path: "/feed/sources/{id}",
  tag: "Feed",
  summary: "Get a feed source",
  description: "Returns the number of the next item that the source must send, and when it was last seen.",
  file: "feed/get-source",
  scope: "feed:read",
  grants: ["read", "read:quotes"],
  reply: FeedSource,
});

/** `POST /feed/sources/{id}/batches` */
export const sendFeedBatch = route({
  id: "send_feed_batch",
  method: "POST",
  path: "/feed/sources/{id}/batches",
  tag: "Feed",
  summary: "Submit platform events",
  description: `Up to 100 items, numbered without gaps. Each item is applied once: one that was processed before, under
the same number or another one, returns \`duplicate\`. A batch that starts
after the expected number is refused as a whole with \`sequence_gap\`; send the missing items first. An item that
cannot be applied is set aside as \`rejected\` (see the rejects of the source) and does not block later items. An item
that must wait is \`deferred\`: send the items after \`accepted_through\` again. A batch without items is a heartbeat:
send one every 15 seconds. After \`silent_after_seconds\` of the source (60) without a batch it is stale, and no
decision is made on its positions.

A name stands for what it booked: that of a deal is its \`action\` with its \`deal_id\`, so a position may be closed
under the ticket that opened it. An item that comes again is compared with what its name has applied: logins,
positions, symbol, side, lots, price and amounts, numbers by value. Its time, stops and order are not compared, nor is
a member that one of the two leaves out. If it differs, it is \`rejected\` with \`deal_conflict\`, and the reject shows
both; a person retries or dismisses it. A deal that was taken back may come again with another content, and every
content that a name ever applied stays a \`duplicate\`: a history that is sent again books nothing twice. An item under
a number that was processed with another item is \`rejected\` with \`sequence_conflict\`.

Text is cleaned, never refused: control and invisible characters (such as padding with zero bytes) are removed from
identifiers, which are then normalised to NFC; a lone surrogate becomes U+FFFD; a description is cut at 200 characters.

An item is booked at its \`at\`. One that is dated more than five minutes ahead, or before 2000, is booked at its
receipt, with \`reported_at\`, and the opt-in event \`feed.clock_off\` says so once. Amounts with more digits than the
currency are booked rounded half away from zero.

Types of items and their \`data\`:

- \`execution\`: a deal that opened lots (\`action: open\`, \`platform_login\`, \`deal_id\`, \`position_id\`,
  \`symbol\`, \`side\`, \`lots\`, \`price\`, and optional \`order_id\`, \`stop_loss\`, \`take_profit\`,
  \`commission\`, \`swap\`, \`profit\`, \`margin_rate\`) or closed them (\`action: close\`, \`deal_id\`,
  \`position_id\`, \`price\`, and optional \`lots\`, \`profit\`, \`commission\`, \`swap\`, \`reason\`,
  \`remaining_position_id\`: the position that the lots which are left go on under). Amounts in the item take precedence
  over amounts that the service calculates. From a source with \`authoritative: platform\`, a deal without
  \`commission\` is charged none, and a close without \`swap\` only what items reported for the position. A closed
  position may come again with a later opening.
- \`deal_reversal\`: a deal that the platform took back (\`reversal_id\`, \`platform_login\`, \`deal_id\`). The amounts
  that it booked are booked back, and its trade is open again, or closed with the reason \`reversed\`. Of several deals
  of a position, take the last one back first; of a close and an opening with one \`deal_id\`, the close is taken back
  first. A correction that only adds a member, or leaves one out, needs a \`deal_id\` of its own.
- \`order\`: a pending order placed or changed (\`status: pending\`, \`order_id\`, \`platform_login\`, \`type\`,
  \`symbol\`, \`side\`, \`lots\` and its prices) or ended (\`filled\`, \`cancelled\`, \`expired\`, \`rejected\`).
- \`swap\`: \`position_id\`, \`amount\`, \`for_date\`.
- \`position_update\`: \`position_id\` and what changed: \`stop_loss\`, \`take_profit\` (null removes one), \`swap\`
  (the swap so far, of a source with \`swap_reporting: accrued\`).
- \`account_update\`: \`platform_login\` and what changed: \`group\`, \`leverage\`, \`access\` (\`full\`,
  \`close_only\`, \`none\`).
- \`balance_operation\`: \`operation_id\`, \`platform_login\`, \`amount\`, \`kind\` and optional \`reference\`.
  The kind determines the sign of a \`deposit\`, \`withdrawal\`, \`credit_in\` and \`credit_out\`; the amount of an
  \`adjustment\`, \`fee\`, \`commission\`, \`dividend\`, \`swap\` or \`correction\` is signed. It is booked as reported,
  whatever the balance of the account is.
  \`reference\` is the id of the matching transaction: the money is then not booked twice, and a transaction that is
  still open takes over the state of the platform. A transaction that still needs approvals sets the item aside as
  \`approval_required\`: the move that finds enough of them books it. So does money without a reference that an
  approval rule covers, for which a pending transaction is created; from a source with \`authoritative: platform\` it is
  booked, and announced by \`transaction.unapproved\`. If the amount or the account differs from the transaction, it is
  booked separately, with \`related_to\`. Without a reference, money that may belong to a transaction which the platform
  has not reported yet is set aside as \`possible_duplicate\`. Until it is resolved, an amount that it takes is held,
  and an amount that it adds counts only in the equity that decides a stop-out.
- \`symbol\`: a symbol with its terms, in the form of \`GET /symbols/{symbol}\`.`,
  file: "feed/send-batch",
  scope: "feed:write",
  rate: "feed",
  grants: ["read", "query", "put", "update", "delete", "read:quotes", "put:quotes"],
  body: FeedBatch,
  named: true,
  cleaned: true,
  reply: FeedReceipt,
  example: {
    first_seq: "918",
    items: [
      {
        seq: "918",
        type: "execution",
        at: "2026-11-21T06:30:00.120Z",
        data: {
          action: "open",
          platform_login: "50012345",
          deal_id: "D-77",
          position_id: "P-41",
          symbol: "EURUSD",
          side: "buy",
          lots: "1.00",
          price: "1.10010",
          commission: "-3.50",
        },
      },
    ],
  },
  refusals: ["sequence_gap", "source_ended"],
  emits: [...itemEvents, "feed.clock_off"],
});

/** `POST /feed/sources/{id}/quotes` */
export const sendFeedQuotes = route({
  id: "send_feed_quotes",
  method: "POST",
  path: "/feed/sources/{id}/quotes",
  tag: "Feed",
  summary: "Submit prices",
  description: `Up to 200 prices. The last acceptable price of a symbol becomes its quote. Number the prices of a symbol
so that \`seq\` increases. A refused price carries its reason as \`code\`:

- \`old_sequence\`: this source has already sent a price of the symbol with the same or a higher number, even if
  another source has sent prices since.
- \`old_epoch\`, \`unknown_epoch\`: \`epoch\` is not the current epoch of the source. A bridge that restarts and
  numbers from 1 again first calls \`POST /feed/sources/{id}/epochs\`. Without \`epoch\`, the first epoch is assumed.
- \`time_ahead\`: \`time\` is more than 5 seconds ahead of the clock of the service.
- \`superseded\`: the price is more than 5 seconds old, and another source sent a price within the last 5 seconds.
- \`time_too_old\`: the price is more than 60 seconds old, and the current quote is from another source.
- \`price_out_of_bounds\`: the price is above 10,000,000,000, or more than 100 times the first price of the UTC day; for
  a currency pair, more than 20 times or less than a twentieth of it.
- \`crossed\`, \`invalid_price\`, \`symbol_not_found\`.

A price that differs from the previous one by more than \`max_deviation_percent\` of its symbol is \`put_aside\` with
\`deviation_unconfirmed\`. A second price within 10 seconds that deviates no more than that from the first confirms it
and becomes the quote; a price near the previous one discards it. Otherwise the last price to arrive wins. \`ignored\`
with \`overtaken\`: too many concurrent writes of the price of this symbol. Prices do not count as heartbeats.`,
  file: "feed/send-quotes",
  scope: "feed:write",
  rate: "feed_quotes",
  grants: ["read", "read:quotes", "put:quotes"],
  body: FeedQuotes,
  named: true,
  reply: FeedQuoteReceipt,
  example: {
    quotes: [{ symbol: "EURUSD", bid: "1.10000", ask: "1.10010", time: "2026-11-21T06:30:00.120Z", seq: "771" }],
  },
  refusals: ["source_ended"],
});

/** `POST /feed/sources/{id}/epochs` */
export const beginFeedEpoch = route({
  id: "begin_feed_epoch",
  method: "POST",
  path: "/feed/sources/{id}/epochs",
  tag: "Feed",
  summary: "Start a new price epoch",
  description:
    "For a bridge that has restarted and does not know the last numbers of its prices. The response contains the " +
    "new epoch as `quote_epoch`; prices that are sent with it may be numbered from 1 again. Prices of earlier epochs " +
    "are refused from then on, so a leftover process cannot bring back old prices. Items are not affected: their " +
    "numbers continue.",
  file: "feed/begin-epoch",
  scope: "feed:write",
  grants: ["read", "put", "update", "read:quotes"],
  reply: FeedSource,
  refusals: ["source_ended"],
});

/** `GET /feed/sources/{id}/rejects` */
export const listFeedRejects = route({
  id: "list_feed_rejects",
  method: "GET",
  path: "/feed/sources/{id}/rejects",
  tag: "Feed",
  summary: "List rejected items",
  description:
    "Rejected items as received, with the reason of the last attempt. Oldest first. Open rejects only, unless " +
    "`status` names another state. A page examines a limited number of rejects for `created_from` and `created_to`.",
  file: "feed/list-rejects",
  scope: "feed:read",
  grants: ["read", "query"],
  query: ListFeedRejectsQuery,
  reply: page(FeedReject),
  refusals: ["invalid_cursor"],
});

/** `POST /feed/sources/{id}/rejects/{seq}/retry` */
export const retryFeedReject = route({
  id: "retry_feed_reject",
  method: "POST",
  path: "/feed/sources/{id}/rejects/{seq}/retry",
  tag: "Feed",
  summary: "Retry a rejected item",
  description:
    "Applies the item as it was received, for example once a missing account or symbol exists. An item that was " +
    "applied in the meantime returns `duplicate`. To resolve a `possible_duplicate`, pass `transaction_id`, the " +
    "transaction that the money belongs to, `command_id`, the command that it carries out, or `confirm_new` if the " +
    "money is new. If the transaction of an `approval_required` has ended, `confirm_new` creates a pending one for " +
    "the money, and `take_back` asks the platform to take it back. A correction that was made on the platform by " +
    "hand, in place of the command of a drift, takes the `command_id` too, also after a snapshot resolved the drift " +
    "as `agreed`: nothing is booked for it. " +
    "Without any of them, the item is set aside again for as long as it may belong to one of them.",
  file: "feed/retry-reject",
  scope: "transactions:settle",
  rate: "feed",
  standing: "read",
  grants: ["read", "query", "put", "update", "delete", "read:quotes"],
  named: true,
  body: RetryFeedRejectRequest,
  body_optional: true,
  reply: FeedResult,
  example: { confirm_new: true },
  emits: itemEvents,
});

/** `POST /feed/sources/{id}/rejects/{seq}/dismiss` */
export const dismissFeedReject = route({
  id: "dismiss_feed_reject",
  method: "POST",
  path: "/feed/sources/{id}/rejects/{seq}/dismiss",
  tag: "Feed",
  summary: "Dismiss a rejected item",
  description:
    "Resolves a rejected item that is never to be applied, for example a `deal_conflict` whose other content is the " +
    "right one. It no longer explains a drift. Refused with `illegal_transition` for a reject that is resolved, and " +
    "for money that its account holds or counts (`possible_duplicate`): retry it with what it is.",
  file: "feed/dismiss-reject",
  scope: "transactions:settle",
  standing: "read",
  grants: ["read", "put", "update"],
  body: DismissFeedRejectRequest,
  reply: FeedReject,
  example: { reason: { code: "wrong_price", message: "The platform confirmed the deal that is booked." } },
  refusals: ["illegal_transition"],
});

/** Rows of the feed. */
export const feedRoutes = [
  createFeedSource,
  listFeedSources,
  getFeedSource,
  updateFeedSource,
  deleteFeedSource,
  sendFeedBatch,
  sendFeedQuotes,
  beginFeedEpoch,
  listFeedRejects,
  retryFeedReject,
  dismissFeedReject,
] as const;
