import {
  CreateFeedSourceRequest,
  FeedBatch,
  FeedQuoteReceipt,
  FeedQuotes,
  FeedReceipt,
  FeedReject,
  FeedResult,
  FeedSource,
  ListFeedRejectsQuery,
  RetryFeedRejectRequest,
} from "../schema/feed.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** What applying an item may announce. */
const itemEvents = [
  "trade.opened",
  "trade.closed",
  "margin.call",
  "margin.recovered",
  "stop.out",
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
] as const;

/** `POST /feed/sources` */
export const createFeedSource = route({
  id: "create_feed_source",
  method: "POST",
  path: "/feed/sources",
  tag: "Feed",
  summary: "Register a source",
  description:
    "A trading platform behind its bridge. Its name is the `source` of the trades and orders that it brings, and its " +
    "platform tells which accounts its logins mean. `authoritative` says who closes positions at the stop-out level: " +
    "the platform, unless the request says `service`.",
  file: "feed/create-source",
  scope: "feed:write",
  grants: ["read", "query:list", "put"],
  body: CreateFeedSourceRequest,
  reply: FeedSource,
  status: 201,
  example: { name: "mt5:live-1", platform: "mt5", authoritative: "platform", first_seq: "918" },
  refusals: ["source_name_taken", "too_many_feed_sources"],
});

/** `GET /feed/sources/{id}` */
export const getFeedSource = route({
  id: "get_feed_source",
  method: "GET",
  path: "/feed/sources/{id}",
  tag: "Feed",
  summary: "Get one source",
  description: "Which item it is to send next, and when it was last heard of.",
  file: "feed/get-source",
  scope: "feed:write",
  grants: ["read", "read:quotes"],
  reply: FeedSource,
});

/** `POST /feed/sources/{id}/batches` */
export const sendFeedBatch = route({
  id: "send_feed_batch",
  method: "POST",
  path: "/feed/sources/{id}/batches",
  tag: "Feed",
  summary: "Send what happened on a platform",
  description: `Up to 100 items, numbered without a gap. Each is applied once: a number that was settled before, and a
deal, order, swap or operation that was applied under another number, answers \`duplicate\`. A batch that begins after
the expected number is refused as a whole with \`sequence_gap\`; send what is missing first. An item that cannot be
applied is put aside (\`rejected\`, see the rejects of the source) and holds up nothing. One that has to wait is
\`deferred\`: send the items after \`accepted_through\` again. A batch without items is a sign of life: send one every
15 seconds. After 60 seconds without one the source is stale, and nothing is decided on its positions.

Text is cleaned and never refused: identifiers lose control and invisible characters (such as the zero bytes that pad
them) and are normalised to NFC, half a surrogate pair becomes U+FFFD, and a description is cut at 200 characters.

Types of items and their \`data\`:

- \`execution\`: a deal that opened lots (\`action: open\`, \`platform_login\`, \`deal_id\`, \`position_id\`,
  \`symbol\`, \`side\`, \`lots\`, \`price\`, and optional \`order_id\`, \`stop_loss\`, \`take_profit\`,
  \`commission\`, \`swap\`, \`profit\`, \`margin_rate\`) or closed them (\`action: close\`, \`deal_id\`,
  \`position_id\`, \`price\`, and optional \`lots\`, \`profit\`, \`commission\`, \`swap\`, \`reason\`). The
  money that it names wins over our own.
- \`order\`: a pending order placed or changed (\`status: pending\`, \`order_id\`, \`platform_login\`, \`type\`,
  \`symbol\`, \`side\`, \`lots\` and its prices) or ended (\`filled\`, \`cancelled\`, \`expired\`, \`rejected\`).
- \`swap\`: \`position_id\`, \`amount\`, \`for_date\`.
- \`balance_operation\`: \`operation_id\`, \`platform_login\`, \`amount\`, \`kind\` and optional \`reference\`.
  The kind gives the sign of a \`deposit\` and a \`withdrawal\`; an \`adjustment\`, \`fee\`, \`commission\`,
  \`dividend\`, \`swap\` or \`correction\` has its own. It is booked as it happened: neither a gate nor the money of
  the account refuses it.
  \`reference\` is the id of the transaction whose money it is: then nothing is booked twice, and a transaction that is
  still open follows the platform. An amount or account that is not that of the transaction is booked beside it, with
  \`related_to\`. Without a reference, money that could be that of a transaction which the platform has not reported yet
  is put aside as \`possible_duplicate\`.
- \`symbol\`: a symbol with its terms, as \`GET /symbols/{symbol}\` shows them.`,
  file: "feed/send-batch",
  scope: "feed:write",
  rate: "feed",
  grants: ["read", "query", "put", "update", "delete", "read:quotes", "put:quotes"],
  computes: true,
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
  refusals: ["sequence_gap"],
  emits: itemEvents,
});

/** `POST /feed/sources/{id}/quotes` */
export const sendFeedQuotes = route({
  id: "send_feed_quotes",
  method: "POST",
  path: "/feed/sources/{id}/quotes",
  tag: "Feed",
  summary: "Send prices",
  description: `Up to 200, of which the last acceptable price of a symbol becomes its quote. Number the prices of a
symbol so that \`seq\` rises. A price is refused with its reason as \`code\`:

- \`old_sequence\`: this source has sent a price of the symbol with the same or a higher number before, whichever
  source has sent prices since.
- \`old_epoch\`, \`unknown_epoch\`: its \`epoch\` is not the current one of the source. A bridge that restarts and
  numbers from 1 again first calls \`POST /feed/sources/{id}/epochs\`. Without \`epoch\` the first one is meant.
- \`time_ahead\`: its \`time\` is more than 5 seconds ahead of the clock of the service.
- \`superseded\`: it is more than 5 seconds old, and a price of another source was received within 5 seconds.
- \`time_too_old\`: it is more than 60 seconds old while the price of another source stands.
- \`price_out_of_bounds\`: it is above 10,000,000,000, more than 100 times the first price of the UTC day, or for a
  currency pair more than 20 times it or less than a twentieth.
- \`crossed\`, \`invalid_price\`, \`symbol_not_found\`.

A price that differs from the one before by more than \`max_deviation_percent\` of its symbol is \`put_aside\` with
\`deviation_unconfirmed\`. A second one within 10 seconds, no further than that from the first, becomes the quote; one
near the price before discards it. Otherwise the price that arrives last wins. \`ignored\` with \`overtaken\`: too
many others wrote the price of this symbol at the same time. Prices are no sign of life of the items.`,
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
});

/** `POST /feed/sources/{id}/epochs` */
export const beginFeedEpoch = route({
  id: "begin_feed_epoch",
  method: "POST",
  path: "/feed/sources/{id}/epochs",
  tag: "Feed",
  summary: "Begin a new epoch of prices",
  description:
    "For a bridge that has restarted and does not know the last numbers of its prices. The answer shows the new " +
    "epoch as `quote_epoch`; prices that are sent with it may be numbered from 1 again. Prices of earlier epochs are " +
    "refused from then on, so a process that was not ended cannot bring old prices back. Items are not concerned: " +
    "their numbers go on.",
  file: "feed/begin-epoch",
  scope: "feed:write",
  grants: ["read", "put", "update", "read:quotes"],
  reply: FeedSource,
});

/** `GET /feed/sources/{id}/rejects` */
export const listFeedRejects = route({
  id: "list_feed_rejects",
  method: "GET",
  path: "/feed/sources/{id}/rejects",
  tag: "Feed",
  summary: "List the items that could not be applied",
  description:
    "As they came, with the reason of the last try, oldest first. Those that still wait unless asked otherwise.",
  file: "feed/list-rejects",
  scope: "feed:write",
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
  summary: "Try an item again",
  description:
    "As it came. What was missing when it was put aside, an account or a symbol, may be there now. One that was " +
    "applied meanwhile answers `duplicate`. Money that is put aside as `possible_duplicate` is decided by " +
    "`transaction_id`, the transaction that it is the money of, or by `confirm_new`: it is new money. Without either " +
    "it is put aside again as long as it could be that of a transaction.",
  file: "feed/retry-reject",
  scope: "feed:write",
  rate: "feed",
  grants: ["read", "query", "put", "update", "delete", "read:quotes"],
  named: true,
  body: RetryFeedRejectRequest,
  body_optional: true,
  reply: FeedResult,
  example: { confirm_new: true },
  emits: itemEvents,
});

/** Rows of the feed. */
export const feedRoutes = [
  createFeedSource,
  getFeedSource,
  sendFeedBatch,
  sendFeedQuotes,
  beginFeedEpoch,
  listFeedRejects,
  retryFeedReject,
] as const;
