import { isOpen } from "../domain/feed/command/command.ts";
import { positionsNamed } from "../domain/feed/drift/adopt-position.ts";
import type { DriftDecision, Reconciliation } from "../domain/feed/drift/drift.ts";
import { type Compared, type Reconciled, reconcile, type SnapshotRef } from "../domain/feed/drift/reconcile.ts";
import { type DriftState, resolveDrift } from "../domain/feed/drift/resolve.ts";
import { type Context, notFound } from "../domain/kernel/decision.ts";
import { awaitsPlatform } from "../domain/money/transaction.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import type { Drift } from "../domain/records/drift.ts";
import type { FeedReject } from "../domain/records/feed-item.ts";
import type { TradingChange, TradingDecision } from "../domain/records/trading-change.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { ResolveDrift } from "../schema/feed/drift.ts";
import {
  commands,
  driftPositions,
  drifts,
  type Entity,
  feedRejects,
  type Key,
  reconciliations,
  transactions,
  unjoinedLegs,
} from "../table/entities.ts";
import { pagesOf, readPartition } from "../table/partition.ts";
import { type Committable, findAll, type Load, type PreparedChange, ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { putMember, putNew, type TransactItem, updateItem } from "../table/write.ts";
import { type Attempted, commitDecision, decisionAbout, prepared } from "../trading/commit.ts";
import { readsOf } from "../trading/holdings.ts";
import { tradingRef } from "../trading/items.ts";
import { driftRef } from "./drift-refs.ts";
import { positionRef } from "./marks.ts";

/** The open drifts that are remembered of a login. */
async function driftsOf(tenant: string, reconciliation: Reconciliation | undefined): Promise<Drift[]> {
  const ids = Object.values(reconciliation?.open ?? {});
  if (ids.length === 0) return [];
  return findAll<Drift>(
    drifts,
    ids.map((id) => drifts.key(tenant, id)),
  );
}

/** The commands that correct drifts. */
async function commandsOf(load: Load, open: readonly Drift[]): Promise<readonly PlatformCommand[]> {
  const ids = open.flatMap(({ command_id: id }) => id ?? []);
  if (ids.length === 0) return [];
  const found = await load(Object.fromEntries(ids.map((id) => [id, tradingRef.command(id)])));
  return Object.values(found).filter((command) => command !== undefined);
}

/**
 * Remembers what the comparison of a login came to. Decided again from new reads when another one comes between; the
 * same comparison again changes nothing.
 * @throws Unavailable when too many others change the same login
 */
export async function remember(attempted: Attempted, compared: Compared, snapshot: SnapshotRef): Promise<Reconciled> {
  const outcome = await commitDecision(attempted, async (load, context) => {
    const { platform_login: login } = compared;
    const { reconciliation, head } = await load({
      reconciliation: driftRef.reconciliation(snapshot.source_id, login),
      // Nothing is remembered of an account that a newer snapshot has found equal meanwhile.
      ...(compared.comparison.differences.length === 0 ? {} : { head: driftRef.head(snapshot.source_id) }),
    });
    const open = await driftsOf(context.tenant_id, reconciliation);
    const commands = await commandsOf(load, open);
    const remembered = { reconciliation, head, drifts: open, commands };
    const { booked, items } = divided(reconcile(remembered, compared, snapshot, context));
    return withItems(items, prepared(booked, context));
  });
  if (outcome.kind !== "done") throw new Unavailable(`The drifts of ${compared.platform_login} change all the time.`);
  return outcome.result;
}

/** Finds what may be the cause of differences; the rejected items of a source are read once for all of its accounts. */
export class Explanations {
  private readonly tenant: string;
  private readonly sourceId: string;
  private readonly most: number | undefined;
  private rejects: Promise<readonly FeedReject[]> | undefined;

  /** @param most rejected items that are searched, the newest; all of them without it */
  constructor(tenant: string, sourceId: string, most?: number) {
    this.tenant = tenant;
    this.sourceId = sourceId;
    this.most = most;
  }

  /** Possible causes of a difference: items that were put aside, commands, and money that no item reported. */
  async of(login: string, accountId: string | null): Promise<Drift["explained_by"]> {
    const [aside, unreported] = await Promise.all([
      this.asideOf(login, accountId),
      accountId === null ? [] : this.unreportedOf(accountId),
    ]);
    return [
      ...aside.map(({ code, id }) => ({
        type: code === "possible_duplicate" ? ("possible_duplicate" as const) : ("reject" as const),
        id,
      })),
      ...unreported,
    ];
  }

  /** Open rejects of a login, or of its account where they name none. */
  private async asideOf(login: string, accountId: string | null): Promise<readonly FeedReject[]> {
    this.rejects ??= this.readRejects();
    return (await this.rejects).filter(
      ({ item, account_id }) => loginIn(item) === login || (account_id !== undefined && account_id === accountId),
    );
  }

  private async readRejects(): Promise<readonly FeedReject[]> {
    const partition = feedRejects.partition(this.tenant, this.sourceId);
    const open: FeedReject[] = [];
    let searched = 0;
    for await (const { items } of pagesOf(partition, { descending: true })) {
      open.push(...items.map((item) => readItem<FeedReject>(item)).filter(({ status }) => status === "open"));
      searched += items.length;
      if (this.most !== undefined && searched >= this.most) break;
    }
    return open;
  }

  /** Every command of an account that has not ended, since each forbids an adoption, and some of the other money. */
  private async unreportedOf(accountId: string): Promise<Drift["explained_by"]> {
    const legs = await readPartition(unjoinedLegs.partition(this.tenant, accountId));
    const named = (member: string) => [...new Set(legs.flatMap((leg) => (leg[member] as string | undefined) ?? []))];
    const [found, corrections] = await Promise.all([
      findSome<Transaction>(transactions, named("transaction_id"), (id) => transactions.key(this.tenant, id)),
      findSome<PlatformCommand>(commands, named("command_id"), (id) => commands.key(this.tenant, id)),
    ]);
    const asked = new Set(corrections.filter(isOpen).flatMap(({ transaction_id: id }) => id ?? []));
    // A correction that the platform is asked to follow is explained by the command.
    const all = found.filter(({ id }) => !asked.has(id)).map(explanationOf);
    const others = all.filter(({ type }) => type === "transaction").slice(0, limits.feed.max_candidates);
    const open = corrections.filter(isOpen).map(({ id }) => ({ type: "command", id }) as const);
    return [...all.filter(({ type }) => type === "command"), ...open, ...others];
  }
}

async function findSome<T extends object>(entity: Entity<T>, ids: readonly string[], keyOf: (id: string) => Key) {
  return ids.length === 0 ? [] : findAll<T>(entity, ids.map(keyOf));
}

/** Money that no item has reported: its command, as long as that has not moved it. */
function explanationOf(transaction: Transaction): Drift["explained_by"][number] {
  const { id, command_id, returning } = transaction;
  const awaited = awaitsPlatform(transaction) || returning !== undefined;
  return command_id !== undefined && awaited ? { type: "command", id: command_id } : { type: "transaction", id };
}

/** The login that an item names, as it came. */
function loginIn(item: string): unknown {
  const { data } = JSON.parse(item) as { readonly data?: { readonly platform_login?: unknown } };
  return data?.platform_login;
}

/** Decides how a drift is resolved, with everything that the adoption of the platform's value depends on. */
export async function decideResolution(
  load: Load,
  context: Context,
  id: string,
  request: ResolveDrift,
): Promise<Committable<Drift>> {
  const { drift } = await load({ drift: driftRef.drift(id) });
  if (drift === undefined) return notFound();
  const { source_id, platform_login, account_id } = drift;
  const [{ source, tenant, ...compared }, explained_by] = await Promise.all([
    load({
      tenant: ref.tenant(),
      source: tradingRef.feedSource(source_id),
      reconciliation: driftRef.reconciliation(source_id, platform_login),
      head: driftRef.head(source_id),
      ...(drift.command_id === null ? {} : { command: tradingRef.command(drift.command_id) }),
    }),
    new Explanations(context.tenant_id, source_id).of(platform_login, account_id),
  ]);
  if (source === undefined || tenant === undefined) return notFound();
  const positions = await positionsOf(load, drift, request);
  const state = { command: undefined, ...compared, drift, source, tenant, explained_by, positions };
  const adopted = account_id ?? request.account_id;
  if (adopted === undefined || request.action === "accept") {
    const { booked, items } = divided(resolveDrift({ ...state, books: undefined }, request, context));
    return withItems(items, prepared(booked, context));
  }
  return decideAdoption(load, context, adopted, state, request);
}

/** The positions of an account that is to be adopted, where the drift does not have them itself. */
async function positionsOf(load: Load, drift: Drift, { action }: ResolveDrift) {
  if (action !== "adopt_platform" || drift.positions_digest === undefined) return undefined;
  const { kept } = await load({ kept: driftRef.positions(drift.id) });
  return kept?.positions;
}

/** Decides a resolution with the positions, the trades and the market of the account. */
async function decideAdoption(
  load: Load,
  context: Context,
  account_id: string,
  state: Omit<DriftState, "books">,
  request: ResolveDrift,
): Promise<Committable<Drift>> {
  const { drift, source } = state;
  const { symbol, position_id } = drift;
  const owner = position_id === null ? {} : { owner: positionRef(source, position_id) };
  let written: readonly PreparedChange[] = [];
  const refs: { readonly owner?: ReturnType<typeof positionRef> } = owner;
  const decision = await decisionAbout<Drift, typeof refs>(readsOf(load), context, {
    account_id,
    refs,
    needs: (held) => {
      const opened = state.positions ?? drift.platform_account?.positions ?? [];
      const symbols = symbol === null ? [...new Set(opened.map((each) => each.symbol))] : [symbol];
      const about = symbols.length === 0 ? {} : { symbols, source: source.name };
      return { ...about, trades: positionsNamed(held, drift).map(({ trade_id }) => trade_id) };
    },
    decide: (held, market, found) => {
      const books = { state: held, market, owner_id: found.owner?.owner_id };
      const { booked, items } = divided(resolveDrift({ ...state, books }, request, context));
      written = items;
      return booked;
    },
  });
  return withItems(written, prepared(decision, context));
}

/** A decision about drifts without the items of drifts, and these in the table's form. */
function divided<R>(decision: DriftDecision<R>): {
  readonly booked: TradingDecision<R>;
  readonly items: readonly PreparedChange[];
} {
  if (!decision.ok) return { booked: decision, items: [] };
  const items: PreparedChange[] = [];
  const others: TradingChange[] = [];
  for (const change of decision.changes) {
    if (change.op === "keep") items.push({ op: "prepared", item: putMember(driftPositions, change.item) });
    else if (!("entity" in change)) others.push(change);
    else if (change.entity === "drift") items.push({ op: "prepared", item: itemOf(drifts, change) });
    else if (change.entity === "reconciliation") items.push({ op: "prepared", item: itemOf(reconciliations, change) });
    else others.push(change);
  }
  return { booked: { ...decision, changes: others }, items };
}

function withItems<R>(items: readonly PreparedChange[], decision: Committable<R>): Committable<R> {
  return decision.ok ? { ...decision, changes: [...items, ...decision.changes] } : decision;
}

function itemOf<T extends object & { readonly version: number }>(
  kind: Entity<T>,
  change:
    | { readonly op: "create"; readonly item: T }
    | { readonly op: "update"; readonly before: T; readonly after: T },
): TransactItem {
  return change.op === "create" ? putNew(kind, change.item) : updateItem(kind, change.before, change.after);
}
