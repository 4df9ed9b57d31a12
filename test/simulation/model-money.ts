import type { Of } from "./model-books.ts";
import {
  type Books,
  type Expected,
  type ModelAccount,
  type ModelTransaction,
  nothing,
  refused,
  type TransactionState,
} from "./model-books.ts";

/** Ends that free the names of a transaction. */
const unbooked: ReadonlySet<string> = new Set(["rejected", "cancelled", "failed"]);

export function bookMoney(books: Books, intent: Of<"book">, creator: number, id: string): Expected {
  const { kind, amount, fee, completed, external_id } = intent;
  const account = books.accounts.get(intent.account);
  if (account === undefined) return refused(422, "account_not_found");
  const gate = gateRefusal(books, account, kind);
  if (gate !== undefined) return gate;
  if (intent.imprecise) return refused(422, "amount_precision");
  if (fee >= amount) return refused(422, "fee_too_high");
  if (kind === "withdrawal" && account.balance - account.held < amount) return refused(422, "insufficient_funds");
  if (completed && books.four_eyes) return refused(403, "four_eyes_required");
  const taken = [...books.transactions.values()].some(
    (each) => each.external_id === external_id && !unbooked.has(each.status),
  );
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
  const client = books.clients.get(account.client_id);
  if (kind === "deposit") return client?.status === "closed" ? refused(409, "client_closed") : undefined;
  if (account.trading_mode !== "full") return refused(409, "account_close_only");
  if (client === undefined || client.status === "suspended") return refused(409, "client_suspended");
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

export function moveMoney(books: Books, intent: Of<"move">, application: number): Expected {
  const transaction = books.transactions.get(intent.transaction);
  if (transaction === undefined) return nothing;
  const { if_version: version, to } = intent;
  if (version !== undefined && version !== transaction.version) return refused(412, "precondition_failed");
  const from = transaction.status;
  // An approval of the creator counts no more once four eyes are asked: another one may approve again.
  const unapproved = books.four_eyes && from === "approved" && transaction.approver === transaction.creator;
  if (unapproved && to === "approved") {
    if (transaction.creator === application) return refused(403, "four_eyes_required");
    transaction.approver = application;
    transaction.version += 1;
  }
  if (from !== to) {
    const unseen = books.four_eyes && from === "pending" && (to === "processing" || to === "completed");
    if (!moves[from].includes(to) || unseen) return refused(409, "illegal_transition");
    const reasoned = to === "rejected" || to === "failed" || to === "returned";
    if (reasoned && !intent.reason) return refused(422, "validation_failed");
    if (to === "approved" && books.four_eyes && transaction.creator === application) {
      return refused(403, "four_eyes_required");
    }
    if (unapproved && (to === "processing" || to === "completed")) return refused(403, "four_eyes_required");
    if (to === "approved") transaction.approver = application;
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
