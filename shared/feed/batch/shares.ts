import { crc32 } from "node:zlib";
import { limits } from "../../limits.ts";
import { type SpentUnits, spentUnits, withinBudget } from "../../runtime/budget.ts";
import { nowMs } from "../../runtime/clock.ts";
import { type RequestNames, requestNames, underNames } from "../../runtime/trace.ts";
import { untilAdmitted } from "../../runtime/verdict.ts";
import { type Ask, type WorkerThreads, workerThreads } from "../../runtime/worker-threads.ts";
import type { FeedResultBody } from "../../schema/feed.ts";
import { newContext, type Principal } from "../../table/context.ts";
import { accounts } from "../../table/entities.ts";
import { readKeys } from "../../table/store.ts";
import type { FeedRun, PlacedItem } from "../decisions.ts";
import { deferLanes, settleAccounts } from "./lanes.ts";
import { BatchMemory } from "./memory.ts";
import { type Lane, leftOf } from "./together.ts";

/** The accounts of a batch that one thread is given, with all that was read for the batch. */
export interface Share {
  readonly source: FeedRun["source"];
  readonly principal: Principal;
  readonly names: RequestNames;
  /** Milliseconds after which nothing new is begun. */
  readonly remaining_ms: number;
  readonly known: ReadonlyMap<string, unknown>;
  /** Items of each account in their order. */
  readonly lanes: readonly (readonly PlacedItem[])[];
}

/** What became of a share: the results of each account, and the capacity units that it took. */
export interface ShareReceipt {
  readonly results: readonly (readonly FeedResultBody[])[];
  readonly spent: SpentUnits;
}

/** The threads that accounts of a batch are shared with. */
export type FeedThreads = WorkerThreads<Share, ShareReceipt>;

/**
 * Settles the items of every lane, those of a large batch on all processors of the function: each account on a thread
 * of its own choice (ADR 0043). A lane whose thread ends waits, since it may have been committed.
 */
export async function settleShared(
  run: FeedRun,
  memory: BatchMemory,
  lanes: readonly Lane[],
  threads: FeedThreads | undefined,
): Promise<void> {
  const items = lanes.reduce((sum, lane) => sum + lane.items.length, 0);
  const ready = items < limits.feed.shared_from ? [] : (threads?.ready() ?? []);
  const [own = [], ...others] = sharesOf(lanes, ready.length);
  const elsewhere = others.map((share, place) => settleElsewhere(run, memory, share, ready[place]));
  await Promise.all([settleAccounts(run, memory, own), ...elsewhere]);
}

/**
 * The lanes of the main thread, then those of each other one. An account stays with its thread, which remembers its
 * positions.
 */
function sharesOf(lanes: readonly Lane[], threads: number): readonly (readonly Lane[])[] {
  const shares: Lane[][] = Array.from({ length: threads + 1 }, () => []);
  for (const lane of lanes) {
    shares[crc32(lane.items[0]?.account_id ?? "") % shares.length]?.push(lane);
  }
  return shares;
}

/** Has another thread settle lanes; the main thread does where that one cannot be asked. */
async function settleElsewhere(
  run: FeedRun,
  memory: BatchMemory,
  lanes: readonly Lane[],
  ask: Ask<Share, ShareReceipt> | undefined,
): Promise<void> {
  if (lanes.length === 0) return;
  // Made before anything else is read: a price that comes later is then newer than the thread's decisions.
  const share = shareOf(run, memory, lanes);
  try {
    await untilAdmitted();
    const answer = ask?.(share, wholeMs(share));
    if (answer === undefined) return await settleAccounts(run, memory, lanes);
    const { results, spent } = await answer;
    for (const [place, lane] of lanes.entries()) lane.results.push(...(results[place] ?? []));
    const sum = spentUnits();
    if (sum === undefined) return;
    sum.read_units += spent.read_units;
    sum.write_units += spent.write_units;
  } catch (error) {
    await deferLanes(run, lanes, error);
  }
}

/** Time of a share in milliseconds: a call that is under way when nothing new is begun has until the answer is sent. */
function wholeMs({ remaining_ms }: Share): number {
  return remaining_ms + limits.feed.reserve_ms - limits.request.answer_reserve_ms;
}

function shareOf(run: FeedRun, memory: BatchMemory, lanes: readonly Lane[]): Share {
  const { tenant_id, actor, request_id, scopes, role, origin } = run.newContext();
  return {
    source: run.source,
    principal: { tenant_id, actor, request_id, scopes, role, ...(origin && { origin }) },
    names: requestNames() ?? { request_id: request_id ?? "" },
    remaining_ms: run.remainingMs(),
    known: new Map(memory.all),
    lanes: lanes.map(leftOf),
  };
}

/** The threads of a function that serves batches; `file` is its module. */
export function feedThreads(file: string): FeedThreads {
  // The first read opens the connection; there is no such account.
  const noAccount = accounts.key("brk_00000000000000000000000000", "acc_00000000000000000000000000");
  return workerThreads(file, answerShare, async () => void (await readKeys([noAccount])));
}

/** Settles a share on the thread that was given it. */
async function answerShare(share: Share): Promise<ShareReceipt> {
  const { source, principal, names, remaining_ms } = share;
  const ends_ms = nowMs() + remaining_ms;
  const run: FeedRun = {
    ...{ tenant_id: principal.tenant_id, source },
    newContext: () => newContext(principal),
    remainingMs: () => ends_ms - nowMs(),
  };
  const lanes = share.lanes.map((items): Lane => ({ items, results: [] }));
  return underNames(names, () =>
    withinBudget(wholeMs(share), async () => {
      await settleAccounts(run, new BatchMemory(share.known), lanes);
      const spent = spentUnits() ?? { read_units: 0, write_units: 0 };
      return { results: lanes.map(({ results }) => results), spent };
    }),
  );
}
