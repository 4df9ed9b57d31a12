import { limits } from "../limits.ts";
import type {
  CreateDeposit,
  CreateWithdrawal,
  TransactionBody,
  TransactionState,
  UpdateTransaction,
} from "../schema/transaction.ts";
import type { Account, Balance, Contra, Ledger } from "./account.ts";
import type { Client } from "./client.ts";
import { later } from "./client.ts";
import {
  type Actor,
  type Change,
  type Context,
  type Decision,
  type DomainEvent,
  type Refusal,
  type Requirement,
  refuse,
  refuseField,
  refuseScope,
  unchanged,
} from "./decision.ts";
import { formatAmount, greatest, parseAmount } from "./money.ts";

type MoneyField = "amount" | "fee" | "net_amount" | "balance_before" | "balance_after";

/**
 * A deposit or withdrawal as it is stored: the wire's fields with money in minor units. A pending withdrawal is its own
 * hold.
 */
export interface Transaction extends Omit<TransactionBody, MoneyField | "object" | "_links"> {
  readonly tenant_id: string;
  readonly amount_minor: bigint;
  readonly fee_minor: bigint;
  readonly balance_before_minor: bigint | null;
  readonly balance_after_minor: bigint | null;
}

/** The transaction as GET shows it. */
export function transactionBody(transaction: Transaction): TransactionBody {
  const { tenant_id, amount_minor, fee_minor, balance_before_minor, balance_after_minor, ...fields } = transaction;
  const money = (minor: bigint) => formatAmount(minor, transaction.currency);
  return {
    ...fields,
    object: "transaction",
    amount: money(amount_minor),
    fee: money(fee_minor),
    net_amount: money(amount_minor - fee_minor),
    balance_before: balance_before_minor === null ? null : money(balance_before_minor),
    balance_after: balance_after_minor === null ? null : money(balance_after_minor),
    _links: {
      self: { href: `/v2/transactions/${transaction.id}` },
      account: { href: `/v2/accounts/${transaction.account_id}` },
      client: { href: `/v2/clients/${transaction.client_id}` },
    },
  } as TransactionBody;
}

/** Which states this release lets a caller move to, and the scope that each move needs. */
const moves: Readonly<Record<TransactionState, Partial<Record<TransactionState, Context["scopes"][number]>>>> = {
  pending: { completed: "transactions:settle", rejected: "transactions:approve", cancelled: "transactions:write" },
  approved: {},
  processing: {},
  completed: {},
  rejected: {},
  cancelled: {},
  failed: {},
  returned: {},
};

/** Decides `POST /transactions/deposit`. Nothing is credited before the deposit is completed. */
export function requestDeposit(
  account: Account,
  balance: Balance,
  request: CreateDeposit,
  context: Context,
): Decision<Transaction> {
  const draft = draftTransaction("deposit", account, balance, request, context);
  if (!draft.ok) return draft;
  const pending = draft.result;
  if (request.status === "completed") return createCompleted(pending, balance, context);
  return {
    ok: true,
    result: pending,
    changes: [
      { op: "create", entity: "transaction", item: pending },
      adjustBalance(balance, context, { add: { pending: 1 }, require: [equal("accepts", "all")] }),
      ...transactionMarkers(pending),
    ],
    events: [transactionEvent("transaction.created", pending)],
  };
}

/**
 * Decides `POST /transactions/withdrawal`: the amount is held, on the condition that it is still covered at the commit.
 */
export function requestWithdrawal(
  client: Client,
  account: Account,
  balance: Balance,
  request: CreateWithdrawal,
  context: Context,
): Decision<Transaction> {
  if (client.status !== "active") return refuse("client_suspended", "The client may not withdraw while suspended.");
  const draft = draftTransaction("withdrawal", account, balance, request, context);
  if (!draft.ok) return draft;
  const pending = draft.result;
  const need = pending.amount_minor + greatest(0n, balance.used_margin_minor - balance.credit_minor);
  if (balance.available_minor < need) {
    return refuse("insufficient_funds", "The available balance does not cover the amount.", {
      errors: [{ pointer: "#/amount", code: "insufficient_funds", detail: "is more than the available balance" }],
      extra: {
        available_balance: formatAmount(greatest(0n, balance.available_minor), balance.currency),
        currency: balance.currency,
      },
    });
  }
  if (request.status === "completed") return createCompleted(pending, balance, context);
  return {
    ok: true,
    result: pending,
    changes: [
      { op: "create", entity: "transaction", item: pending },
      adjustBalance(balance, context, {
        add: { held_minor: pending.amount_minor, available_minor: -pending.amount_minor, pending: 1 },
        require: [
          equal("accepts", "all"),
          equal("pos_version", balance.pos_version),
          { attribute: "available_minor", is: "at_least", value: need },
        ],
      }),
      ...transactionMarkers(pending),
    ],
    events: [transactionEvent("transaction.created", pending)],
  };
}

/** Decides `PATCH /transactions/{id}`. Asking for the state it has changes nothing. */
export function moveTransaction(
  transaction: Transaction,
  balance: Balance,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  const from = transaction.status;
  const to = request.status ?? from;
  if (to === from) return unchanged(transaction);
  const allowed = moves[from];
  const scope = allowed[to];
  if (scope === undefined) {
    const names = Object.keys(allowed);
    return refuse("illegal_transition", `A ${from} transaction cannot become ${to}.`, {
      extra: { from, to, allowed: names },
    });
  }
  if (!context.scopes.includes(scope)) return refuseScope(scope);
  const reason = request.reason ? { code: request.reason.code, message: request.reason.message ?? null } : null;
  if (to === "rejected" && reason === null) {
    return refuseField("validation_failed", "reason", "is required to reject a transaction", "required");
  }
  if (to === "completed") return complete(transaction, balance, context, reason);
  const after = moved(transaction, to, context, reason);
  const release = transaction.kind === "withdrawal" ? transaction.amount_minor : 0n;
  return {
    ok: true,
    result: after,
    changes: [
      { op: "update", entity: "transaction", before: transaction, after },
      adjustBalance(balance, context, {
        add: { pending: -1, ...(release === 0n ? {} : { held_minor: -release, available_minor: release }) },
        require: [],
      }),
    ],
    events: [],
  };
}

function complete(
  transaction: Transaction,
  balance: Balance,
  context: Context,
  reason: Transaction["status_reason"],
): Decision<Transaction> {
  const posting = post(transaction, balance, context, "captured");
  if (!posting.ok) return posting;
  const { balance_before_minor, balance_after_minor, changes } = posting.result;
  const after = { ...moved(transaction, "completed", context, reason), balance_before_minor, balance_after_minor };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before: transaction, after }, ...changes],
    events: [transactionEvent("transaction.completed", after, { status: transaction.status })],
  };
}

/**
 * A trusted caller books in one step; both events are written, as if the transaction had been created and then
 * completed.
 */
function createCompleted(pending: Transaction, balance: Balance, context: Context): Decision<Transaction> {
  if (!context.scopes.includes("transactions:settle")) return refuseScope("transactions:settle");
  const posting = post(pending, balance, context, "direct");
  if (!posting.ok) return posting;
  const { balance_before_minor, balance_after_minor, changes } = posting.result;
  const after = { ...moved(pending, "completed", context, null), balance_before_minor, balance_after_minor };
  return {
    ok: true,
    result: after,
    changes: [{ op: "create", entity: "transaction", item: after }, ...changes, ...transactionMarkers(pending)],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.completed", after, { status: "pending" }),
    ],
  };
}

interface Posting {
  readonly balance_before_minor: bigint;
  readonly balance_after_minor: bigint;
  readonly changes: readonly Change[];
}

/**
 * The ledger side of a completion: one entry on the account, its legs on the control accounts, and the new balance on
 * the condition that nobody posted in between. `captured` uses up the hold and the pending count; `direct` never had
 * them.
 */
function post(
  transaction: Transaction,
  balance: Balance,
  context: Context,
  how: "captured" | "direct",
): Decision<Posting> {
  if (balance.accepts === "none" && how === "direct") return refuseGate(balance);
  const { kind, amount_minor: amount, fee_minor: fee } = transaction;
  const net = amount - fee;
  const change = kind === "deposit" ? net : -amount;
  const before = balance.balance_minor;
  const after = before + change;
  if (after > limits.money.max_minor) {
    return refuse("amount_too_large", "The balance would be larger than the service can hold.");
  }
  const payable = balance.balance_minor - greatest(0n, balance.used_margin_minor - balance.credit_minor);
  if (kind === "withdrawal" && amount > payable) {
    return refuse("insufficient_free_margin", "The free margin does not cover the amount.", {
      extra: { withdrawable: formatAmount(greatest(0n, payable), balance.currency), currency: balance.currency },
    });
  }
  const held = kind === "withdrawal" && how === "captured" ? amount : 0n;
  const seq = balance.seq + 1;
  const entry = ledgerEntry(transaction, context, { change, before, after, seq });
  return {
    ok: true,
    result: {
      balance_before_minor: before,
      balance_after_minor: after,
      changes: [
        adjustBalance(balance, context, {
          set: { balance_minor: after, seq },
          add: {
            available_minor: change + held,
            ...(held === 0n ? {} : { held_minor: -held }),
            ...(how === "captured" ? { pending: -1 } : {}),
          },
          require: [
            equal("seq", balance.seq),
            equal("pos_version", balance.pos_version),
            ...(how === "direct" ? [equal("accepts", "all")] : []),
            ...(how === "direct" && kind === "withdrawal"
              ? [{ attribute: "available_minor", is: "at_least", value: amount } as const]
              : []),
          ],
        }),
        { op: "create", entity: "ledger", item: entry },
        ...contraEntries(transaction, entry, context),
      ],
    },
    changes: [],
    events: [],
  };
}

function ledgerEntry(
  transaction: Transaction,
  context: Context,
  posting: { change: bigint; before: bigint; after: bigint; seq: number },
): Ledger {
  return {
    id: context.newId("led"),
    tenant_id: transaction.tenant_id,
    account_id: transaction.account_id,
    kind: transaction.kind,
    amount_minor: posting.change,
    currency: transaction.currency,
    balance_before_minor: posting.before,
    balance_after_minor: posting.after,
    balance_version: posting.seq,
    transaction_id: transaction.id,
    created_at: context.now,
  };
}

/**
 * The legs that balance the customer's: a deposit comes out of clearing, a withdrawal goes to payouts, the fee to
 * income.
 */
function contraEntries(transaction: Transaction, entry: Ledger, context: Context): Change[] {
  const { kind, amount_minor: amount, fee_minor: fee } = transaction;
  const leg = (control: Contra["control_account"], minor: bigint): Change => ({
    op: "create",
    entity: "contra",
    item: {
      id: context.newId("ctl"),
      tenant_id: transaction.tenant_id,
      control_account: control,
      amount_minor: minor,
      currency: transaction.currency,
      account_id: transaction.account_id,
      ledger_id: entry.id,
      transaction_id: transaction.id,
      created_at: context.now,
    } satisfies Contra,
  });
  const other = kind === "deposit" ? leg("clearing", -amount) : leg("payouts", amount - fee);
  return fee === 0n ? [other] : [other, leg("fee_income", fee)];
}

function draftTransaction(
  kind: Transaction["kind"],
  account: Account,
  balance: Balance,
  request: CreateDeposit & CreateWithdrawal,
  context: Context,
): Decision<Transaction> {
  if (balance.accepts !== "all") return refuseGate(balance);
  if (request.currency !== undefined && request.currency !== account.currency) {
    return refuseField("currency_mismatch", "currency", `The account is kept in ${account.currency}.`);
  }
  const amount = parseAmount(request.amount, account.currency);
  if (typeof amount === "string") return refuseAmount(amount, "amount", account);
  if (amount === 0n) return refuseField("validation_failed", "amount", "must be more than 0", "out_of_range");
  const fee = parseAmount(request.fee ?? "0", account.currency);
  if (typeof fee === "string") return refuseAmount(fee, "fee", account);
  if (fee >= amount) return refuseField("fee_too_high", "fee", "The fee must be lower than the amount.");
  const expires = expiry(request.expires_at, context.now);
  if (expires === undefined)
    return refuseField("validation_failed", "expires_at", "must be in the future", "out_of_range");
  const draft: Transaction = {
    id: context.newId("txn"),
    tenant_id: context.tenant_id,
    kind,
    account_id: account.id,
    client_id: account.client_id,
    amount_minor: amount,
    fee_minor: fee,
    currency: account.currency,
    method: request.method ?? "other",
    provider: request.provider ?? null,
    provider_reference: request.provider_reference ?? null,
    external_id: request.external_id ?? null,
    source: maskEndpoint(request.source),
    destination: maskEndpoint(request.destination),
    description: request.description ?? null,
    status: "pending",
    status_reason: null,
    status_history: [{ from: null, to: "pending", at: context.now, actor: context.actor, reason: null }],
    balance_before_minor: null,
    balance_after_minor: null,
    created_by: context.actor,
    approved_by: null,
    approved_at: null,
    completed_at: null,
    expires_at: expires,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
    metadata: request.metadata ?? {},
  };
  return unchanged(draft);
}

type RequestedEndpoint = {
  iban?: string | undefined;
  wallet?: string | undefined;
  card_last4?: string | undefined;
  holder?: string | undefined;
};

/** Keeps the last four characters of an account number: the rest is never stored, so it can never leak. */
function maskEndpoint(endpoint: RequestedEndpoint | null | undefined): Transaction["source"] {
  if (endpoint === null || endpoint === undefined) return null;
  const mask = (value: string) => `****${value.slice(-4)}`;
  return {
    ...(endpoint.iban === undefined ? {} : { iban: mask(endpoint.iban) }),
    ...(endpoint.wallet === undefined ? {} : { wallet: mask(endpoint.wallet) }),
    ...(endpoint.card_last4 === undefined ? {} : { card_last4: endpoint.card_last4 }),
    ...(endpoint.holder === undefined ? {} : { holder: endpoint.holder }),
  };
}

function expiry(requested: string | undefined, now: string): string | undefined {
  const start = Date.parse(now);
  if (requested === undefined) return new Date(start + limits.transaction.expires_seconds * 1000).toISOString();
  const moment = Date.parse(requested);
  return moment > start ? new Date(moment).toISOString() : undefined;
}

function moved(
  transaction: Transaction,
  to: TransactionState,
  context: Context,
  reason: Transaction["status_reason"],
): Transaction {
  const at = later(transaction.updated_at, context.now);
  const actor: Actor = context.actor;
  return {
    ...transaction,
    status: to,
    status_reason: reason,
    status_history: [...transaction.status_history, { from: transaction.status, to, at, actor, reason }],
    completed_at: to === "completed" ? at : transaction.completed_at,
    expires_at: null,
    updated_at: at,
    version: transaction.version + 1,
  };
}

function adjustBalance(
  balance: Balance,
  context: Context,
  change: {
    set?: Readonly<Record<string, number | bigint>>;
    add: Readonly<Record<string, number | bigint>>;
    require: readonly Requirement[];
  },
): Change {
  return {
    op: "adjust",
    entity: "balance",
    id: balance.account_id,
    set: { updated_at: later(balance.updated_at, context.now), ...change.set },
    add: change.add,
    require: change.require,
  };
}

function equal(attribute: string, value: string | number): Requirement {
  return { attribute, is: "equal", value };
}

function transactionMarkers(transaction: Transaction): Change[] {
  const changes: Change[] = [];
  const taken = (code: Refusal["code"], field: string, detail: string): Refusal => ({
    code,
    detail,
    errors: [{ pointer: `#/${field}`, code: "taken", detail: "belongs to another transaction" }],
  });
  if (transaction.external_id !== null) {
    changes.push({
      op: "claim",
      kind: "transaction_external_id",
      value: transaction.external_id,
      owner: transaction.id,
      refusal: taken("external_id_taken", "external_id", "Another transaction has this external id."),
    });
  }
  if (transaction.provider_reference !== null) {
    changes.push({
      op: "claim",
      kind: "provider_reference",
      value: JSON.stringify([transaction.provider, transaction.provider_reference]),
      owner: transaction.id,
      refusal: taken(
        "duplicate_provider_reference",
        "provider_reference",
        "A transaction with this provider and reference exists.",
      ),
    });
  }
  return changes;
}

function refuseGate(balance: Balance) {
  if (balance.accepts === "close_only") return refuse("account_close_only", "The account only allows closing.");
  return refuse("account_disabled", "The account takes no new transactions.");
}

function refuseAmount(fault: "amount_precision" | "amount_too_large", field: string, account: Account) {
  const detail =
    fault === "amount_precision"
      ? `has more digits than ${account.currency} has`
      : "is larger than the service can hold";
  return refuseField(fault, field, `The ${field} ${detail}.`);
}

function transactionEvent(
  type: "transaction.created" | "transaction.completed",
  transaction: Transaction,
  previous?: Readonly<Record<string, unknown>>,
): DomainEvent {
  return {
    type,
    resource: { type: "transaction", id: transaction.id, version: transaction.version },
    client_id: transaction.client_id,
    account_id: transaction.account_id,
    object: transactionBody(transaction),
    ...(previous ? { previous } : {}),
  };
}
