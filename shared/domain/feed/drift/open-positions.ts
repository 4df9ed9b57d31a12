import { limits } from "../../../limits.ts";
import type { Context } from "../../kernel/decision.ts";
import type { Account } from "../../records/account.ts";
import type { Drift, DriftPositions } from "../../records/drift.ts";
import type { FeedSource } from "../../records/feed-source.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";
import { type Book, closeBook, openBook } from "../../trading/book.ts";
import { openStep, type TradingState } from "../../trading/open-trade.ts";
import { refuseExposure } from "../../trading/pricing/bounds.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import { claimPosition } from "../deals.ts";
import { withoutMoney } from "./adopt-position.ts";

type Positions = DriftPositions["positions"];

/** An account that positions of a platform are opened on, with the market that they are valued at. */
export interface Opening {
  readonly state: TradingState;
  readonly market: Market;
  readonly source: FeedSource;
}

/** Opens positions of a platform at their opening prices, without money, as they were when the snapshot was taken. */
export function openPositions(
  { state, market, source }: Opening,
  positions: Positions,
  { taken_at }: Pick<Drift, "taken_at">,
  context: Context,
): TradingDecision<undefined> {
  let book = openBook(state);
  const claims: TradingChange[] = [];
  for (const position of positions) {
    const step = openAdopted(book, { state, market, source }, position, taken_at, context);
    if (!step.ok) return step;
    book = step.book;
    claims.push(...step.claims);
  }
  const exposure = refuseExposure(market, state, book.positions, context.now);
  if (exposure !== undefined) return exposure;
  const decision = closeBook(state, book, context, { result: undefined });
  return decision.ok ? { ...decision, changes: [...decision.changes, ...claims] } : decision;
}

/** The positions of the next step of an adoption that has taken so many so far. */
export function nextPositions(positions: Positions, taken: number): Positions {
  return positions.slice(taken, taken + limits.snapshots.baseline_positions);
}

/** Result of a step of an adoption. */
export interface OpenedStep {
  /** Whether more positions are left. */
  readonly again: boolean;
  /** Positions that cannot be opened, by the name that the platform gives them: the next snapshot reports them. */
  readonly left_out: readonly string[];
}

/**
 * Opens the next positions of an account that is being adopted; the last step ends its adoption. Where another step has
 * come between nothing changes. A position that has a trade already, or that cannot be opened any more, is left out, so
 * that no position holds up its account: a snapshot that differs by it is a drift of its own.
 * @param owned names of positions that have a trade already
 */
export function openNext(
  { state, market, source }: Opening,
  { positions, taken, owned }: { readonly positions: Positions; readonly taken: number; readonly owned: Owned },
  drift: Pick<Drift, "id" | "as_of_seq" | "taken_at">,
  given: Context,
): TradingDecision<OpenedStep> {
  const { account } = state;
  const known = account.opening;
  if (known?.drift_id !== drift.id || known.taken !== taken) {
    return { ok: true, result: { again: known?.drift_id === drift.id, left_out: [] }, changes: [], events: [] };
  }
  const context: Context = { ...given, cause: { source_id: source.id, feed_seq: drift.as_of_seq } };
  const next = nextPositions(positions, taken);
  let book = openBook(state);
  const claims: TradingChange[] = [];
  const left_out: string[] = [];
  for (const position of next) {
    const held = owned.has(position.position_id);
    const step = held ? undefined : openAdopted(book, { state, market, source }, position, drift.taken_at, context);
    if (step?.ok && refuseExposure(market, book, step.book.positions, context.now) === undefined) {
      book = step.book;
      claims.push(...step.claims);
    } else left_out.push(position.position_id);
  }
  const again = taken + next.length < positions.length;
  const after: Account = again ? { ...account, opening: { ...known, taken: taken + next.length } } : adopted(account);
  const update = { op: "update", entity: "account", before: account, after } as const;
  const decision = closeBook(state, book, context, { result: { again, left_out } });
  return decision.ok ? { ...decision, changes: [update, ...decision.changes, ...claims] } : decision;
}

/** Names of positions. */
type Owned = ReadonlySet<string>;

function adopted({ opening: _done, ...account }: Account): Account {
  return account;
}

function openAdopted(
  book: Book,
  { market, source }: Opening,
  { position_id, open_price: price, ...position }: Positions[number],
  at: string,
  context: Context,
) {
  const named = { source: source.name, source_trade_id: position_id, source_position_id: position_id };
  const step = openStep(book, market, { ...position, ...named, price, at, platform: withoutMoney }, context);
  if (!step.ok) return step;
  const claims = step.trade === undefined ? [] : [claimPosition(source, position_id, step.trade, undefined)];
  return { ok: true, book: step.book, claims } as const;
}
