import { type Context, notFound } from "../domain/decision.ts";
import type { Drift, DriftDecision, Reconciliation } from "../domain/drift/drift.ts";
import { type Compared, type Reconciled, reconcile, type SnapshotRef } from "../domain/drift/reconcile.ts";
import { type DriftState, resolveDrift } from "../domain/drift/resolve.ts";
import type { SnapshotHead } from "../domain/drift/snapshot.ts";
import type { FeedReject } from "../domain/feed/records.ts";
import type { TradingChange, TradingDecision } from "../domain/trading/changes.ts";
import { metricsAt } from "../domain/trading/margin.ts";
import { withMarginUpdate } from "../domain/trading/watch.ts";
import { awaitsPlatform, type Transaction } from "../domain/transaction.ts";
import { limits } from "../limits.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { ResolveDrift } from "../schema/feed/drift.ts";
import {
  drifts,
  type Entity,
  feedRejects,
  reconciliations,
  snapshotHeads,
  transactions,
  unjoinedLegs,
} from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { type Committable, findAll, type Load, type PreparedChange, type Ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { putNew, type TransactItem, updateItem } from "../table/write.ts";
import { type Attempted, commitDecision, prepared } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { moneyRefs, readHeld } from "../trading/margin.ts";

/** References to what is kept of drifts. */
export const driftRef = {
  drift: (id: string): Ref<Drift> => ({ keyIn: (tenant) => drifts.key(tenant, id) }),
  reconciliation: (sourceId: string, login: string): Ref<Reconciliation> => ({
    keyIn: (tenant) => reconciliations.key(tenant, sourceId, login),
  }),
  head: (sourceId: string): Ref<SnapshotHead> => ({ keyIn: (tenant) => snapshotHeads.key(tenant, sourceId) }),
};

/** The open drifts that are remembered of a login. */
async function driftsOf(tenant: string, reconciliation: Reconciliation | undefined): Promise<Drift[]> {
  const ids = Object.values(reconciliation?.open ?? {});
  if (ids.length === 0) return [];
  return findAll<Drift>(
    drifts,
    ids.map((id) => drifts.key(tenant, id)),
  );
}

/**
 * Remembers what the comparison of a login came to. Decided again from new reads when another one comes between; the
 * same comparison again changes nothing.
 * @throws Unavailable when too many others change the same login
 */
export async function remember(attempted: Attempted, compared: Compared, snapshot: SnapshotRef): Promise<Reconciled> {
  const outcome = await commitDecision(attempted, async (load, context) => {
    const { platform_login: login } = compared;
    const { reconciliation } = await load({ reconciliation: driftRef.reconciliation(snapshot.source_id, login) });
    const open = await driftsOf(context.tenant_id, reconciliation);
    return storedWith(reconcile({ reconciliation, drifts: open }, compared, snapshot, context), context);
  });
  if (outcome.kind !== "done") throw new Unavailable(`The drifts of ${compared.platform_login} change all the time.`);
  return outcome.result;
}

/** Finds what may be the cause of differences; the rejected items of a source are read once for all of its accounts. */
export class Explanations {
  private readonly tenant: string;
  private readonly sourceId: string;
  private rejects: Promise<readonly FeedReject[]> | undefined;

  constructor(tenant: string, sourceId: string) {
    this.tenant = tenant;
    this.sourceId = sourceId;
  }

  /** What may explain that an account differs: items that were put aside, commands, and money that no item reported. */
  async of(login: string, accountId: string | null): Promise<Drift["explained_by"]> {
    const [aside, unreported] = await Promise.all([
      this.asideOf(login),
      accountId === null ? [] : this.unreportedOf(accountId),
    ]);
    return [
      ...aside.map(({ code, seq }) => ({
        type: code === "possible_duplicate" ? ("possible_duplicate" as const) : ("reject" as const),
        id: seq,
      })),
      ...unreported.map(explanationOf),
    ];
  }

  /** Open rejects of a login. */
  async asideOf(login: string): Promise<readonly FeedReject[]> {
    this.rejects ??= this.readRejects();
    return (await this.rejects).filter(({ item }) => loginIn(item) === login);
  }

  private async readRejects(): Promise<readonly FeedReject[]> {
    const partition = feedRejects.partition(this.tenant, this.sourceId);
    const newest = { descending: true, max_items: limits.snapshots.searched_rejects };
    const found = (await readPartition(partition, newest)).map((item) => readItem<FeedReject>(item));
    return found.filter(({ status }) => status === "open");
  }

  private async unreportedOf(accountId: string): Promise<readonly Transaction[]> {
    const partition = unjoinedLegs.partition(this.tenant, accountId);
    const legs = await readPartition(partition, { max_items: limits.feed.max_candidates });
    const ids = new Set(legs.map((leg) => String(leg["transaction_id"])));
    return findAll<Transaction>(
      transactions,
      [...ids].map((id) => transactions.key(this.tenant, id)),
    );
  }
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
  const [{ source, reconciliation, head, risk, tenant, account, balance }, explained_by] = await Promise.all([
    load({
      ...moneyRefs(account_id ?? ""),
      source: tradingRef.feedSource(source_id),
      reconciliation: driftRef.reconciliation(source_id, platform_login),
      head: driftRef.head(source_id),
    }),
    new Explanations(context.tenant_id, source_id).of(platform_login, account_id),
  ]);
  if (source === undefined || tenant === undefined) return notFound();
  const shared = { drift, reconciliation, source, head, tenant, explained_by };
  const decide = (state: Pick<DriftState, "account" | "balance" | "floating_minor">) =>
    resolveDrift({ ...shared, ...state }, request, context);
  if (account === undefined || balance === undefined) {
    return storedWith(decide({ account: undefined, balance: undefined, floating_minor: 0n }), context);
  }
  const held = await readHeld(load, context, { account, balance, risk });
  if (held === undefined) return storedWith(decide({ account, balance, floating_minor: 0n }), context);
  const { state, market } = held;
  const { floating_minor } = metricsAt(market, state, context.now);
  return storedWith(decide({ ...state, floating_minor }), context, (decision) =>
    withMarginUpdate(state, decision, market, context),
  );
}

/**
 * A decision about drifts in the table's form.
 * @param after what follows from what it books
 */
function storedWith<R>(
  decision: DriftDecision<R>,
  context: Context,
  after = (booked: TradingDecision<R>) => booked,
): Committable<R> {
  if (!decision.ok) return decision;
  const items: PreparedChange[] = [];
  const others: TradingChange[] = [];
  for (const change of decision.changes) {
    if (!("entity" in change)) others.push(change);
    else if (change.entity === "drift") items.push({ op: "prepared", item: itemOf(drifts, change) });
    else if (change.entity === "reconciliation") items.push({ op: "prepared", item: itemOf(reconciliations, change) });
    else others.push(change);
  }
  const stored = prepared(after({ ...decision, changes: others }), context);
  return stored.ok ? { ...stored, changes: [...items, ...stored.changes] } : stored;
}

function itemOf<T extends object & { readonly version: number }>(
  kind: Entity<T>,
  change:
    | { readonly op: "create"; readonly item: T }
    | { readonly op: "update"; readonly before: T; readonly after: T },
): TransactItem {
  return change.op === "create" ? putNew(kind, change.item) : updateItem(kind, change.before, change.after);
}
