import { isLinked } from "../accounts/account.ts";
import type { Account } from "../records/account.ts";
import type { Change } from "../records/change.ts";
import type { LegName, UnjoinedLeg } from "../records/leg.ts";
import type { Transaction } from "../records/transaction.ts";

/** One leg of a transaction: what it adds to the account, in minor units. */
export interface Leg {
  readonly name: LegName;
  readonly minor: bigint;
  /** The same and, where there is a fee, what a platform may have moved instead. */
  readonly alike: readonly bigint[];
}

/** Members that decide the legs of a transaction. */
type Legged = Pick<
  Transaction,
  "id" | "tenant_id" | "account_id" | "kind" | "status" | "amount_minor" | "fee_minor"
> & {
  readonly platform_operations?: Transaction["platform_operations"];
  readonly reverse_minor?: bigint;
  readonly returning_minor?: bigint;
  readonly command_id?: string | undefined;
  readonly set_aside?: Transaction["set_aside"];
};

/** Whether a transaction was not decided: its money has not moved here, and no platform was asked to. */
export function isUndecided({ status }: Pick<Transaction, "status">): boolean {
  return status === "pending" || status === "approved";
}

/** Whether a transaction has ended without its money, which its platform has moved: people settle that. */
export function isLeftToPeople(transaction: Pick<Transaction, "status" | "set_aside">): boolean {
  const { set_aside } = transaction;
  return set_aside !== undefined && set_aside.taken_back_by === undefined && !isUndecided(transaction);
}

/** Whether a transaction takes what it moves from its account, and holds it until then. */
export function takesMoney({ kind }: Pick<Transaction, "kind">): boolean {
  return kind === "withdrawal" || kind === "transfer_out";
}

/** Whether a transaction takes what it moves, money or credit, from its account. */
export function subtracts({ kind }: Pick<Transaction, "kind">): boolean {
  return takesMoney({ kind }) || kind === "credit_out";
}

const withoutMoney: ReadonlySet<Transaction["status"]> = new Set(["rejected", "cancelled", "failed"]);

/**
 * The legs of a transaction: the forward one unless it ended without moving money, net of a deposit and gross of a
 * withdrawal, and the reverse one once it was given back or the platform was asked to. The correction of a loss that a
 * platform was asked to follow has none: the command has a marker of its own.
 */
function legsOf(transaction: Legged): Leg[] {
  const { kind, status, amount_minor: gross, fee_minor: fee, command_id } = transaction;
  if (kind === "negative_balance_correction" && command_id !== undefined) return [];
  const back = transaction.reverse_minor ?? transaction.returning_minor;
  const sign = subtracts(transaction) ? -1n : 1n;
  const [full, net] = [sign * gross, sign * (gross - fee)];
  const forward = kind === "deposit" ? net : full;
  // An item that is set aside has claimed the leg.
  const moves = back !== undefined || (!withoutMoney.has(status) && transaction.set_aside === undefined);
  return [
    ...(moves ? [{ name: "forward", minor: forward, alike: distinct([full, net]) } as const] : []),
    ...(back === undefined ? [] : [{ name: "reverse", minor: back, alike: distinct([back, -full, -net]) } as const]),
  ];
}

/** The legs of a transaction that no operation of a platform was joined with, reported or claimed. */
export function unjoinedLegsOf(transaction: Legged): Leg[] {
  const joined = new Set((transaction.platform_operations ?? []).map(({ leg }) => leg));
  return legsOf(transaction).filter(({ name }) => !joined.has(name));
}

/**
 * The legs of a transaction whose operation the platform has not reported. An operation named by an acknowledgement or
 * a person does not count: they can name a wrong one, and the right one must still be distinguished from new money.
 */
export function unreportedLegsOf(transaction: Legged): Leg[] {
  const reported = (transaction.platform_operations ?? []).filter(({ confirmed }) => confirmed !== false);
  const joined = new Set(reported.map(({ leg }) => leg));
  return legsOf(transaction).filter(({ name }) => !joined.has(name));
}

function distinct(amounts: readonly bigint[]): bigint[] {
  return [...new Set(amounts)];
}

function markersOf(transaction: Legged): Map<string, UnjoinedLeg> {
  const { id, tenant_id, account_id } = transaction;
  const markers = unreportedLegsOf(transaction).flatMap(({ name, alike }) =>
    alike.map((amount_minor) => ({ tenant_id, account_id, transaction_id: id, leg: name, amount_minor })),
  );
  return new Map(markers.map((marker) => [`${marker.leg} ${marker.amount_minor}`, marker]));
}

/** Changes of the markers of a transaction's unreported legs; none on an account of this service. */
export function legChanges(
  account: Pick<Account, "platform" | "platform_login">,
  before: Legged | undefined,
  after: Legged,
): Change[] {
  if (!isLinked(account)) return [];
  const known = before === undefined ? new Map<string, UnjoinedLeg>() : markersOf(before);
  const wanted = markersOf(after);
  return [
    ...[...wanted].flatMap(([name, leg]) => (known.has(name) ? [] : [{ op: "list", leg } as const])),
    ...[...known].flatMap(([name, leg]) => (wanted.has(name) ? [] : [{ op: "unlist", leg } as const])),
  ];
}
