/**
 * What the API promises, written a second time from its documentation: small, in plain amounts of minor units, and with
 * nothing of the service in it. A model of one brokerage says of each call what must be answered, and what is then so.
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

/** What the model knows of a client. */
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

/** What the model knows of an account; amounts in minor units. */
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

/** What the model knows of a deposit or a withdrawal. */
export interface ModelTransaction {
  readonly kind: "deposit" | "withdrawal";
  readonly account_id: string;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly external_id: string | null;
  readonly creator: number;
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

/** What a call wants, with the identifiers that it names. */
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

/** What was answered. */
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

interface Expected {
  readonly status: number;
  readonly code?: string;
  /** Members of the shown resource. */
  readonly shows?: Readonly<Record<string, unknown>>;
}

/**
 * Takes a call and its answer into the books. Returns what is wrong with the answer, or undefined; after a wrong answer
 * the books are of no use.
 */
export function enter(books: Books, call: Call, answer: Answered): string | undefined {
  const place = call.key === undefined ? undefined : `${call.application} ${call.key}`;
  const kept = place === undefined ? undefined : books.kept.get(place);
  if (kept !== undefined) {
    if (kept.request !== call.request) return compare({ status: 422, code: "idempotency_key_reused" }, call, answer);
    const same = kept.answer.status === answer.status && kept.answer.text === answer.text && answer.replayed;
    return same ? undefined : `${nameOf(call)} was to be answered as before, not ${answer.status} ${answer.text}`;
  }
  if (answer.replayed) return `${nameOf(call)} was answered as a call that never was`;
  const id = answer.status === 201 ? (JSON.parse(answer.text) as { id: string }).id : undefined;
  const expected = decide(books, call, id ?? "nothing");
  const wrong = compare(expected, call, answer);
  const fault = expected.code === "validation_failed";
  const keeps = expected.status < 300 || expected.status === 409 || (expected.status === 422 && !fault);
  if (place !== undefined && keeps) books.kept.set(place, { request: call.request, answer });
  return wrong;
}

function nameOf(call: Call): string {
  return JSON.stringify(call.intent, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

function compare(expected: Expected, call: Call, answer: Answered): string | undefined {
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  const told = expected.status < 300 ? expected.shows : { code: expected.code };
  const shown = Object.fromEntries(Object.keys(told ?? {}).map((name) => [name, body[name]]));
  if (answer.status === expected.status && JSON.stringify(shown) === JSON.stringify(told ?? {})) return undefined;
  return `${nameOf(call)} was to be answered ${JSON.stringify(expected)}, not ${answer.status} ${answer.text}`;
}

function refused(status: number, code: string): Expected {
  return { status, code };
}

const nothing = refused(404, "not_found");

function decide(books: Books, { intent, application }: Call, id: string): Expected {
  switch (intent.do) {
    case "create_client":
      return createClient(books, intent, id);
    case "client_status":
      return moveClient(books, intent);
    case "verification":
      return verifyClient(books, intent);
    case "open_account":
      return openAccount(books, intent, id);
    case "account_status":
      return moveAccount(books, intent);
    case "trading_mode":
      return setMode(books, intent);
    case "book":
      return bookMoney(books, intent, application, id);
    case "move":
      return moveMoney(books, intent, application);
    case "settings":
      books.four_eyes = intent.four_eyes;
      books.require_verified_client = intent.require;
      return { status: 200, shows: { four_eyes: intent.four_eyes, require_verified_client: intent.require } };
  }
}

type Of<D extends Intent["do"]> = Extract<Intent, { readonly do: D }>;

function createClient(books: Books, { email, external_id }: Of<"create_client">, id: string): Expected {
  const others = [...books.clients.values()];
  if (others.some((each) => each.email === email && each.status !== "closed")) return refused(409, "email_taken");
  if (external_id !== null && others.some((each) => each.external_id === external_id)) {
    return refused(409, "external_id_taken");
  }
  const client: ModelClient = {
    email,
    external_id,
    status: "active",
    verification_status: "unverified",
    detailed: false,
    version: 1,
  };
  books.clients.set(id, client);
  return { status: 201, shows: { id, email, external_id, status: "active", version: 1 } };
}

function moveClient(books: Books, { client: id, to }: Of<"client_status">): Expected {
  const client = books.clients.get(id);
  if (client === undefined) return nothing;
  if (client.status !== to) {
    if (client.status === "closed") return refused(409, "illegal_transition");
    const open = [...books.accounts.values()].some((each) => each.client_id === id && each.status !== "closed");
    if (to === "closed" && open) return refused(409, "client_has_open_accounts");
    client.status = to;
    client.version += 1;
  }
  return { status: 200, shows: { id, status: to, version: client.version } };
}

const verifications: Readonly<Record<ModelClient["verification_status"], readonly string[]>> = {
  unverified: ["pending", "verified"],
  pending: ["verified", "rejected", "unverified"],
  verified: ["pending", "rejected"],
  rejected: ["pending", "verified"],
  expired: ["pending", "verified"],
};

function verifyClient(books: Books, { client: id, to, details, reasons }: Of<"verification">): Expected {
  const client = books.clients.get(id);
  if (client === undefined) return nothing;
  const from = client.verification_status;
  const detailed = client.detailed || details;
  if (from !== to) {
    if (!verifications[from].includes(to)) return refused(409, "illegal_transition");
    if (to === "pending" && !detailed) return refused(422, "validation_failed");
    if (to === "rejected" && !reasons) return refused(422, "validation_failed");
  }
  if (from !== to || detailed !== client.detailed) {
    if (client.status === "closed") return refused(409, "client_closed");
    client.verification_status = to;
    client.detailed = detailed;
    client.version += 1;
  }
  return { status: 200, shows: { id, verification_status: to, version: client.version } };
}

function openAccount(books: Books, { client: owner, type, currency }: Of<"open_account">, id: string): Expected {
  const client = books.clients.get(owner);
  if (client === undefined) return refused(422, "client_not_found");
  if (client.status !== "active") return refused(409, `client_${client.status}`);
  const unverified = client.verification_status !== "verified";
  if (books.require_verified_client === "live_account" && type === "live" && unverified) {
    return refused(409, "client_not_verified");
  }
  books.accounts.set(id, {
    client_id: owner,
    currency,
    status: "active",
    trading_mode: "full",
    mode_before: "full",
    balance: 0n,
    held: 0n,
    entries: 0,
    version: 1,
  });
  return { status: 201, shows: { id, client_id: owner, currency, status: "active", version: 1 } };
}

function moveAccount(books: Books, { account: id, to }: Of<"account_status">): Expected {
  const account = books.accounts.get(id);
  if (account === undefined) return nothing;
  const from = account.status;
  if (from !== to) {
    const legal = (from === "active" && to === "disabled") || (from === "disabled" && to !== "disabled");
    if (!legal) return refused(409, "illegal_transition");
    const open = [...books.transactions.values()].some((each) => each.account_id === id && isOpen(each));
    if (to === "closed" && (open || account.balance !== 0n)) return refused(409, "account_not_empty");
    if (to === "disabled") account.mode_before = account.trading_mode;
    // Who comes back with a debt only closes.
    const back = account.balance < 0n && account.mode_before === "full" ? "close_only" : account.mode_before;
    if (to !== "closed") account.trading_mode = to === "disabled" ? "none" : back;
    account.status = to;
    account.version += 1;
  }
  return { status: 200, shows: { id, ...profileOf(account) } };
}

function setMode(books: Books, { account: id, to }: Of<"trading_mode">): Expected {
  const account = books.accounts.get(id);
  if (account === undefined) return nothing;
  if (account.trading_mode !== to) {
    if (account.status !== "active") return refused(409, "account_disabled");
    account.trading_mode = to;
    account.version += 1;
  }
  return { status: 200, shows: { id, ...profileOf(account) } };
}

/** The answer to a change of an account shows money as it was read before, which others may have moved since. */
function profileOf({ status, trading_mode, version }: ModelAccount): Readonly<Record<string, unknown>> {
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

function isOpen({ status }: ModelTransaction): boolean {
  return status === "pending" || status === "approved" || status === "processing";
}

function bookMoney(books: Books, intent: Of<"book">, creator: number, id: string): Expected {
  const { kind, amount, fee, completed, external_id } = intent;
  const account = books.accounts.get(intent.account);
  if (account === undefined) return refused(422, "account_not_found");
  const gate = gateRefusal(books, account, kind);
  if (gate !== undefined) return gate;
  if (intent.imprecise) return refused(422, "amount_precision");
  if (fee >= amount) return refused(422, "fee_too_high");
  if (kind === "withdrawal" && account.balance - account.held < amount) return refused(422, "insufficient_funds");
  if (completed && books.four_eyes) return refused(403, "four_eyes_required");
  const taken = [...books.transactions.values()].some((each) => each.external_id === external_id);
  if (external_id !== null && taken) return refused(409, "external_id_taken");
  if (completed) post(account, kind === "deposit" ? amount - fee : -amount);
  else if (kind === "withdrawal") account.held += amount;
  const [status, version] = completed ? (["completed", 2] as const) : (["pending", 1] as const);
  books.transactions.set(id, {
    kind,
    account_id: intent.account,
    amount,
    fee,
    external_id,
    creator,
    status,
    version,
  });
  return { status: 201, shows: { id, kind, status, version } };
}

function gateRefusal(books: Books, account: ModelAccount, kind: ModelTransaction["kind"]): Expected | undefined {
  if (account.status !== "active") return refused(409, `account_${account.status}`);
  if (kind === "deposit") return undefined;
  if (account.trading_mode !== "full") return refused(409, "account_close_only");
  const client = books.clients.get(account.client_id);
  if (client?.status !== "active") return refused(409, "client_suspended");
  const unverified = client.verification_status !== "verified";
  if (books.require_verified_client !== "none" && unverified) return refused(409, "client_not_verified");
  return undefined;
}

function post(account: ModelAccount, minor: bigint): void {
  account.balance += minor;
  account.entries += 1;
}

const moves: Readonly<Record<TransactionState, readonly TransactionState[]>> = {
  pending: ["approved", "processing", "completed", "rejected", "cancelled"],
  approved: ["processing", "completed", "cancelled", "failed"],
  processing: ["completed", "failed"],
  completed: ["returned"],
  rejected: [],
  cancelled: [],
  failed: [],
  returned: [],
};

function moveMoney(books: Books, intent: Of<"move">, application: number): Expected {
  const transaction = books.transactions.get(intent.transaction);
  if (transaction === undefined) return nothing;
  const { if_version: version, to } = intent;
  if (version !== undefined && version !== transaction.version) return refused(412, "precondition_failed");
  const from = transaction.status;
  if (from !== to) {
    const unseen = books.four_eyes && from === "pending" && (to === "processing" || to === "completed");
    if (!moves[from].includes(to) || unseen) return refused(409, "illegal_transition");
    const reasoned = to === "rejected" || to === "failed" || to === "returned";
    if (reasoned && !intent.reason) return refused(422, "validation_failed");
    if (to === "approved" && books.four_eyes && transaction.creator === application) {
      return refused(403, "four_eyes_required");
    }
    const account = books.accounts.get(transaction.account_id);
    if (account === undefined) return nothing;
    const refusal = to === "returned" ? giveBack(account, transaction, intent) : settle(account, transaction, to);
    if (refusal !== undefined) return refusal;
    transaction.status = to;
    transaction.version += 1;
  }
  return { status: 200, shows: { id: intent.transaction, status: to, version: transaction.version } };
}

/** The money of a move that is not a return. */
function settle(account: ModelAccount, transaction: ModelTransaction, to: TransactionState): Expected | undefined {
  const { kind, amount, fee, status: from } = transaction;
  if (kind === "deposit") {
    if (to === "completed") post(account, amount - fee);
    return undefined;
  }
  if (from === "processing") {
    if (to === "failed") post(account, amount);
    return undefined;
  }
  if (to === "approved") return undefined;
  if (to === "processing" || to === "completed") {
    if (amount > account.balance) return refused(409, "insufficient_free_margin");
    post(account, -amount);
  }
  account.held -= amount;
  return undefined;
}

function giveBack(account: ModelAccount, transaction: ModelTransaction, intent: Of<"move">): Expected | undefined {
  const { kind, amount, fee } = transaction;
  const kept = intent.keep_fee ? fee : 0n;
  const customer = kind === "deposit" ? -(amount - fee + kept) : amount - kept;
  if (customer < 0n && !intent.force && account.balance - account.held < -customer) {
    return refused(409, "insufficient_funds");
  }
  post(account, customer);
  if (account.status === "closed") {
    account.status = "disabled";
    account.version += 1;
  } else if (account.balance < 0n && account.status === "active" && account.trading_mode === "full") {
    account.trading_mode = "close_only";
    account.version += 1;
  }
  return undefined;
}
