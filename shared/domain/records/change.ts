import type { Adjustment, Decided, Refusal, StoredItem, UniqueKind, Update } from "../kernel/decision.ts";
import type { Account } from "./account.ts";
import type { Balance } from "./balance.ts";
import type { Findable } from "./client.ts";
import type { CorrectionLeg, UnjoinedLeg } from "./leg.ts";

/** Names of the stored kinds that a decision may write. */
export type EntityName =
  | "tenant"
  | "application"
  | "application_ref"
  | "operator"
  | "operator_key"
  | "person_key"
  | "client"
  | "review"
  | "account"
  | "balance"
  | "link_proposal"
  | "transaction"
  | "transfer_quote"
  | "command"
  | "ledger"
  | "contra"
  | "day"
  | "webhook"
  | "webhook_health"
  | "webhook_count"
  | "delivery"
  | "sample_event"
  | "replay"
  | "job"
  | "job_count";

/**
 * One change of a decision. `create` fails when the item exists; `update` writes what differs between `before` and
 * `after` on the condition that the version is still that of `before`; `adjust` adds and sets on stated requirements
 * without comparing a version (ADR 0002), and only compares them where it names neither; for a balance it carries what
 * was read and what is left; `claim` and
 * `release` are uniqueness markers. `list` and `unlist` write and delete the marker of an unjoined leg, whatever is
 * there: the transaction that is written with it is what is compared. So do `find` and `unfind` with what a client is
 * found by.
 */
export type Change =
  | { readonly op: "create"; readonly entity: EntityName; readonly item: StoredItem }
  | Update<Exclude<EntityName, "account">, StoredItem & { readonly version: number }>
  | Update<"account", Account>
  | Adjustment<"client" | "tenant" | "webhook_count" | "webhook_health" | "job_count">
  | BalanceAdjustment
  | {
      readonly op: "claim";
      readonly kind: UniqueKind;
      readonly value: string;
      readonly owner: string;
      readonly refusal: Refusal;
      /** The value was drawn by us: when it is taken, decide again with another one. */
      readonly drawn?: boolean;
      /** The owner it is taken from, where it belongs to one; else it must belong to none. */
      readonly instead_of?: string;
    }
  | {
      readonly op: "release";
      readonly kind: UniqueKind;
      readonly value: string;
      readonly owner: string;
      /** Its owner has ended: the name leads to it until another one claims it. */
      readonly ended?: true;
    }
  | { readonly op: "list" | "unlist"; readonly leg: UnjoinedLeg | CorrectionLeg }
  | { readonly op: "find" | "unfind"; readonly item: Findable };

/** A change of the money of an account, see `adjustBalance`. */
export interface BalanceAdjustment extends Adjustment<"balance"> {
  /** The balance that the decision read. */
  readonly before: Balance;
  /** The same with this change. */
  readonly after: Balance;
}

/** Result of a decision on clients, accounts, money or access. */
export type Decision<R> = Decided<R, Change>;
