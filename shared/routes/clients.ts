import { ListAccountsQuery, TradingAccount } from "../schema/account.ts";
import {
  BrokerageClient,
  CreateClientRequest,
  ListClientQueueQuery,
  ListClientsQuery,
  UpdateClientRequest,
} from "../schema/client.ts";
import { page } from "../schema/fields.ts";
import { CreateReviewRequest, ListReviewsQuery, Review } from "../schema/review.ts";
import { ListTradesQuery, Trade } from "../schema/trade.ts";
import { ListClientTransactionsQuery, Transaction } from "../schema/transaction.ts";
import { route } from "./route.ts";

/** `GET /clients` */
export const listClients = route({
  id: "list_clients",
  method: "GET",
  path: "/clients",
  tag: "Clients",
  summary: "List clients",
  description:
    "Newest first. Filter by status, country, tag, email or your own `external_id`; a client is found by the latter " +
    "two as soon as it is created. `search` finds clients by the beginning of a name, an email address, a phone " +
    "number or an account number: an exact `external_id` first, then in the order of the text that was found. A page " +
    "that has more has no link to them, so enter more of the text.",
  file: "clients/list",
  scope: "clients:read",
  grants: ["query:list", "query:state", "query:owner", "query:client", "read"],
  query: ListClientsQuery,
  reply: page(BrokerageClient),
  refusals: ["invalid_cursor"],
});

/** `POST /clients` */
export const createClient = route({
  id: "create_client",
  method: "POST",
  path: "/clients",
  tag: "Clients",
  summary: "Create a client",
  description:
    "Requires an email address and a name; for a corporate client, the name of the company instead. The email " +
    "address must be unique among clients that are not closed, and your `external_id` among all clients.",
  file: "clients/create",
  scope: "clients:write",
  grants: ["put", "put:keys"],
  body: CreateClientRequest,
  reply: BrokerageClient,
  status: 201,
  example: { email: "ana@example.com", first_name: "Ana", last_name: "Silva" },
  refusals: ["email_taken", "external_id_taken", "client_underage"],
  emits: ["client.created"],
});

/** `GET /clients/{id}` */
export const getClient = route({
  id: "get_client",
  method: "GET",
  path: "/clients/{id}",
  tag: "Clients",
  summary: "Get a client",
  description: "Returns the client with its verification status.",
  file: "clients/get",
  scope: "clients:read",
  grants: ["read"],
  reply: BrokerageClient,
});

/** `PATCH /clients/{id}` */
export const updateClient = route({
  id: "update_client",
  method: "PATCH",
  path: "/clients/{id}",
  tag: "Clients",
  summary: "Update a client",
  description:
    "A merge patch (RFC 7396): null removes an optional field. Verifying a client requires the scope " +
    "`clients:verify`, and so does every member of `verification`. A change of the status starts clean: what the " +
    "request does not say of `checks`, `comment` and the rejection is empty. A verification that has expired is " +
    "renewed by the status `verified` with a new `expires_at`, not by a later `expires_at` alone; one that holds is " +
    "renewed by the status `verified` with `verified_at`. After a rejection with `retry_allowed` false only " +
    "`clients:verify` goes on. Each decision leaves a review (`GET /clients/{id}/reviews`), which alone has the " +
    "`internal_comment`.",
  file: "clients/update",
  scope: "clients:write",
  further_scopes: ["clients:verify"],
  grants: ["read", "put", "update", "delete", "check"],
  body: UpdateClientRequest,
  media: "merge_patch",
  reply: BrokerageClient,
  example: { verification_status: "verified" },
  refusals: [
    "illegal_transition",
    "email_taken",
    "external_id_taken",
    "client_underage",
    "client_has_open_accounts",
    "client_closed",
    "insufficient_scope",
  ],
  emits: ["client.verified", "client.updated"],
});

/** `GET /clients/{id}/accounts` */
export const listClientAccounts = route({
  id: "list_client_accounts",
  method: "GET",
  path: "/clients/{id}/accounts",
  tag: "Clients",
  summary: "List the accounts of a client",
  description: "Every account of one client, including closed accounts.",
  file: "clients/list-accounts",
  scope: "accounts:read",
  grants: ["query:list", "query:owner", "read", "query", "read:quotes"],
  query: ListAccountsQuery,
  reply: page(TradingAccount),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /clients/{id}/transactions` */
export const listClientTransactions = route({
  id: "list_client_transactions",
  method: "GET",
  path: "/clients/{id}/transactions",
  tag: "Clients",
  summary: "List the transactions of a client",
  description: "Transactions of every type of all accounts of one client, newest first.",
  file: "clients/list-transactions",
  scope: "transactions:read",
  grants: ["query:client", "read"],
  query: ListClientTransactionsQuery,
  reply: page(Transaction),
  refusals: ["invalid_cursor"],
});

/** `GET /clients/{id}/trades` */
export const listClientTrades = route({
  id: "list_client_trades",
  method: "GET",
  path: "/clients/{id}/trades",
  tag: "Clients",
  summary: "List the trades of a client",
  description:
    "Trades of all accounts of one client, newest first. Sorted by `-close_at`, the list contains closed trades only.",
  file: "clients/list-trades",
  scope: "trading:read",
  grants: ["query:owner", "query:client", "read"],
  query: ListTradesQuery,
  reply: page(Trade),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /clients/queue` */
export const listClientQueue = route({
  id: "list_client_queue",
  method: "GET",
  path: "/clients/queue",
  tag: "Clients",
  summary: "List the clients whose identity waits for a decision",
  description:
    "With `kind=decision` clients whose verification is pending, longest waiting first; with `kind=renewal` those " +
    "whose verification has ended or ends within `within_days`, earliest first. Closed clients are in neither.",
  file: "clients/queue",
  scope: "clients:verify",
  grants: ["query:client", "read"],
  query: ListClientQueueQuery,
  reply: page(BrokerageClient),
  refusals: ["invalid_cursor"],
});

/** `GET /clients/{id}/reviews` */
export const listReviews = route({
  id: "list_reviews",
  method: "GET",
  path: "/clients/{id}/reviews",
  tag: "Clients",
  summary: "List the reviews of a client",
  description:
    "Decisions about the identity and notes of the staff, newest first: who decided what, and why. Decisions require " +
    "the scope `clients:verify`; without it an operator reads the notes alone, and an application nothing.",
  file: "clients/list-reviews",
  scope: "clients:read",
  further_scopes: ["clients:verify"],
  grants: ["query", "read"],
  query: ListReviewsQuery,
  reply: page(Review),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `POST /clients/{id}/reviews` */
export const createReview = route({
  id: "create_review",
  method: "POST",
  path: "/clients/{id}/reviews",
  tag: "Clients",
  summary: "Add a note to a client",
  description:
    "Keeps a note for the staff of the brokerage, which cannot be changed. The client never sees it: no event " +
    "carries it. A decision about the identity leaves its review by itself.",
  file: "clients/create-review",
  scope: "clients:write",
  grants: ["read", "put", "check"],
  body: CreateReviewRequest,
  reply: Review,
  status: 201,
  example: { note: "Called back: will send another document." },
  refusals: ["client_closed"],
});

/** Rows of the client endpoints. */
export const clientRoutes = [
  listClients,
  createClient,
  listClientQueue,
  getClient,
  updateClient,
  listClientAccounts,
  listClientTransactions,
  listClientTrades,
  listReviews,
  createReview,
] as const;
