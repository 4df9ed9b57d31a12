import { deliveries, events, outboxes } from "../../../shared/table/entities.ts";
import type { Change } from "./database.ts";
import type { Stage } from "./stage.ts";

/** Fate of the events of a run. Times are in milliseconds of virtual time. */
export class EventWatch {
  /** From the commit of an outbox item to its publication. */
  readonly latencies: number[] = [];
  /** The same of commits before {@link steadyMs}, which wait for instances to start. */
  readonly startLatencies: number[] = [];
  /** Virtual time since 1970 from which on commits count as those of a service under way. */
  steadyMs = 0;
  /** From the commit of an outbox item to each delivery that succeeded. */
  readonly deliveryLatencies: number[] = [];
  /** When events were published. */
  readonly publishedMs: number[] = [];
  /** When deliveries succeeded. */
  readonly deliveredMs: number[] = [];
  /** Longest time that an outbox item waited, or has waited until now. */
  private readonly waiting = new Map<string, number>();
  private readonly committed = new Map<string, number>();
  private readonly stage: Stage;
  private longestWaitMs = 0;

  constructor(stage: Stage) {
    this.stage = stage;
    stage.database.listeners.push((change) => this.see(change));
  }

  /** Outbox items that are not published yet. */
  get backlog(): number {
    return this.waiting.size;
  }

  /** The longest time that an outbox item waited, those that still wait included. */
  get longestMs(): number {
    const { nowMs } = this.stage.simulation;
    return [...this.waiting.values()].reduce((most, sinceMs) => Math.max(most, nowMs - sinceMs), this.longestWaitMs);
  }

  /**
   * Faults in the numbers of a tenant's events: a gap, or one that was used twice. Numbers begin at 1.
   */
  numberFaults(tenant: string): string[] {
    const numbers: number[] = [];
    for (const item of this.stage.database.tables.items(this.stage.mainTable)) {
      if (item["et"] === events.et && String(item["pk"]).startsWith(`${tenant}|`)) numbers.push(Number(item["sk"]));
    }
    if (numbers.length !== this.publishedMs.length) return [`${numbers.length} of ${this.publishedMs.length} events`];
    numbers.sort((a, b) => a - b);
    return numbers.flatMap((number, at) => (number === at + 1 ? [] : [`${number} stands in place ${at + 1}`]));
  }

  private see({ table, pk, sk, before, after }: Change): void {
    if (table !== this.stage.mainTable) return;
    const { nowMs, elapsedMs } = this.stage.simulation;
    const place = `${pk} ${sk}`;
    const item = after ?? before ?? {};
    const kind = item["et"];
    // One without an event brings the audit an entry.
    const hasEvents = kind === outboxes.et && outboxes.fromStored(item).events.length > 0;
    if (hasEvents && before === undefined) this.waiting.set(place, nowMs);
    if (hasEvents && after === undefined) {
      const sinceMs = this.waiting.get(place) ?? nowMs;
      const waitedMs = nowMs - sinceMs;
      this.waiting.delete(place);
      (sinceMs < this.steadyMs ? this.startLatencies : this.latencies).push(waitedMs);
      this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs);
    }
    if (kind === events.et && before === undefined) {
      this.publishedMs.push(elapsedMs);
      this.committed.set(String(after?.["id"]), Date.parse(String(after?.["created_at"])));
    }
    if (kind === deliveries.et && after?.["status"] === "succeeded" && before?.["status"] !== "succeeded") {
      this.deliveredMs.push(elapsedMs);
      this.deliveryLatencies.push(nowMs - (this.committed.get(String(after["event_id"])) ?? nowMs));
    }
  }
}
