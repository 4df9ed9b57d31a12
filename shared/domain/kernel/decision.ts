import type { CurrencyCode } from "../../currencies.ts";
import type { Role } from "../../roles.ts";
import type { EventType } from "../../schema/event-types.ts";
import type { ProblemCode } from "../../schema/problem.ts";
import type { Scope } from "../../schema/scope.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import type { AuditedChange, SealedValues } from "./audited.ts";

/** Causes a change: an application or an operator of the tenant, or the service itself. */
export interface Actor {
  readonly type: "application" | "operator" | "system";
  readonly id: string;
  /** Name at the time of the change. */
  readonly name: string;
  /** Of an application: the operators who made it or were shown its secret; absent where there are none. */
  readonly operator_ids?: string[] | undefined;
}

/** Request and address of a caller: the audit keeps them in addition to the changes of a command. */
export interface Origin {
  /** Operation of the API: `create_client`. */
  readonly action: string;
  /** Address of the caller; null where none called. */
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** The caller without what is sealed of them; absent where nothing is. */
  readonly actor?: Actor;
  /** The changes without what is sealed of them; absent where the events of the commit tell them. */
  readonly changes?: readonly AuditedChange[];
  readonly sealed?: readonly SealedValues[];
}

/** The item of a feed that causes an effect: its source and its number there. */
export interface FeedCause {
  readonly source_id: string;
  readonly feed_seq: string;
}

/** Input to a decision besides its state and the request. */
export interface Context {
  readonly tenant_id: string;
  readonly environment: "sandbox" | "production";
  readonly actor: Actor;
  readonly request_id: string | null;
  /** Trace of the request or run that decides, in the form of X-Ray; absent where nothing is traced. */
  readonly trace_id?: string | undefined;
  /** Absent where no caller asked for the decision by a command: then the audit has no entry of it. */
  readonly origin?: Origin;
  readonly scopes: readonly Scope[];
  /** The role of the operator who decides; absent for applications and the system. */
  readonly role?: Role | undefined;
  /** The moment of the decision, RFC 3339 UTC with milliseconds. */
  readonly now: string;
  /** The moment so many business seconds from now. */
  readonly in: (seconds: number) => string;
  /**
   * When a payment provider of the environment's own moves a transaction next, RFC 3339; undefined where it leaves that
   * to others. It gets `in` of the same context. Absent where there is no such provider.
   */
  readonly providerMovesAt?: (payment: Payment, after: Context["in"]) => string | undefined;
  /** The item of a feed that the decision applies; what it books and opens keeps it. Absent for every other cause. */
  readonly cause?: FeedCause;
  /** A fresh identifier `<prefix>_<ULID>`. */
  readonly newId: (prefix: string) => string;
  /** A fresh number of `digits` decimal digits, the first one not zero. */
  readonly newNumber: (digits: number) => string;
}

/** The members of a transaction that a payment provider knows. */
export interface Payment {
  readonly provider: string | null;
  readonly amount_minor: bigint;
  readonly currency: CurrencyCode;
  readonly status: TransactionState;
}

/** One field that broke a rule. `pointer` is a JSON Pointer as a URI fragment (RFC 9457 3). */
export interface FieldError {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Why a request was refused; `code` decides the status, `extra` are further members of the problem document. */
export interface Refusal {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Another status than the code's own, where the same reason is a conflict of states. */
  readonly status?: 409;
  /** When a repetition makes sense, where the decision knows. */
  readonly retry_after_seconds?: number;
}

/** A condition on one attribute of the item that a change adjusts. */
export interface Requirement {
  readonly attribute: string;
  readonly is: "equal" | "not" | "at_least" | "below";
  readonly value: string | number | bigint;
}

/** Uniqueness markers: a value of this kind belongs to one resource of the tenant. */
export type UniqueKind =
  | "client_email"
  | "client_external_id"
  | "account_number"
  | "platform_login"
  | "transaction_external_id"
  | "provider_reference"
  | "source_name"
  | "source_position"
  | "source_order"
  | "source_operation"
  | "command_lane"
  | "operator_email";

/** An item of a stored kind: its own fields, without keys. */
export type StoredItem = object;

/** A change from one version of an item to the next. */
export interface Update<E extends string, T> {
  readonly op: "update";
  readonly entity: E;
  readonly before: T;
  readonly after: T;
  readonly require?: readonly Requirement[];
}

/** A change of one item that compares no version. */
export interface Adjustment<E extends string> {
  readonly op: "adjust";
  readonly entity: E;
  readonly id: string;
  readonly set?: Readonly<Record<string, string | number | bigint | null | readonly object[]>>;
  readonly add?: Readonly<Record<string, number | bigint>>;
  readonly require: readonly Requirement[];
}

/** An event of a decision, before it has a number. */
export interface DomainEvent {
  readonly type: EventType;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly client_id: string | null;
  readonly account_id: string | null;
  /** The resource after the change, exactly as GET shows it. */
  readonly object: object;
  readonly previous?: Readonly<Record<string, unknown>>;
}

/** Result of a decision with changes of the kind `C` and events, or a refusal that changes nothing. */
export type Decided<R, C> =
  | {
      readonly ok: true;
      readonly result: R;
      readonly changes: readonly C[];
      readonly events: readonly DomainEvent[];
    }
  | { readonly ok: false; readonly refusal: Refusal };

/** A refusal as a decision. */
export function refuse(
  code: ProblemCode,
  detail: string,
  more: Omit<Refusal, "code" | "detail"> = {},
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: { code, detail, ...more } };
}

/** A refusal because what the path names does not exist, or belongs to another tenant: the answer is the same. */
export function notFound(): { readonly ok: false; readonly refusal: Refusal } {
  return refuse("not_found", "The resource does not exist.");
}

/** A refusal that names one field of the body. */
export function refuseField(
  code: ProblemCode,
  field: string,
  detail: string,
  fieldCode: string = code,
): { readonly ok: false; readonly refusal: Refusal } {
  return refuse(code, detail, { errors: [{ pointer: `#/${field}`, code: fieldCode, detail }] });
}

/** A refusal for every field that breaks a rule, all at once. */
export function refuseFields(errors: readonly FieldError[]): { readonly ok: false; readonly refusal: Refusal } {
  return refuse("validation_failed", failedFields(errors.length), { errors });
}

/** Text for the number of fields that failed. */
export function failedFields(count: number): string {
  return count === 1 ? "1 field failed validation." : `${count} fields failed validation.`;
}

/** A refusal because the caller's token lacks a scope that this very change needs. */
export function refuseScope(scope: Scope): { readonly ok: false; readonly refusal: Refusal } {
  return refuse("insufficient_scope", `This change needs the scope ${scope}.`, { extra: { scope } });
}

/** The profit of a position that no way of conversions leads from its currency to the account's. */
export interface Unconverted {
  readonly symbol: string;
  readonly from: string;
  readonly to: string;
}

/** Whether an account can be valued at the newest prices. */
export interface Valued {
  /** A price that it depends on is missing or too old. */
  readonly stale: boolean;
  /** A profit that cannot be converted: no newer price of what is there changes that. */
  readonly unconverted?: Unconverted | undefined;
}

/** A refusal because an account cannot be valued; undefined when it can. `old` is the detail for an old price. */
export function refuseUnvalued({ stale, unconverted }: Valued, old: string) {
  if (unconverted !== undefined) {
    const { symbol, from, to } = unconverted;
    const detail = `The profit of ${symbol} cannot be converted from ${from} to ${to}.`;
    return refuse("no_conversion_path", detail, { extra: { symbol, from, to } });
  }
  return stale ? refuse("metrics_stale", old) : undefined;
}

/** A decision that changes nothing: the request asked for what is already so. */
export function unchanged<R>(result: R): Decided<R, never> {
  return { ok: true, result, changes: [], events: [] };
}

/** The later of two moments: a clock that goes back never lets `updated_at` go back. */
export function later(a: string, b: string): string {
  return a > b ? a : b;
}

/** Number of the feed item that causes an effect, where its source is known. */
export function numberOf({ cause }: Pick<Context, "cause">): Partial<Pick<FeedCause, "feed_seq">> {
  return cause === undefined ? {} : { feed_seq: cause.feed_seq };
}
