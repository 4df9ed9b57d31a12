import { defaultCurrencies } from "../../../shared/currencies.ts";
import { draftTenant } from "../../../shared/domain/access/tenant.ts";
import { openClient } from "../../../shared/domain/accounts/client.ts";
import { openAccount } from "../../../shared/domain/accounts/open-account.ts";
import type { Context, Refusal } from "../../../shared/domain/kernel/decision.ts";
import { approversOf, type Givers } from "../../../shared/domain/money/givers.ts";
import type { AccountContext } from "../../../shared/domain/money/transaction.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Change, Decision } from "../../../shared/domain/records/change.ts";
import type { Client } from "../../../shared/domain/records/client.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import type { WebhookEndpoint } from "../../../shared/domain/records/webhook.ts";
import type { Role } from "../../../shared/roles.ts";
import { type Scope, scopes } from "../../../shared/schema/scope.ts";

/** The tenant of every decision of these tests. */
export const tenantId = "brk_01JD0000000000000000000000";

/** Random values for every new person of these tests. */
export const personKey = { public_key: "public", private_key: "private" } as const;

/** The moment of every decision that does not name another one. */
export const decisionTime = "2026-11-21T06:30:00.000Z";

let made = 0;

/** A context of a decision: a fixed clock, identifiers that count up, every scope unless some are named. */
export function decisionContext(given: Partial<Context> = {}): Context {
  return {
    tenant_id: tenantId,
    environment: "sandbox",
    actor: { type: "application", id: "app_01JD0000000000000000000000", name: "CRM" },
    request_id: "request-1",
    scopes,
    now: decisionTime,
    in: (seconds) => new Date(Date.parse(decisionTime) + seconds * 1000).toISOString(),
    newId: (prefix) => {
      made += 1;
      return `${prefix}_01JD${String(made).padStart(22, "0")}`;
    },
    newNumber: (digits) => "5".repeat(digits),
    ...given,
  };
}

/** Every scope but these. */
export function allScopesBut(...missing: Scope[]): Scope[] {
  return scopes.filter((scope) => !missing.includes(scope));
}

/** An accepted decision; a refusal fails the test with its text. */
export function accepted<R>(decision: Decision<R>): Extract<Decision<R>, { ok: true }> {
  if (!decision.ok) throw new Error(`Refused: ${decision.refusal.code}: ${decision.refusal.detail}`);
  return decision;
}

/** Why a decision refused. A refusal that carries anything that could be written fails the test. */
export function refused<R>(decision: Decision<R>): Refusal {
  if (decision.ok) throw new Error("The decision was expected to refuse.");
  const members = Object.keys(decision).toSorted();
  if (members.join() !== "ok,refusal") throw new Error(`A refusal holds ${members.join(", ")}.`);
  return decision.refusal;
}

/** A client as a create makes it, with some fields set to what a test needs. */
export function someClient(fields: Partial<Client> = {}): Client {
  const request = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };
  return { ...accepted(openClient(request, personKey, decisionContext())).result, ...fields };
}

/** An account with its money; `balance` sets amounts, and `available_minor` follows from them. */
export function someAccount(fields: Partial<Account> = {}, money: Partial<Balance> = {}): AccountContext {
  const client = someClient();
  const request = { client_id: client.id, ...(fields.currency === undefined ? {} : { currency: fields.currency }) };
  const { currency = "USD" } = fields;
  const tenant = { ...draftTenant(tenantId, decisionTime), currencies: [...defaultCurrencies, currency] };
  const { account, balance } = accepted(openAccount(client, tenant, request, decisionContext())).result;
  const held = money.held_minor ?? 0n;
  const total = money.balance_minor ?? 0n;
  return {
    tenant: draftTenant(tenantId, decisionTime),
    account: { ...account, ...fields },
    balance: { ...balance, leverage: fields.leverage ?? account.leverage, available_minor: total - held, ...money },
  };
}

/** An enabled endpoint that subscribes to the nine kinds, by default. Its secret opens nowhere. */
export function someEndpoint(fields: Partial<WebhookEndpoint> = {}): WebhookEndpoint {
  return {
    id: "whe_01JD0000000000000000000001",
    tenant_id: tenantId,
    url: "https://hooks.example.com/broker",
    description: null,
    event_types: ["*"],
    account_ids: null,
    group_ids: null,
    status: "enabled",
    disabled_reason: null,
    api_version: "v2",
    epoch: 1,
    secret: "v1.sealed",
    previous_secret: null,
    previous_secret_expires_at: null,
    wake_at: null,
    metadata: {},
    created_at: decisionTime,
    updated_at: decisionTime,
    version: 1,
    ...fields,
  };
}

/** The changes of one operation, each as that operation's own type. */
export function changesOf<O extends Change["op"]>(changes: readonly Change[], op: O): Extract<Change, { op: O }>[] {
  return changes.filter((change): change is Extract<Change, { op: O }> => change.op === op);
}

/** The created items of a kind. */
export function createdItems<T>(changes: readonly Change[], entity: string): T[] {
  return changesOf(changes, "create")
    .filter((change) => change.entity === entity)
    .map(({ item }) => item as T);
}

/** Those who approved a transaction, all of them active, operators with this role. */
export function activeGivers(transaction: Transaction, role: Role = "finance"): Givers {
  return new Map(
    approversOf(transaction).map(({ id, type }) => [id, { active: true, ...(type === "operator" ? { role } : {}) }]),
  );
}
