import type { WebhookHealth } from "../domain/records/webhook.ts";
import type { StreamFlag } from "../domain/stream/connection.ts";
import { log } from "../runtime/log.ts";
import { streamFlags } from "../table/entities.ts";
import { type EventCounter, eventCounterWith, type NumberedTo } from "../table/sequences.ts";
import { type Endpoints, endpointsOf } from "./endpoint-reads.ts";
import { endpointHealths, type Subscribers, subscribersOf } from "./fan-out.ts";

/**
 * State of the brokerage for one run of the publisher: the counter as its own transactions left it, the endpoints and
 * the groups of accounts as they were read once, and the health of endpoints, which is read again where one was closed.
 *
 * One read of the endpoints for a run owes the right events. All that a run publishes was committed before the run
 * began: a message names items that its sender has seen in the table. An endpoint that was created, enabled or changed
 * before such a commit was stored before the read began, which is strongly consistent; so the commit's event is owed to
 * it, in the epoch that it had then or in a later one. An endpoint that changes within the run, 5 s at most, does so
 * after all of these commits: it may be owed the event or not, and the deliverer posts nothing for an endpoint that is
 * gone, disabled or in another epoch. The same holds for the group of an account. Nothing is kept for the next run.
 */
export class RunReads {
  readonly tenant: string;
  private endpoints: Promise<Endpoints> | undefined;
  private healths: ReadonlyMap<string, WebhookHealth> | undefined;
  private numbered: Promise<EventCounter> | undefined;
  private flag: StreamFlag | undefined;
  private readonly groups = new Map<string, string | null>();

  /** Begins to read the counter and the endpoints, so that both are there when the outbox items are. */
  constructor(tenant: string) {
    this.tenant = tenant;
    // A read that fails here is repeated where it is needed, and fails there.
    this.counter().catch(() => undefined);
    this.endpointsOnce().catch(() => undefined);
  }

  /** How far the events are numbered. */
  counter(): Promise<EventCounter> {
    this.numbered ??= this.readCounter().catch((error: unknown) => {
      this.numbered = undefined;
      throw error;
    });
    return this.numbered;
  }

  /** Sets of connections of the stream, as read with the counter; undefined where there are none. */
  get streamFlag(): StreamFlag | undefined {
    return this.flag;
  }

  private async readCounter(): Promise<EventCounter> {
    const { counter, items } = await eventCounterWith(this.tenant, [streamFlags.key(this.tenant)]);
    this.flag = items[0] as StreamFlag | undefined;
    return counter;
  }

  /**
   * Does a transaction that numbers up to here, and moves the counter on with it; otherwise that is read again, and so
   * are endpoints that could not be: one that is well by now is not skipped any more.
   */
  async numbering<T>(to: NumberedTo, work: () => Promise<T | "published">): Promise<T | "published"> {
    const { skipped } = await this.counter();
    this.numbered = undefined;
    const result = await work();
    if (result === "published") {
      this.numbered = Promise.resolve({ skipped, ...to, is_stored: true });
    } else if ((await this.endpointsOnce()).unreadable.length > 0) this.endpoints = undefined;
    return result;
  }

  /** The endpoints that events are due to, see {@link subscribersOf}. */
  async subscribersTo(announced: Parameters<typeof subscribersOf>[2]): ReturnType<typeof subscribersOf> {
    return subscribersOf(this.tenant, (await this.endpointsOnce()).endpoints, announced, this.groups);
  }

  /**
   * The endpoints that are skipped once this is numbered, each with the number after which it is owed what is due to
   * it: those that cannot be read, and those that would have to know the group of an account that cannot be.
   */
  async skippedAfter(
    { last, skipped = {} }: NumberedTo,
    { unreadable }: Subscribers,
  ): Promise<EventCounter["skipped"]> {
    const known = await this.endpointsOnce();
    const unsure = unreadable === undefined ? [] : known.endpoints.filter(({ group_ids }) => group_ids !== null);
    const fresh = [...known.unreadable, ...unsure.map(({ id }) => id)].filter((id) => skipped[id] === undefined);
    if (fresh.length === 0) return skipped;
    log.error("Unreadable endpoints are skipped from the next event on.", {
      tenant_id: this.tenant,
      endpoints: fresh,
      after: last,
    });
    return { ...skipped, ...Object.fromEntries(fresh.map((id) => [id, last])) };
  }

  /**
   * How the endpoints do that events are due to, for deliveries that are created next. It decides only which of them
   * need a message. One that was closed when it was last read may be open by now, and a delivery that rested on it
   * would wait five minutes: it is read again.
   */
  async healthsNow(): Promise<ReadonlyMap<string, WebhookHealth>> {
    const { healths } = this;
    const { endpoints } = await this.endpointsOnce();
    const unsure = endpoints.filter(({ id }) => healths === undefined || healths.get(id)?.closed_until);
    if (healths !== undefined && unsure.length === 0) return healths;
    const again = new Set(unsure.map(({ id }) => id));
    const kept = [...(healths ?? [])].filter(([id]) => !again.has(id));
    const read = await endpointHealths(unsure.map(({ id, tenant_id }) => ({ endpoint_id: id, tenant_id })));
    this.healths = new Map([...kept, ...read]);
    return this.healths;
  }

  private endpointsOnce(): Promise<Endpoints> {
    this.endpoints ??= endpointsOf(this.tenant).catch((error: unknown) => {
      this.endpoints = undefined;
      throw error;
    });
    return this.endpoints;
  }
}
