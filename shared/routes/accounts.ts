import {
  CreateAccountRequest,
  LedgerEntry,
  ListAccountsQuery,
  ListLedgerQuery,
  TradingAccount,
} from "../schema/account.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** `GET /accounts` */
export const listAccounts = route({
  id: "list_accounts",
  method: "GET",
  path: "/accounts",
  tag: "Accounts",
  summary: "List accounts",
  file: "accounts/list",
  auth: "token",
  scope: "accounts:read",
  rate: "standard",
  grants: ["query:list", "read"],
  query: ListAccountsQuery,
  reply: page(TradingAccount),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `POST /accounts` */
export const createAccount = route({
  id: "create_account",
  method: "POST",
  path: "/accounts",
  tag: "Accounts",
  summary: "Create an account",
  file: "accounts/create",
  auth: "token",
  scope: "accounts:write",
  rate: "standard",
  grants: ["read", "put", "update"],
  body: CreateAccountRequest,
  media: "json",
  reply: TradingAccount,
  status: 201,
  example: { client_id: "cli_01JD0000000000000000000001" },
  refusals: [
    "client_not_found",
    "client_closed",
    "client_suspended",
    "number_taken",
    "platform_login_taken",
    "leverage_not_allowed",
    "too_many_accounts",
  ],
  emits: ["account.created"],
  stages: ["sandbox", "production"],
});

/** `GET /accounts/{id}` */
export const getAccount = route({
  id: "get_account",
  method: "GET",
  path: "/accounts/{id}",
  tag: "Accounts",
  summary: "Get one account",
  file: "accounts/get",
  auth: "token",
  scope: "accounts:read",
  rate: "standard",
  grants: ["read"],
  reply: TradingAccount,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `GET /accounts/{id}/ledger` */
export const listLedger = route({
  id: "list_ledger",
  method: "GET",
  path: "/accounts/{id}/ledger",
  tag: "Accounts",
  summary: "List the ledger entries of an account",
  file: "accounts/list-ledger",
  auth: "token",
  scope: "accounts:read",
  rate: "standard",
  grants: ["query", "read"],
  query: ListLedgerQuery,
  reply: page(LedgerEntry),
  status: 200,
  refusals: ["invalid_cursor"],
  emits: [],
  stages: ["sandbox", "production"],
});

/** Rows of the account endpoints. */
export const accountRoutes = [listAccounts, createAccount, getAccount, listLedger] as const;
