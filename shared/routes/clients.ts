import { ListAccountsQuery, TradingAccount } from "../schema/account.ts";
import { BrokerageClient, CreateClientRequest, ListClientsQuery, UpdateClientRequest } from "../schema/client.ts";
import { page } from "../schema/fields.ts";
import { ListTradesQuery, Trade } from "../schema/trade.ts";
import { ListClientTransactionsQuery, Transaction } from "../schema/transaction.ts";
import { route } from "./route.ts";

/** `GET /clients` */
export const listClients = route({
  id: "list_clients",
  method: "GET",
  path: "/clients",
  tag: "Clients",
  summary: "List all clients",
  description: "Newest first. Filter by state, country, tag, email or your own `external_id`.",
  file: "clients/list",
  auth: "token",
  scope: "clients:read",
  rate: "standard",
  grants: ["query:list", "read"],
  query: ListClientsQuery,
  reply: page(BrokerageClient),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `POST /clients` */
export const createClient = route({
  id: "create_client",
  method: "POST",
  path: "/clients",
  tag: "Clients",
  summary: "Create a client",
  description:
    "An email address and a name are enough; a corporate client names its company instead. The address and " +
    "your `external_id` are unique among the clients that are not closed.",
  file: "clients/create",
  auth: "token",
  scope: "clients:write",
  rate: "standard",
  grants: ["put"],
  body: CreateClientRequest,
  media: "json",
  reply: BrokerageClient,
  status: 201,
  example: { email: "ana@example.com", first_name: "Ana", last_name: "Silva" },
  refusals: ["email_taken", "external_id_taken", "client_underage"],
  emits: ["client.created"],
  stages: ["sandbox", "production"],
});

/** `GET /clients/{id}` */
export const getClient = route({
  id: "get_client",
  method: "GET",
  path: "/clients/{id}",
  tag: "Clients",
  summary: "Get one client",
  description: "Reads the client as it is now, its verification included.",
  file: "clients/get",
  auth: "token",
  scope: "clients:read",
  rate: "standard",
  grants: ["read"],
  reply: BrokerageClient,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `PATCH /clients/{id}` */
export const updateClient = route({
  id: "update_client",
  method: "PATCH",
  path: "/clients/{id}",
  tag: "Clients",
  summary: "Update a client",
  description: "A merge patch (RFC 7396): null removes an optional field. Verifying needs the scope clients:verify.",
  file: "clients/update",
  auth: "token",
  scope: "clients:write",
  further_scopes: ["clients:verify"],
  rate: "standard",
  grants: ["read", "put", "update", "delete"],
  body: UpdateClientRequest,
  media: "merge_patch",
  reply: BrokerageClient,
  status: 200,
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
  stages: ["sandbox", "production"],
});

/** `GET /clients/{id}/accounts` */
export const listClientAccounts = route({
  id: "list_client_accounts",
  method: "GET",
  path: "/clients/{id}/accounts",
  tag: "Clients",
  summary: "List the accounts of a client",
  description: "Every account of one client, the closed ones included.",
  file: "clients/list-accounts",
  auth: "token",
  scope: "accounts:read",
  rate: "standard",
  grants: ["query:owner", "read", "query", "read:quotes"],
  query: ListAccountsQuery,
  reply: page(TradingAccount),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `GET /clients/{id}/transactions` */
export const listClientTransactions = route({
  id: "list_client_transactions",
  method: "GET",
  path: "/clients/{id}/transactions",
  tag: "Clients",
  summary: "List the transactions of a client",
  description: "Deposits and withdrawals of all accounts of one client, newest first.",
  file: "clients/list-transactions",
  auth: "token",
  scope: "transactions:read",
  rate: "standard",
  grants: ["query:client", "read"],
  query: ListClientTransactionsQuery,
  reply: page(Transaction),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `GET /clients/{id}/trades` */
export const listClientTrades = route({
  id: "list_client_trades",
  method: "GET",
  path: "/clients/{id}/trades",
  tag: "Clients",
  summary: "List the trades of a client",
  description: "Trades of all accounts of one client, newest first. By `-close_at` it lists closed trades only.",
  file: "clients/list-trades",
  auth: "token",
  scope: "trading:read",
  rate: "standard",
  grants: ["query:owner", "query:client", "read"],
  query: ListTradesQuery,
  reply: page(Trade),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** Rows of the client endpoints. */
export const clientRoutes = [
  listClients,
  createClient,
  getClient,
  updateClient,
  listClientAccounts,
  listClientTransactions,
  listClientTrades,
] as const;
