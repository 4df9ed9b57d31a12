import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import { readable, UnreadableItem } from "../runtime/unreadable.ts";
import { type SweepResult, sweepKeys } from "../table/due.ts";
import { type Key, type Outbox, outboxes } from "../table/entities.ts";
import { readEach } from "../table/store.ts";
import { fanOutFresh, fanOutRecent } from "./fan-out-queue.ts";
import { countTry, park, takeTryBack, triesOf } from "./parking.ts";
import { batches, inCommitOrder, isAt, type Prepared, prepare, publishBatch } from "./publish.ts";
import { sendOutboxKeys, tenantIn, type Wake } from "./publishing-queue.ts";
import { RunReads } from "./run-reads.ts";
import { wakeStream } from "./wake-stream.ts";

/**
 * Publishes the outbox items that messages name, the tenants concurrently and each in the order of its commits.
 * Returns the ids of the messages that have to come again: of a tenant the first one that is not done and all after it.
 */
export async function publishGroups(wakes: readonly Wake[], hasTime: () => boolean): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const groups = [...new Set(wakes.map(({ tenant_id }) => tenant_id))].map(async (tenant) => {
    const own = wakes.filter(({ tenant_id }) => tenant_id === tenant);
    for (const id of await publishGroup(tenant, own, hasTime)) failed.add(id);
  });
  await Promise.all(groups);
  return failed;
}

async function publishGroup(
  tenant: string,
  wakes: readonly Wake[],
  hasTime: () => boolean,
): Promise<readonly string[]> {
  const run = new Run(tenant, hasTime);
  const again = wakes.filter(({ receives }) => receives > 1);
  try {
    // A missing outbox item was published, perhaps by a publisher that died before it had created the deliveries.
    if (again.length > 0) await fanOutRecent(tenant);
    const { untried, tried } = await byTries(await waitingOf(again));
    await run.publishEach(untried);
    await run.publishAll(await waitingOf(wakes.filter((wake) => !again.includes(wake))));
    // A publisher may have died of one of these, so that whatever comes after it would wait for the next receive.
    await run.publishEach(tried);
    await run.end();
  } catch (error) {
    await run.end();
    log.error("The publisher failed; its messages are received again.", { tenant_id: tenant, ...causeOf(error) });
    return wakes.map(({ id }) => id);
  }
  const left = new Set(run.left.map((item) => outboxes.keyOf(item).sk));
  const stopped = wakes.findIndex(({ keys }) => keys.some(({ sk }) => left.has(sk)));
  return stopped === -1 ? [] : wakes.slice(stopped).map(({ id }) => id);
}

/** The outbox items of messages that are still there, in the order of their commits. Unreadable ones are parked. */
async function waitingOf(wakes: readonly Wake[]): Promise<readonly Outbox[]> {
  const keys = [...new Map(wakes.flatMap((wake) => wake.keys).map((key) => [`${key.pk} ${key.sk}`, key])).values()];
  const found = await readEach(keys, { kind: outboxes });
  for (const [at, key] of keys.entries()) if (found[at] instanceof UnreadableItem) await park(key, found[at]);
  return inCommitOrder(readable(found).filter((item) => item !== undefined));
}

/** Items that no transaction of their own has tried, and the others, those with the fewest tries first. */
async function byTries(items: readonly Outbox[]): Promise<{ untried: readonly Outbox[]; tried: readonly Outbox[] }> {
  const tries = items.length === 0 ? [] : await triesOf(items);
  const counted = items.map((item, at) => ({ item, tries: tries[at] ?? 0 })).toSorted((a, b) => a.tries - b.tries);
  return {
    untried: counted.filter((each) => each.tries === 0).map(({ item }) => item),
    tried: counted.filter((each) => each.tries > 0).map(({ item }) => item),
  };
}

/** Publishes outbox items of one tenant. Once the table is unavailable or the time is over, what is left is left. */
class Run {
  /** Items that were not tried to the end. */
  readonly left: Outbox[] = [];
  private readonly reads: RunReads;
  private readonly hasTime: () => boolean;
  private fanningOut: Promise<void> = Promise.resolve();
  private hasPublished = false;

  constructor(tenant: string, hasTime: () => boolean) {
    this.reads = new RunReads(tenant);
    this.hasTime = hasTime;
  }

  /** As many items in a transaction as it takes; those of the next one are prepared while it runs. */
  async publishAll(items: readonly Outbox[]): Promise<void> {
    const runs = batches(items);
    let ready: Prepared | undefined;
    for (const [at, batch] of runs.entries()) {
      const present = await this.preparedNow(batch, ready);
      [, ready] = await Promise.all([this.publishIsolated(batch, present), this.preparedNext(runs[at + 1], present)]);
    }
  }

  /** Items as they are published now: prepared again where the numbers are not where they were expected. */
  private async preparedNow(batch: readonly Outbox[], ready: Prepared | undefined): Promise<Prepared | undefined> {
    if (this.isOver()) return undefined;
    return unlessFailed(async () => {
      const counter = await this.reads.counter();
      return ready !== undefined && isAt(ready, counter) ? ready : prepare(this.reads, batch, counter);
    });
  }

  /** Items as they are published after the transaction that comes before them. */
  private async preparedNext(batch: readonly Outbox[] = [], before?: Prepared): Promise<Prepared | undefined> {
    if (batch.length === 0 || before === undefined) return undefined;
    // The transaction before is sent first.
    await pause(0);
    return unlessFailed(() => prepare(this.reads, batch, before.to));
  }

  /** Each item in a transaction of its own, which is counted before it begins: the publisher may have died of one. */
  async publishEach(items: readonly Outbox[]): Promise<void> {
    for (const item of items) {
      if (this.isOver()) this.left.push(item);
      else await this.publishAlone(item, await countTry(item));
    }
  }

  /** Resolves when what was published is handed over to webhooks and to the stream, or is left to others. */
  async end(): Promise<void> {
    const { tenant, streamFlag } = this.reads;
    const wake = this.hasPublished ? wakeStream(tenant, streamFlag) : undefined;
    await Promise.all([this.fanningOut, wake]);
  }

  private isOver(): boolean {
    return this.left.length > 0 || !this.hasTime();
  }

  /**
   * One item that cannot be published must not hold the others: a failing batch is halved until the culprit is alone.
   * A table that is unavailable is no item's fault: halves would only ask it more often. Nor is what cannot be read of
   * the brokerage.
   */
  private async publishIsolated(batch: readonly Outbox[], ready?: Prepared): Promise<void> {
    const [item, ...others] = batch;
    if (item === undefined) return;
    if (this.isOver()) {
      this.left.push(...batch);
      return;
    }
    try {
      await this.publish(batch, ready);
    } catch (error) {
      if (isNoFaultOf(batch, error)) this.leave(batch, error);
      else if (others.length === 0) await this.giveUp(item, await countTry(item), error);
      else {
        const middle = Math.ceil(batch.length / 2);
        await this.publishIsolated(batch.slice(0, middle));
        await this.publishIsolated(batch.slice(middle));
      }
    }
  }

  private async publishAlone(item: Outbox, tries: number): Promise<void> {
    if (tries > limits.events.publish_tries) {
      await park(outboxes.keyOf(item), new Error("The publisher ended each time before it could tell."));
      return;
    }
    try {
      await this.publish([item]);
    } catch (error) {
      if (!isNoFaultOf([item], error)) return this.giveUp(item, tries, error);
      await takeTryBack(item);
      this.leave([item], error);
    }
  }

  private async publish(batch: readonly Outbox[], ready?: Prepared): Promise<void> {
    const published = await publishBatch(this.reads, batch, ready);
    this.hasPublished ||= published.length > 0;
    // The deliveries of one transaction are created while the next one runs.
    const before = this.fanningOut;
    this.fanningOut = before.then(() => fanOutFresh(published, () => this.reads.healthsNow()));
    await before;
  }

  private leave(batch: readonly Outbox[], error: unknown): void {
    this.left.push(...batch);
    report(batch, error);
  }

  /** Leaves an item that cannot be published to the sweep, which sends it again, or parks it. */
  private async giveUp(item: Outbox, tries: number, error: unknown): Promise<void> {
    report([item], error);
    if (tries >= limits.events.publish_tries) await park(outboxes.keyOf(item), error);
  }
}

/** Whether what failed says nothing of these items: the table does not answer, or an item of others cannot be read. */
function isNoFaultOf(batch: readonly Outbox[], error: unknown): boolean {
  if (!(error instanceof UnreadableItem)) return isUnavailable(error);
  return batch.map(outboxes.keyOf).every(({ pk, sk }) => !error.key.startsWith(`${pk} ${sk}`));
}

/** Undefined where that does not succeed: items are prepared again when they are published, and fail there. */
async function unlessFailed(work: () => Promise<Prepared>): Promise<Prepared | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

function report(batch: readonly Outbox[], error: unknown): void {
  countMetric("EventPublishFailed", batch.length);
  const items = batch.map(({ id, trace_id }) => ({ id, trace_id }));
  log.error("Outbox items could not be published.", { items, ...causeOf(error) });
}

/**
 * Sends the publisher the keys of outbox items that are past their time, oldest first: whatever the stream or the
 * queue lost is found here. Of one tenant it sends a bounded number, so that a backlog does not grow by its sweeps.
 */
export function wakePublisher(hasTime: () => boolean): Promise<SweepResult> {
  const sent = new Map<string, number>();
  const isWanted = (key: Key) => {
    const count = (sent.get(tenantIn(key)) ?? 0) + 1;
    sent.set(tenantIn(key), count);
    return count <= limits.events.swept_per_tenant;
  };
  return sweepKeys("OUTBOX", hasTime, async (keys) => {
    const wanted = keys.filter(isWanted);
    await sendOutboxKeys(wanted);
    return { done: wanted.length, failed: 0 };
  });
}
