import { limits } from "../limits.ts";
import type { Scope } from "../schema/scope.ts";
import type { JsonObject } from "./document.ts";
import { plainName } from "./schemas.ts";

/** Descriptions of the scopes. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  "clients:read": "Read clients.",
  "clients:write": "Create and update clients.",
  "clients:verify": "Approve and reject the verification of clients.",
  "accounts:read": "Read accounts and their ledgers.",
  "accounts:write": "Open, enable and disable accounts, and change their names and metadata.",
  "accounts:terms":
    "Set the terms of accounts: leverage, levels, stop-out, modes, group, swap, protection and the link to a platform.",
  "transactions:read": "Read transactions and drifts.",
  "transactions:write":
    "Create and cancel transactions; completes transfers between accounts of one client, and nothing else.",
  "transactions:approve": "Approve and reject transactions.",
  "transactions:settle": "Complete transactions, resolve drifts and requeue commands.",
  "trading:read": "Read trades, positions, orders and symbols.",
  "quotes:read": "Read quotes.",
  "webhooks:read": "Read webhook endpoints and deliveries.",
  "webhooks:write": "Create, change and delete webhook endpoints.",
  "events:read": "Read events.",
  "reports:read": "Read reports.",
  "reports:write": "Start, cancel and download exports, with the scopes that read their rows.",
  "audit:read": "Read the audit log.",
  "settings:read": "Read the settings.",
  "settings:write": "Change the settings.",
  "operators:write": "Read, invite, change and remove operators.",
  "applications:write": "Read, create, change and revoke applications, which hold no scope that the caller lacks.",
  "feed:read": "Read feed sources with their rejects, snapshots and commands.",
  "feed:write": "Submit prices, trades and money of a trading platform, which are booked as it reports them.",
  sandbox: "Use operations that exist in the sandbox only.",
};

/** Descriptions of the tags. */
export const tagTexts: Readonly<Record<string, string>> = {
  OAuth: "Tokens for your application (RFC 6749). Keep the client secret on a server, never in a browser or an app.",
  Applications: "Applications that may call this API, their scopes and allowed IP addresses.",
  Operators: "People of the brokerage who sign in, and their roles.",
  Clients: "The people and companies that own trading accounts, and their verification.",
  Accounts: "Trading accounts of clients, with their balances and ledgers.",
  Transactions: "Deposits, withdrawals, transfers, credits and adjustments, from request to booking.",
  Trading: "Trades, open positions and orders. They originate on a trading platform and are read-only here.",
  Market: "Tradable symbols, quotes and conversion rates.",
  Feed: [
    "Input from trading platforms: trades, orders, prices and symbols, numbered so that each is applied once.",
    "The trading platform moves the money of an account with a `source_id`. A deposit that is completed, a " +
      "withdrawal that is processed and a return become commands; the transaction is `processing` until the " +
      "platform has moved the money. The bridge of the source takes commands (`POST " +
      "/feed/sources/{id}/commands/take`, always with an `Idempotency-Key`), carries each out before its " +
      "`start_before` with the id of the command as comment, and acknowledges it. Money is booked once, whether the " +
      "acknowledgement or the item with that `reference` arrives first. If neither arrives, `outcome` is `unknown`: " +
      "nothing is sent again until the bridge has looked for the operation and a person decides. The opt-in events " +
      "`command.issued` and `command.settled` say when there is something to take and when it has ended.",
    "An item is never an approval. One that names a transaction which still needs some is set aside " +
      "(`approval_required`), issues no command, and is booked by the move that finds enough approvals. So is money " +
      "without a reference that an approval rule covers, unless the source is `authoritative: platform`: there it is " +
      "booked and announced. `GET /transactions/queue` shows what waits, and what people must settle.",
    "Where the source is `authoritative: service`, a stop-out of such an account is a command too. `liquidate` " +
      "names the position, the lots to close and `lots_before`: the bridge closes nothing if the position has other " +
      "lots. It waits for a minute at most and is taken before money. Nothing is booked by it: the deals that the " +
      "feed reports close the positions, at the platform's prices. Meanwhile the account shows `liquidation: " +
      "requested`, and one `stop.out` ends the run.",
    "If its last position then closes with a loss beyond the money of a protected account, the correction is " +
      "booked here at once, and a command asks the platform for the same amount; so are the credit that paid a " +
      "loss, and what a payout that fails later repays. Nothing is booked for these commands (`leg` is null). If " +
      "the platform refuses one, the alarm `money-needs-attention` says so, and the next snapshot shows the drift.",
    "`leverage`, `group_id` and `trading_mode` of an account with a `source_id` change by command too " +
      "(`set_leverage`, `set_group`, `set_account_access`). `PATCH /accounts/{id}` shows each requested value in " +
      "`pending`, and the account changes once the platform has changed it: by the acknowledgement, or by an " +
      "`account_update` with the same value. An account that is disabled is so at once, and its platform is asked " +
      "for no access.",
  ].join("\n\n"),
  Drift: [
    "Comparison with trading platforms: snapshots of their accounts, and the differences that were found.",
    "The bridge also sends snapshots of the platform's accounts (`POST /feed/sources/{id}/snapshots`). They are " +
      "compared with those of this service at the number of the last item that they include. A difference is a " +
      "drift, with what may be its cause, and is never repaired automatically: `POST /drift/{id}/resolve` accepts " +
      "it, books the balance, the credit, the position or a whole account of the platform once a second application " +
      "or operator agrees (where an approval rule covers it, an operator with a role of the rule), or commands the " +
      "platform to book the difference of a balance (`command_platform`), which the next snapshot confirms. " +
      "Alarms report open drifts and accounts that could not be compared for a day. The " +
      "opt-in events `feed.stale` and `feed.recovered` say when a source has been silent for `silent_after_seconds` " +
      "(60) and when it is heard of again. `feed.snapshots_late` says that a source with a " +
      "`snapshot_interval_seconds` of its own has sent no snapshot for three intervals, and " +
      "`feed.snapshots_resumed` that one has come.",
  ].join("\n\n"),
  Events: "Events of the brokerage, numbered in order. Read them here or receive them by webhook.",
  Audit: "What applications and operators asked for: entries that are linked by hashes, so that a change is found.",
  Reports: "Sums over the money of the brokerage, and what it used of the service.",
  Webhooks: [
    "Webhook endpoints, and every attempt to deliver an event.",
    `Respond to a delivery with any 2xx status within ${limits.webhooks.attempt_timeout_ms / 1000} seconds and ` +
      "process the event afterwards. Verify one of the two signatures before you trust the content. Deliveries may " +
      "arrive more than once and in any order: detect duplicates by `webhook-id`. A failed attempt is retried after " +
      "1 minute, 5 minutes, 30 minutes, 2 hours and 24 hours.",
  ].join("\n\n"),
  Stream: "Tickets for the WebSocket stream, which sends events, accounts, quotes and commands as they change.",
  Sandbox: "Operations of the sandbox only: control the market and simulate external providers.",
  Service: "The calling application, the policies of the brokerage and the service itself.",
};

/** Descriptions of components; members are described in `shared/schema/`. */
const componentTexts: Readonly<Record<string, string>> = {
  ApprovalRule: "Which transactions need approval, and by whom.",
  BookDifference: "A place where two books of a brokerage do not agree.",
  MoneyReport: "Deposits and withdrawals by the day on which they were settled.",
  ClosingBalances: "Balances of the accounts at the ends of closed days, with what the brokerage owes its clients.",
  IncomeReport: "Income of closed days by the control accounts.",
  Usage: "Requests, events, deliveries and the stream by day and caller, with their cost at list prices.",
  CreateJobRequest: "An export to start.",
  Job: "An export of all rows of one kind, as files.",
  JobFile: "A file of an export.",
  JobLinks: "Links to the files of an export.",
  JobParameters: "Parameters of an export, those of all types together; each type has its own.",
  JobStatus: "Status of a job.",
  JobType: "Kind of rows that a job exports.",
  Reconciliation: "A comparison of the books of a brokerage.",
  ReconciliationReport: "The latest comparisons of the books of a brokerage.",
  ProposedApprovalRules: "Approval rules that a second owner must accept.",
  ProposedFourEyes: "A change of `four_eyes` that a second owner must accept.",
  ProposedOperatorChange: "A change of an owner that a second owner must accept.",
  AccountType: "Whether an account trades with money or with play money.",
  AccountBalance: "Balance and margin figures of an account.",
  AccountBalanceDetails: "Balance and margin figures of an account, with the parts of its credit.",
  Actor: "The application, operator or system that caused a change.",
  ApiApplication: "An application that may call this API.",
  AuditEntry: "A command of an application or operator; immutable.",
  EndedOperator: "An operator who has lost rights, in its event: without name and email address.",
  KnownApplication: "An application whose secret an operator knows.",
  OpenProposal: "A change that an operator proposed and another owner may still accept.",
  OpenTransaction: "An undecided transaction that an operator made or approved.",
  OperatorHandover: "What a person who leaves may still act through, and what of theirs is undecided.",
  AddedOwner: "An operator who became an owner, in its event: without name and email address.",
  AuditSeal: "A day of the audit log whose entries are in locked storage, in its event.",
  AuditVerification: "Result of a check of the audit log.",
  AuditedChange: "What a command changed of a resource.",
  AuditedResource: "A resource that an audit entry names.",
  BrokenLink: "The first place where the audit log is not what was written.",
  BrokerageClient: "A person or company that owns trading accounts.",
  ClientSummary: "A client in short.",
  BrokerageEvent: "A change of a resource; immutable. Webhooks carry it as `GET /events/{id}` returns it.",
  Currency: "Currency of an account: an ISO 4217 code, a crypto asset, or a cent currency such as USC.",
  EventType: "Event type. New types may be added within a version.",
  DeletedWebhookEndpoint: "Confirmation that a webhook endpoint was deleted.",
  EventKind: "An event type, with its schema and a sample.",
  EventTypeCatalogue: "All event types.",
  KeySet: "Public keys for verifying access tokens (RFC 7517).",
  CloseReason: "Why a trade was closed.",
  DeliveryError: "Why an attempt failed.",
  ProposedReset: "A reset of an operator's credentials that a second owner must accept.",
  RejectReason: "Why an order was rejected.",
  Command: "An instruction to a trading platform about one account: its money, its positions or its terms.",
  CommandNotice: "A command in its events, by its identifiers; `GET` returns what it does and how it ended.",
  CommandStatus: "Command status.",
  CommandType: "Command type. New types may be added within a version.",
  AckCommandRequest: "Outcome of a command.",
  TakeCommandsRequest: "How many commands to take, and for how long.",
  TakenCommands: "Commands that were handed out.",
  Drift: "A difference between this service and a trading platform.",
  DriftKind: "What differs. New kinds may be added within a version.",
  ResolveDriftRequest: "How to resolve a drift.",
  FeedSnapshot: "A snapshot of the accounts of a trading platform, with the result of comparing them.",
  SnapshotPart: "Result of a part of a snapshot.",
  SnapshotPartRequest: "Accounts of a trading platform at the number of an item.",
  SnapshotPosition: "An open position on a trading platform.",
  ConversionRate: "A current conversion rate, with its conversion path.",
  ConversionRates: "Current conversion rates.",
  FeedReceipt: "Result of a batch, item by item.",
  FeedReject: "A rejected item, with the reason.",
  FeedResult: "Result of an item.",
  FeedSource: "A connected trading platform.",
  DayEnd: "When the days of closing balances, income, settled money and statements end.",
  LetterheadText: "A text of the letterhead; empty, it removes the text.",
  Letterhead: "Texts of the brokerage for the head of statements.",
  Statement: "A statement of an account; its figures follow from its ledger.",
  LedgerEntry: "A posting on an account; immutable.",
  LedgerKind: "Type of a ledger entry. New types may be added within a version.",
  PageInfo: "Properties of a page of a list.",
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
  TransferLeg: "The transfer that a transaction is a leg of, with the other leg.",
  Transaction: "A deposit, a withdrawal or another movement of money.",
  TransactionStatus: "Transaction status.",
  MarginPreviewRequest: "Operations to try on an account; all members are optional.",
  MarginPreview: "What an account comes to after the operations that were tried.",
  AccountMetrics: "Balance and margin figures of several accounts at the same prices.",
  WatchedAccount: "An account with open positions, with its margin level.",
  Trade: "A trade. Closing a part of it creates a separate closed trade.",
  Position: "An open position, valued at the latest price.",
  Exposure: "Open lots of all accounts by symbol and side.",
  Order: "A pending, filled or ended order.",
  IssuedApiApplication: "An application with its new secret, which is returned only once.",
  IssuedWebhookEndpoint: "A webhook endpoint with its new secret, which is returned only once.",
  Conversion: "Conversion path between two currencies.",
  CreateAccountRequest: "A trading account to create.",
  CreateApplicationRequest: "An application to create.",
  CreateClientRequest: "A client to create.",
  CreateOperatorRequest: "An operator to invite.",
  Operator: "A person of the brokerage who can sign in.",
  RemovedOperator: "Confirmation that an operator was removed.",
  UpdateOperatorRequest: "Changes of an operator, as a merge patch.",
  CreateAdjustmentRequest: "An adjustment to create.",
  CreateCreditRequest: "A credit to grant or to take back.",
  CreateDepositRequest: "A deposit to create.",
  CreateFeedSourceRequest: "A feed source to register.",
  CreateWebhookEndpointRequest: "A webhook endpoint to create.",
  CreateTransferQuoteRequest: "A transfer to quote.",
  CreateTransferRequest: "A transfer to create.",
  StatusReason: "Reason of a change of status, or of an adjustment.",
  TransactionSummary: "Sums of transactions.",
  TransferQuote: "A firm quote of a transfer.",
  CreateWithdrawalRequest: "A withdrawal to create.",
  DeliveryAttempt: "One attempt of a delivery.",
  DeliveryStatus: "Delivery status.",
  FeedBatch: "Items of a feed, in order; empty as a heartbeat.",
  FeedQuoteReceipt: "Result of a request with quotes, quote by quote.",
  FeedQuoteResult: "Result of one quote.",
  FeedQuotes: "Quotes of a feed source.",
  Health: "State of the API itself.",
  LiquidatedAccount: "A trading account after a stop-out, with the result of the liquidation.",
  Liquidation: "Result of a liquidation.",
  MarginMoney: "Margin figures of an account at one moment.",
  MarketStatus: "Market status.",
  Me: "The calling application or operator, with its scopes and limits.",
  OpenApiDocument: "An OpenAPI 3.0.3 document.",
  StreamTicket: "A ticket that opens one connection to the WebSocket stream.",
  AsyncApiDocument: "An AsyncAPI 3.0 document.",
  RateLimits: "Rate limits of the caller, with what is left of them.",
  IdentityCheck: "Check of an identity.",
  RejectionReason: "Reason why a verification was rejected.",
  Verification: "Result of the verification of a client.",
  VerificationStatus: "Verification status of a client.",
  Review: "A decision about the identity of a client, or a note of the staff; immutable.",
  ReviewKind: "Kind of review.",
  CreateReviewRequest: "A note about a client.",
  ReplayEventsRequest: "Range of events to replay.",
  DismissFeedRejectRequest: "Why a rejected item is never applied.",
  RetryFeedRejectRequest: "Decision on which transaction the money of an item belongs to.",
  Restore: "A restore of the data of the brokerage from a copy, and which events are void by it.",
  RevocationRequest: "A token to revoke (RFC 7009).",
  RotateApplicationSecretRequest: "Grace period of the previous secret.",
  RotateWebhookSecretRequest: "Grace period of the previous secret.",
  SetSandboxPrices: "Prices to set.",
  Side: "Side of a trade, a position or an order.",
  TestWebhookEndpointRequest: "Event type of the sample to send.",
  TokenError: "Error of an OAuth endpoint (RFC 6749 5.2).",
  TokenReply: "An access token and a refresh token (RFC 6749 5.1).",
  TokenRequest: "Parameters of a token request (RFC 6749 4.4.2, 6).",
  TransactionHistory: "Status changes of a transaction.",
  TransactionKind: "Transaction type.",
  TriggerEventRequest: "Event type of the sample to send, and the endpoint that receives it.",
  UpdateAccountRequest: "Changes of a trading account, as a merge patch.",
  UpdateApplicationRequest: "Changes of an application, as a merge patch.",
  UpdateClientRequest: "Changes of a client, as a merge patch.",
  UpdateFeedSourceRequest: "Changes of a feed source, as a merge patch.",
  UpdateSettingsRequest: "Changes of the policies, as a merge patch.",
  QueuedTransaction: "A pending transaction that the caller can approve.",
  RejectTransactionRequest: "Why a transaction is rejected.",
  UpdateTransactionRequest: "Change of status of a transaction.",
  UpdateWebhookEndpointRequest: "Changes of a webhook endpoint, as a merge patch.",
  WebhookDelivery: "Delivery of an event to a webhook endpoint.",
  WebhookEndpoint: "A URL that receives events, with its subscription.",
  WebhookStatus: "Endpoint status.",
};

/** A component schema with its description, if it has one. */
export function withText(component: string, schema: JsonObject): JsonObject {
  const text = componentTexts[plainName(component)] ?? (component.endsWith("List") ? "One page of a list." : undefined);
  return text === undefined ? schema : { ...schema, description: text };
}
