import type { Scope } from "../schema/scope.ts";
import type { JsonObject } from "./document.ts";

/** Descriptions of the scopes. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  "clients:read": "Read clients.",
  "clients:write": "Create and update clients.",
  "clients:verify": "Approve and reject the verification of clients.",
  "accounts:read": "Read accounts and their ledgers.",
  "accounts:write": "Create and update accounts.",
  "transactions:read": "Read deposits and withdrawals.",
  "transactions:write": "Create and cancel deposits and withdrawals.",
  "transactions:approve": "Approve and reject deposits and withdrawals.",
  "transactions:settle": "Complete deposits and withdrawals.",
  "trading:read": "Read trades, positions, orders and symbols.",
  "quotes:read": "Read quotes.",
  "webhooks:read": "Read webhook endpoints and deliveries.",
  "webhooks:write": "Create, change and delete webhook endpoints.",
  "events:read": "Read events.",
  "reports:read": "Reserved for reports; no operation requires it yet.",
  "audit:read": "Reserved for an audit log; no operation requires it yet.",
  admin: "Administer applications and settings.",
  "feed:write": "Submit prices and trades of a trading platform.",
  sandbox: "Use operations that exist in the sandbox only.",
};

/** Descriptions of the tags. */
export const tagTexts: Readonly<Record<string, string>> = {
  OAuth: "Tokens for your application (RFC 6749). Keep the client secret on a server, never in a browser or an app.",
  Applications: "Applications that may call this API, their scopes and allowed IP addresses.",
  Clients: "The people and companies that own trading accounts, and their verification.",
  Accounts: "Trading accounts of clients, with their balances and ledgers.",
  Transactions: "Deposits and withdrawals, from request to booking.",
  Trading: "Trades, open positions and orders. They originate on a trading platform and are read-only here.",
  Market: "Tradable symbols, quotes and conversion rates.",
  Feed: "Input from trading platforms: trades, orders, prices and symbols, numbered so that each is applied once.",
  Events: "Events of the brokerage, numbered in order. Read them here or receive them by webhook.",
  Webhooks: "Webhook endpoints, and every attempt to deliver an event.",
  Sandbox: "Operations of the sandbox only: control the market and simulate external providers.",
  Service: "The calling application, the policies of the brokerage and the service itself.",
};

/** Descriptions of components; members are described in `shared/schema/`. */
const componentTexts: Readonly<Record<string, string>> = {
  AccountBalance: "Balance and margin figures of an account.",
  Actor: "The application or system that caused a change.",
  ApiApplication: "An application that may call this API.",
  BrokerageClient: "A person or company that owns trading accounts.",
  BrokerageEvent: "A change of a resource; immutable. Webhooks carry it as `GET /events/{id}` returns it.",
  Currency: "Currency code (ISO 4217) of a supported account currency.",
  EventType: "Event type. New types may be added within a version.",
  DeletedWebhookEndpoint: "Confirmation that a webhook endpoint was deleted.",
  EventKind: "An event type, with its schema and a sample.",
  EventTypeCatalogue: "All event types.",
  KeySet: "Public keys for verifying access tokens (RFC 7517).",
  ConversionRate: "A current conversion rate, with its conversion path.",
  ConversionRates: "Current conversion rates.",
  FeedReceipt: "Result of a batch, item by item.",
  FeedReject: "An item that could not be applied.",
  FeedResult: "Result of an item.",
  FeedSource: "A connected trading platform.",
  LedgerEntry: "A posting on an account; immutable.",
  LedgerKind: "Type of a ledger entry. New types may be added within a version.",
  Links: "Links to the resource itself and to related resources, by relation.",
  Metadata: "Your own keys and values, stored with the resource.",
  MetadataPatch: "Your own keys and values; null removes a key, other keys are unchanged.",
  Quote: "The latest price of a symbol, with its age.",
  QuoteSet: "The latest prices of several symbols.",
  Replay: "Result of a replay.",
  CloseSandboxTrade: "Volume of a trade to close.",
  DriveSandboxAccount: "Target margin level of an account.",
  SandboxDrive: "Result of moving an account to a margin level.",
  SandboxEffects: "Effects of price changes.",
  SandboxEvent: "An event that the request caused.",
  OpenSandboxTrade: "A trade to open.",
  PlaceSandboxOrder: "A pending order to place.",
  SandboxPrice: "A price in the sandbox market.",
  SandboxPriceChange: "A price to set.",
  SandboxReset: "A reset of the sandbox, running or completed.",
  SandboxPrices: "Result of setting prices.",
  Settings: "Policies of the brokerage.",
  SymbolMargin: "Margin required to open a volume of a symbol.",
  TradingAccount: "A trading account of a client. Amounts are in its currency.",
  TradingSymbol: "A tradable instrument: a currency pair, a metal, an index.",
  Transaction: "A deposit, a withdrawal or another movement of money.",
  TransactionStatus: "Transaction status.",
  AccountMetrics: "Balance and margin figures of several accounts at the same prices.",
  WatchedAccount: "An account with open positions, with its margin level.",
  Trade: "A trade. Closing a part of it creates a separate closed trade.",
  Position: "An open position, valued at the latest price.",
  Order: "A pending, filled or ended order.",
  IssuedApiApplication: "An application with its new secret, which is returned only once.",
  IssuedWebhookEndpoint: "A webhook endpoint with its new secret, which is returned only once.",
};

/** A component schema with its description, if it has one. */
export function withText(component: string, schema: JsonObject): JsonObject {
  const text = componentTexts[component];
  return text === undefined ? schema : { ...schema, description: text };
}
