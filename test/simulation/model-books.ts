/**
 * The promises of the API, written a second time from its documentation: small, in plain amounts of minor units, and
 * with nothing of the service in it. A model of one brokerage has the right answer to each call and the state after it.
 */
export interface Books {
  four_eyes: boolean;
  require_verified_client: "none" | "withdrawal" | "live_account";
  readonly clients: Map<string, ModelClient>;
  readonly accounts: Map<string, ModelAccount>;
  readonly transactions: Map<string, ModelTransaction>;
  /** Answers kept under an application and its key. */
  readonly kept: Map<string, { readonly request: string; readonly answer: Answered }>;
}

/** A client of the model. */
export interface ModelClient {
  readonly email: string;
  readonly external_id: string | null;
  status: "active" | "suspended" | "closed";
  verification_status: "unverified" | "pending" | "verified" | "rejected" | "expired";
  /** Date of birth and country are known. */
  detailed: boolean;
  version: number;
}

type TradingMode = "full" | "close_only" | "none";

/** An account of the model; amounts in minor units. */
export interface ModelAccount {
  readonly client_id: string;
  readonly currency: "USD" | "JPY";
  status: "active" | "disabled" | "closed";
  trading_mode: TradingMode;
  mode_before: TradingMode;
  balance: bigint;
  held: bigint;
  /** Postings so far. */
  entries: number;
  version: number;
}

/** A deposit or a withdrawal of the model. */
export interface ModelTransaction {
  readonly kind: "deposit" | "withdrawal";
  readonly account_id: string;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly external_id: string | null;
  readonly creator: number;
  /** The application that approved it last. */
  approver?: number;
  status: TransactionState;
  version: number;
}

/** States of a transaction. */
export type TransactionState =
  | "pending"
  | "approved"
  | "processing"
  | "completed"
  | "rejected"
  | "cancelled"
  | "failed"
  | "returned";

/** Intent of a call, with the identifiers that it names. */
export type Intent =
  | { readonly do: "create_client"; readonly email: string; readonly external_id: string | null }
  | { readonly do: "client_status"; readonly client: string; readonly to: ModelClient["status"] }
  | {
      readonly do: "verification";
      readonly client: string;
      readonly to: ModelClient["verification_status"];
      readonly details: boolean;
      readonly reasons: boolean;
    }
  | {
      readonly do: "open_account";
      readonly client: string;
      readonly type: "live" | "demo";
      readonly currency: ModelAccount["currency"];
    }
  | { readonly do: "account_status"; readonly account: string; readonly to: ModelAccount["status"] }
  | { readonly do: "trading_mode"; readonly account: string; readonly to: TradingMode }
  | {
      readonly do: "book";
      readonly kind: ModelTransaction["kind"];
      readonly account: string;
      readonly amount: bigint;
      readonly fee: bigint;
      readonly completed: boolean;
      readonly external_id: string | null;
      /** The amount has a digit that its currency does not have. */
      readonly imprecise: boolean;
    }
  | {
      readonly do: "move";
      readonly transaction: string;
      readonly to: TransactionState;
      readonly reason: boolean;
      readonly force: boolean;
      readonly keep_fee: boolean;
      /** Version named by If-Match. */
      readonly if_version: number | undefined;
    }
  | { readonly do: "settings"; readonly four_eyes: boolean; readonly require: Books["require_verified_client"] };

/** A call as it was sent: by which of the brokerage's applications, under which key. */
export interface Call {
  readonly application: number;
  readonly intent: Intent;
  readonly key: string | undefined;
  /** Everything that makes two calls under one key the same. */
  readonly request: string;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
}

/** A brokerage in which nothing has happened. */
export function emptyBooks(): Books {
  return {
    four_eyes: false,
    require_verified_client: "none",
    clients: new Map(),
    accounts: new Map(),
    transactions: new Map(),
    kept: new Map(),
  };
}

export interface Expected {
  readonly status: number;
  readonly code?: string;
  /** Members of the shown resource. */
  readonly shows?: Readonly<Record<string, unknown>>;
}

export function nameOf(call: Call): string {
  return JSON.stringify(call.intent, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

export function compare(expected: Expected, call: Call, answer: Answered): string | undefined {
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  const told = expected.status < 300 ? expected.shows : { code: expected.code };
  const shown = Object.fromEntries(Object.keys(told ?? {}).map((name) => [name, body[name]]));
  if (answer.status === expected.status && JSON.stringify(shown) === JSON.stringify(told ?? {})) return undefined;
  return `${nameOf(call)} was to be answered ${JSON.stringify(expected)}, not ${answer.status} ${answer.text}`;
}

export function refused(status: number, code: string): Expected {
  return { status, code };
}

export const nothing = refused(404, "not_found");

/** The answer to a change of an account shows money as it was read before, which others may have moved since. */
export function profileOf({ status, trading_mode, version }: ModelAccount): Readonly<Record<string, unknown>> {
  return { status, trading_mode, version };
}

/** An account as the API must show it. */
export function shownAccount(account: ModelAccount): Readonly<Record<string, unknown>> {
  const money = (minor: bigint) => amountText(minor, account.currency);
  return {
    status: account.status,
    trading_mode: account.trading_mode,
    balance: money(account.balance),
    held: money(account.held),
    available_balance: money(account.balance - account.held),
    balance_version: account.entries,
    version: account.version,
  };
}

/** An amount of minor units in the digits of its currency. */
export function amountText(minor: bigint, currency: ModelAccount["currency"]): string {
  const sign = minor < 0n ? "-" : "";
  const size = minor < 0n ? -minor : minor;
  return currency === "JPY" ? `${sign}${size}` : `${sign}${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}

export function isOpen({ status }: ModelTransaction): boolean {
  return status === "pending" || status === "approved" || status === "processing";
}

/** The intent of this kind. */
export type Of<D extends Intent["do"]> = Extract<Intent, { readonly do: D }>;
