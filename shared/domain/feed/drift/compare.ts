import { limits } from "../../../limits.ts";
import { formatAmount, roundReported } from "../../kernel/money.ts";
import type { Account } from "../../records/account.ts";
import type { SettlementCommand } from "../../records/command.ts";
import type { PlatformAccount, TheirSide } from "../../records/drift.ts";
import type { Ledger } from "../../records/ledger.ts";
import type { LegName } from "../../records/leg.ts";
import type { Position } from "../../records/position.ts";
import type { Transaction } from "../../records/transaction.ts";
import { rational, shortDecimalText } from "../../trading/pricing/rational.ts";
import { isOpen } from "../command/command.ts";

/** A snapshot as far as its accounts are compared with ours: of which source, and of which moment. */
export interface ComparedSnapshot {
  readonly source: { readonly id: string; readonly name: string };
  /** Number of the last item of the source that the snapshot includes. */
  readonly as_of_seq: string;
  /** From when on an effect without a number is left out of a comparison, RFC 3339. */
  readonly unnumbered_since: string;
}

/** From when on an effect without a number is left out of a snapshot that was taken at this time, RFC 3339. */
export function unnumberedSince({ taken_at }: { readonly taken_at: string }): string {
  return new Date(Date.parse(taken_at) - limits.snapshots.unnumbered_seconds * 1000).toISOString();
}

/** A booking or a close of a position, with the item of a feed that caused it. */
export interface Effect {
  readonly source_id: string | undefined;
  /** Absent where no item is known yet. */
  readonly feed_seq: string | undefined;
  readonly at: string;
  readonly balance_minor: bigint;
  readonly credit_minor: bigint;
  /** Identifier under which it is reported as left out: its transaction, its trade or its ledger entry. */
  readonly id: string;
  /** The position that it closed, by {@link positionKey}; undefined where it closed none. */
  readonly closed: string | undefined;
  /** The platform is still asked for it: no snapshot includes it. */
  readonly awaited?: boolean;
}

/** An account of this service with its effects since {@link ComparedSnapshot.unnumbered_since} at the latest. */
export interface OurSide {
  readonly account: Pick<Account, "currency" | "position_mode">;
  readonly balance_minor: bigint;
  readonly credit_minor: bigint;
  readonly positions: readonly Position[];
  readonly effects: readonly Effect[];
}

/** Possible differences between two books of one login. */
export type DifferenceKind =
  | "balance"
  | "credit"
  | "position_missing_here"
  | "position_missing_there"
  | "position_lots"
  | "position_side"
  | "account_unknown"
  | "account_missing";

/** One difference between two books, each side as text; null where it has nothing. */
export interface Difference {
  readonly kind: DifferenceKind;
  /** Identifier of the position at its source, or its own where the source has none; null for money and accounts. */
  readonly position_id: string | null;
  readonly symbol: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
  /** Price at which the platform opened the position; null where there is none, or several. */
  readonly open_price: string | null;
  /** The account of the platform, where it is not known here and can be adopted. */
  readonly platform_account?: PlatformAccount;
  /** Of all of its positions, where it has more than those of {@link platform_account}. */
  readonly positions_digest?: string;
}

/** Result of the comparison of an account. */
export interface Comparison {
  /** `moved_on`: what could not be compared has changed since; the rest is equal. */
  readonly status: "equal" | "moved_on" | "drifting";
  readonly differences: readonly Difference[];
  /** Transactions, trades and positions that were not compared, because they came later or have no number yet. */
  readonly left_out: readonly string[];
  /** Subjects of differences that were not compared, see {@link subjectOf}: nothing is known of them. */
  readonly uncompared: readonly string[];
}

/** Subject of a difference: money, one position, or whether the account is there. */
export function subjectOf({ kind, position_id }: Pick<Difference, "kind" | "position_id">): string {
  if (kind === "balance" || kind === "credit") return kind;
  return position_id === null ? "account" : positionSubject(position_id);
}

/** The subject of a position by any of its names. */
export function positionSubject(name: string): string {
  return `position ${name}`;
}

/**
 * Compares an account with the platform's at the number of an item: without what later items did, and without what was
 * booked a short time ago and no item has reported yet. Money in flight is not booked, so it is in neither book: an
 * operation that the platform has made and reported up to this number is booked.
 */
export function compareAccount(ours: OurSide, theirs: TheirSide, moment: ComparedSnapshot): Comparison {
  const effects = ours.effects.filter((effect) => isLeftOut(effect, moment));
  const money = (["balance", "credit"] as const).flatMap((kind) => moneyDifference(kind, ours, effects, theirs));
  const unknown = money.filter(({ ours: text }) => text === null);
  const positions = comparePositions(ours, theirs, effects, moment);
  const differences = [...money.filter((each) => !unknown.includes(each)), ...positions.differences];
  const left_out = [...new Set([...effects.map(({ id }) => id), ...positions.left_out])];
  const uncompared = [...unknown.map(subjectOf), ...positions.uncompared];
  if (differences.length > 0) return { status: "drifting", differences, left_out, uncompared };
  return { status: uncompared.length > 0 ? "moved_on" : "equal", differences, left_out, uncompared };
}

/** Whether a snapshot of this number cannot include an effect, or need not yet. */
export function isLeftOut(
  { source_id, feed_seq, at, awaited }: Pick<Effect, "source_id" | "feed_seq" | "at" | "awaited">,
  {
    source,
    as_of_seq,
    unnumbered_since,
  }: Pick<ComparedSnapshot, "as_of_seq" | "unnumbered_since"> & {
    readonly source: Pick<ComparedSnapshot["source"], "id">;
  },
): boolean {
  if (awaited === true) return true;
  if (source_id === source.id && feed_seq !== undefined) return BigInt(feed_seq) > BigInt(as_of_seq);
  return at > unnumbered_since;
}

/**
 * The difference of a sum of money; one whose own side is null says that theirs is more than there can be. An amount
 * with more digits than the currency is compared rounded, as the money of items is booked.
 */
function moneyDifference(
  kind: "balance" | "credit",
  ours: OurSide,
  leftOut: readonly Effect[],
  theirs: TheirSide,
): readonly Difference[] {
  const { currency } = ours.account;
  const nothing = { kind, position_id: null, symbol: null, open_price: null } as const;
  const text = theirs[kind];
  const member = `${kind}_minor` as const;
  const minor = leftOut.reduce((sum, effect) => sum - effect[member], ours[member]);
  const reported = roundReported(text, currency);
  const given = typeof reported === "bigint" ? reported : undefined;
  if (given === undefined) return [{ ...nothing, ours: null, theirs: text }];
  return given === minor
    ? []
    : [{ ...nothing, ours: formatAmount(minor, currency), theirs: formatAmount(given, currency) }];
}

type TheirPosition = TheirSide["positions"][number];

/** One position of either side. With netting it is that of a symbol. */
interface ComparedPosition {
  readonly position_id: string;
  readonly symbol: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly open_price: string | null;
}

function comparePositions(
  ours: OurSide,
  theirs: TheirSide,
  effects: readonly Effect[],
  moment: ComparedSnapshot,
): Pick<Comparison, "differences" | "left_out" | "uncompared"> {
  const { position_mode: mode } = ours.account;
  const moved = ours.positions.filter((position) => isLeftOut(lastChange(position, moment), moment));
  const skipped = new Set(
    [...moved.map((position) => positionKey(mode, position)), ...effects.map(({ closed }) => closed)].filter(
      (key) => key !== undefined,
    ),
  );
  const here = byKey(
    ours.positions.map((position) => [positionKey(mode, position), { ...position, position_id: nameOf(position) }]),
  );
  const there = byKey(theirs.positions.map((position) => [theirKey(mode, position), position]));
  const keys = [...new Set([...here.keys(), ...there.keys()])].toSorted();
  const compared = keys.filter((key) => !skipped.has(key));
  // With netting a difference has the name of a position of either side, and not the symbol that it is compared by.
  const names = [...skipped].flatMap((key) => [
    key,
    ...[here.get(key), there.get(key)].flatMap((held) => held?.position_id ?? []),
  ]);
  return {
    differences: compared.flatMap((key) => positionDifference(here.get(key), there.get(key))),
    left_out: [...skipped].toSorted(),
    uncompared: [...new Set(names)].map(positionSubject),
  };
}

/** The item that changed a position last, or when it was changed by anything else. */
function lastChange({ source, feed_seq, updated_at: at }: Position, moment: ComparedSnapshot) {
  return { source_id: source === moment.source.name ? moment.source.id : undefined, feed_seq, at };
}

function nameOf({ source_position_id, id }: Position): string {
  return source_position_id ?? id;
}

/** Key of a position in both books: with hedging its name at its source, with netting its symbol. */
export function positionKey(
  mode: Account["position_mode"],
  position: Pick<Position, "id" | "symbol" | "source_position_id">,
): string {
  return mode === "netting" ? position.symbol : (position.source_position_id ?? position.id);
}

function theirKey(mode: Account["position_mode"], { position_id, symbol }: TheirPosition): string {
  return mode === "netting" ? symbol : position_id;
}

/** Positions by their key; those of one key are one position with the sum of their lots. */
function byKey(held: readonly (readonly [string, ComparedPosition])[]): ReadonlyMap<string, ComparedPosition> {
  const found = new Map<string, ComparedPosition>();
  for (const [key, position] of held) {
    const other = found.get(key);
    found.set(key, other === undefined ? position : summed(other, position));
  }
  return found;
}

function summed(one: ComparedPosition, other: ComparedPosition): ComparedPosition {
  const signed = ({ side, lots }: ComparedPosition) => (side === "buy" ? rational(lots) : rational(lots).neg());
  const sum = signed(one).add(signed(other));
  return { ...one, side: sum.lt(0n) ? "sell" : "buy", lots: shortDecimalText(sum.abs(), 2, 8), open_price: null };
}

function positionDifference(
  ours: ComparedPosition | undefined,
  theirs: ComparedPosition | undefined,
): readonly Difference[] {
  const held = theirs ?? ours;
  if (held === undefined) return [];
  const { position_id, symbol } = held;
  const of = (kind: DifferenceKind): readonly Difference[] => [
    { kind, position_id, symbol, ours: textOf(ours), theirs: textOf(theirs), open_price: theirs?.open_price ?? null },
  ];
  if (ours === undefined) return of("position_missing_here");
  if (theirs === undefined) return of("position_missing_there");
  if (ours.side !== theirs.side) return of("position_side");
  return rational(ours.lots).equals(theirs.lots) ? [] : of("position_lots");
}

function textOf(held: ComparedPosition | undefined): string | null {
  return held === undefined ? null : `${held.side} ${held.lots}`;
}

/** The leg of its transaction that a ledger entry booked. */
function legOf({ kind, amount_minor, moves }: Ledger): LegName {
  // Credit is not brought back: other credit takes it back.
  if (moves === "credit") return "forward";
  const back = kind === "withdrawal" || kind === "transfer_out" ? amount_minor > 0n : amount_minor < 0n;
  return kind === "return" || (back && kind !== "adjustment") ? "reverse" : "forward";
}

/**
 * Effect of an entry of the ledger, with the item that caused it. An entry of an acknowledgement or of a person has the
 * number of the item that reported it later, which its transaction keeps.
 * @param closed the position that it closed, by {@link positionKey}
 */
export function effectOf(entry: Ledger, transaction: Transaction | undefined, closed: string | undefined): Effect {
  const { source_id, feed_seq, transaction_id, trade_id, id, created_at: at, amount_minor } = entry;
  const operation = transaction?.platform_operations?.find(({ leg }) => leg === legOf(entry));
  const joined = operation?.feed_seq === undefined ? undefined : operation;
  const granted = entry.moves === "credit";
  return {
    source_id: source_id ?? joined?.source_id,
    feed_seq: feed_seq ?? joined?.feed_seq,
    at,
    balance_minor: granted ? 0n : amount_minor,
    credit_minor: granted ? amount_minor : 0n,
    id: transaction_id ?? trade_id ?? id,
    closed,
  };
}

/**
 * Effect of an entry that was settled here, by the command that the platform follows it with: the entry itself has the
 * number of the item that caused it, and the platform has it by a later one. Undefined where the platform refused the
 * command: then the books differ by it.
 */
function effectOfSettlement(command: SettlementCommand): Effect | undefined {
  const { source_id, feed_seq, status, done_at, updated_at, amount_minor: minor, type } = command;
  const awaited = feed_seq === undefined && isOpen(command);
  if (feed_seq === undefined && !awaited && status !== "done") return undefined;
  const credits = type === "credit_operation";
  const money = { balance_minor: credits ? 0n : minor, credit_minor: credits ? minor : 0n };
  const id = command.transaction_id ?? command.id;
  return { source_id, feed_seq, at: done_at ?? updated_at, ...money, id, closed: undefined, awaited };
}

/**
 * Effects of entries, where those that the platform follows by a command of its own are replaced by those of commands.
 * @param entries each with its effect
 * @param commands those that the balance names
 */
export function effectsWith(
  entries: readonly (readonly [Pick<Ledger, "command_id">, Effect])[],
  commands: readonly SettlementCommand[],
): readonly Effect[] {
  const settled = new Map(commands.map((command) => [command.id, effectOfSettlement(command)]));
  const own = entries.flatMap(([{ command_id }, effect]) =>
    settled.get(command_id ?? "") === undefined ? [effect] : [],
  );
  return [...own, ...[...settled.values()].filter((effect) => effect !== undefined)];
}
