import type { Reconciliation } from "../domain/feed/drift/drift.ts";
import { type Compared, isOlder, type Reconciled } from "../domain/feed/drift/reconcile.ts";
import {
  nothingCompared,
  refuseConflict,
  refuseOther,
  refusePart,
  type Snapshot,
  type SnapshotEnd,
  type SnapshotHead,
  type SnapshotPart,
  snapshotOf,
} from "../domain/feed/drift/snapshot.ts";
import type { Account } from "../domain/records/account.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import { refused } from "../http/problem.ts";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { countMetric } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import type { SnapshotPartInput } from "../schema/feed/snapshot.ts";
import { accounts, reconciliations, snapshotEnds, snapshotHeads, snapshotParts, snapshots } from "../table/entities.ts";
import { changeVersion, putOnce } from "../table/items.ts";
import { keyIn, pagesOf, readPartition } from "../table/partition.ts";
import { findAll, readAll, readEach, readKeys } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { indexes } from "../table/table-shape.ts";
import type { Attempted } from "../trading/commit.ts";
import { type Comparing, compareAll, missingAccount, momentOf } from "./comparing.ts";
import { Explanations, remember } from "./drifts.ts";

/** Sender of a snapshot, and the time for it. */
export interface SnapshotRun extends Attempted {
  readonly source: FeedSource;
}

/**
 * Compares the accounts of a part with those of this service and keeps the result. A part that came before is answered
 * from what was kept, and one whose process died is compared again, which changes nothing that was found then. The part
 * that comes last completes its snapshot.
 * @throws HttpProblem when the part contradicts others, or includes items that have not come
 */
export async function receivePart(run: SnapshotRun, body: SnapshotPartInput): Promise<SnapshotPart> {
  const { source, tenant_id: tenant } = run;
  const now = nowIso();
  const refusal = refusePart(source, body, now);
  if (refusal !== undefined) throw refused(refusal.refusal);
  const given = snapshotOf(source, body, now);
  const [known, part, head] = await readKeys([
    snapshots.keyOf(given),
    snapshotParts.key(tenant, source.id, given.snapshot_id, body.part),
    snapshotHeads.key(tenant, source.id),
  ]);
  const snapshot = (known as Snapshot | undefined) ?? (await putOnce(snapshots, given)) ?? given;
  const other = refuseOther(snapshot, given);
  if (other !== undefined) throw refused(other.refusal);
  const digest = sha256(JSON.stringify(body.accounts));
  const received = (part as SnapshotPart | undefined) ?? (await newPart(run, snapshot, body, digest, head as Head));
  if (received.digest !== digest) {
    throw refused(refuseConflict("Another part of the snapshot has this number.").refusal);
  }
  await completeSnapshot(run, snapshot);
  return received;
}

type Head = SnapshotHead | undefined;

async function newPart(
  run: SnapshotRun,
  snapshot: Snapshot,
  body: SnapshotPartInput,
  digest: string,
  head: Head,
): Promise<SnapshotPart> {
  const { tenant_id, source_id, snapshot_id, expires_at } = snapshot;
  const logins = JSON.stringify(body.accounts.map(({ platform_login }) => platform_login));
  const shared = { tenant_id, source_id, snapshot_id, part: body.part, digest, logins, expires_at };
  const newest = await advanceHead(snapshot, head);
  const result = newest ? await compareAccounts(run, snapshot, body) : superseded;
  const part: SnapshotPart = { ...shared, ...result };
  return (await putOnce(snapshotParts, part)) ?? part;
}

type PartResult = Omit<
  SnapshotPart,
  "tenant_id" | "source_id" | "snapshot_id" | "part" | "digest" | "logins" | "expires_at"
>;

const superseded: PartResult = { ...nothingCompared, status: "superseded", left_out: [] };

/** Notes the newest snapshot of a source; false where a newer one has come. */
async function advanceHead(snapshot: Snapshot, first: Head): Promise<boolean> {
  const { tenant_id, source_id, snapshot_id, as_of_seq, taken_at } = snapshot;
  let before = first;
  for (let attempt = 0; attempt < limits.commit.decision_tries; attempt += 1) {
    if (before?.snapshot_id === snapshot_id) return true;
    if (before !== undefined && isOlder(snapshot, before)) return false;
    const fields = { tenant_id, source_id, snapshot_id, as_of_seq, taken_at };
    const after: SnapshotHead = { ...fields, received_at: nowIso(), version: (before?.version ?? 0) + 1 };
    const done =
      before === undefined
        ? (await putOnce(snapshotHeads, after)) === undefined
        : await changeVersion(snapshotHeads, before, after);
    if (done) return true;
    [before] = await readAll<SnapshotHead>(snapshotHeads, [snapshotHeads.keyOf(after)]);
  }
  throw new Unavailable(`The newest snapshot of ${source_id} changes all the time.`);
}

/** Compares the accounts of a part, and writes what is to be remembered: nothing of an account that is as it was. */
async function compareAccounts(run: SnapshotRun, snapshot: Snapshot, body: SnapshotPartInput): Promise<PartResult> {
  const comparing: Comparing = { tenant_id: run.tenant_id, source: run.source, ...orderOf(snapshot) };
  const compared = await compareAll(comparing, body.accounts);
  const results = await rememberAll(run, snapshot, compared);
  const count = (status: Reconciled["status"]) => results.filter((each) => each.status === status).length;
  const named = compared.filter(({ comparison }) => comparison.left_out.length > 0);
  return {
    status: "compared",
    compared: results.length - count("superseded"),
    ...{ equal: count("equal"), moved_on: count("moved_on"), drifting: count("drifting") },
    left_out: named.slice(0, limits.snapshots.named_accounts).map(({ platform_login, comparison }) => ({
      platform_login,
      ids: comparison.left_out.slice(0, limits.snapshots.named_ids),
    })),
  };
}

function orderOf({ as_of_seq, taken_at }: Snapshot) {
  return { as_of_seq, taken_at };
}

/** Remembers what logins came to, and counts the open drifts and the accounts that have not been compared for a day. */
async function rememberAll(
  run: SnapshotRun,
  snapshot: Snapshot,
  compared: readonly Compared[],
): Promise<readonly Reconciled[]> {
  const { tenant_id: tenant, source } = run;
  const keys = compared.map(({ platform_login }) => reconciliations.key(tenant, source.id, platform_login));
  // Whatever is written is decided on a consistent read of its own.
  const known = await readEach<Reconciliation>(keys, { consistent: false });
  const explanations = new Explanations(tenant, source.id, limits.snapshots.searched_rejects);
  const results: Reconciled[] = [];
  await inParallel(limits.snapshots.parallel, compared, async (each, place) => {
    const { comparison, platform_login, account_id } = each;
    if (known[place] === undefined && comparison.status === "equal") {
      results[place] = { status: "equal", moved_on_since: undefined };
      return;
    }
    const explained_by = comparison.status === "drifting" ? await explanations.of(platform_login, account_id) : [];
    const own = await unlessUnreadable(remember(run, { ...each, explained_by }, refOf(snapshot)));
    results[place] = own instanceof UnreadableItem ? { status: "moved_on", moved_on_since: undefined } : own;
  });
  const drifting = results.filter(({ status }) => status === "drifting").length;
  if (drifting > 0) countMetric("DriftOpen", drifting);
  const since = new Date(nowMs() - limits.snapshots.moved_on_alarm_seconds * 1000).toISOString();
  const late = results.filter(({ moved_on_since }) => moved_on_since !== undefined && moved_on_since < since).length;
  if (late > 0) countMetric("AccountMovedOn", late);
  return results;
}

function refOf({ source_id, snapshot_id, as_of_seq, taken_at }: Snapshot) {
  return { source_id, snapshot_id, as_of_seq, taken_at };
}

/** Finds which accounts a complete snapshot does not contain, once, when all of its parts have been compared. */
async function completeSnapshot(run: SnapshotRun, snapshot: Snapshot): Promise<void> {
  const { tenant_id, source_id, snapshot_id, expires_at, parts: count } = snapshot;
  if (!snapshot.complete) return;
  const { parts, end } = await readSnapshot(tenant_id, source_id, snapshot_id);
  if (end !== undefined || parts.length < count || parts.some(({ status }) => status === "superseded")) return;
  // A newer one may contain what this one does not.
  const [head] = await readAll<SnapshotHead>(snapshotHeads, [snapshotHeads.key(tenant_id, source_id)]);
  if (head?.snapshot_id !== snapshot_id) return;
  const logins = new Set(parts.flatMap((part) => JSON.parse(part.logins) as string[]));
  const missing = await missingAccounts(run, snapshot, logins);
  const results = await rememberAll(run, snapshot, missing.map(missingAccount));
  const missed = results.filter(({ status }) => status === "drifting").length;
  await putOnce(snapshotEnds, { tenant_id, source_id, snapshot_id, missing: missed, expires_at });
}

/** The open accounts that are linked to a source and that a snapshot of it could contain but does not. */
async function missingAccounts(
  { tenant_id: tenant, source }: SnapshotRun,
  snapshot: Snapshot,
  logins: ReadonlySet<string>,
): Promise<readonly Account[]> {
  const { unnumbered_since } = momentOf({ tenant_id: tenant, source, ...orderOf(snapshot) });
  const found: Account[] = [];
  const { client: index } = indexes;
  for await (const { items } of pagesOf(accounts.ofSource(tenant, source.id), { index })) {
    const others = items.filter((item) => !logins.has(String(item[index.sort])));
    found.push(...(await findAll<Account>(accounts, others.map(keyIn))));
  }
  return found.filter(
    ({ source_id, platform_login, status, updated_at }) =>
      source_id === source.id &&
      status !== "closed" &&
      updated_at <= unnumbered_since &&
      !logins.has(platform_login ?? ""),
  );
}

/** A snapshot with its parts in order, and what was missing once all had come. */
export async function readSnapshot(
  tenant: string,
  sourceId: string,
  snapshotId: string,
): Promise<{
  readonly snapshot: Snapshot | undefined;
  readonly parts: readonly SnapshotPart[];
  readonly end: SnapshotEnd | undefined;
}> {
  const items = await readPartition(snapshots.partition(tenant, sourceId, snapshotId));
  const of = <T>({ et }: { readonly et: string }) =>
    items.filter((item) => item["et"] === et).map((item) => readItem<T>(item));
  const [snapshot] = of<Snapshot>(snapshots);
  const [end] = of<SnapshotEnd>(snapshotEnds);
  return { snapshot, parts: of<SnapshotPart>(snapshotParts), end };
}
