import { setTimeout as pause } from "node:timers/promises";
import type { CommandOutcome } from "../venue.ts";

/** An order without an outcome is unknown after so long; half of a lease is left for it. */
const orderLimitMs = 20_000;
/** Orders whose positions are remembered, so that a late fill closes the position that the command named. */
const mostOrders = 1000;

const tag = { execId: 17, clOrdId: 11, cumQty: 14, status: 39, origClOrdId: 41, refSeqNum: 45, text: 58, leaves: 151 };
const refId = 379;

/** Statuses of an order that has ended without being filled: done for the day, cancelled, rejected, expired. */
const endedStatuses = ["3", "4", "8", "C"];

interface Pending {
  readonly settle: (outcome: CommandOutcome) => void;
  /** Id of the last deal of the order. */
  deal?: string;
}

/** Reads the first value of a tag of a message. */
export type Get = (tag: number) => string | undefined;

/** The orders of commands, until they come to something. */
export class Orders {
  private readonly pending = new Map<string, Pending>();
  /** Ids of pending orders by the numbers of their messages. */
  private readonly sentAs = new Map<number, string>();
  private readonly positions = new Map<string, string>();
  private readonly limitMs: number;

  constructor(limitMs = orderLimitMs) {
    this.limitMs = limitMs;
  }

  /** How many orders have come to nothing yet. */
  get size(): number {
    return this.pending.size;
  }

  /** The outcome of the order that `send` sends; `unknown` at the limit. */
  async outcomeOf(id: string, position_id: string, send: () => void): Promise<CommandOutcome> {
    this.positions.set(id, position_id);
    const [oldest] = this.positions.keys();
    if (this.positions.size > mostOrders && oldest !== undefined) this.positions.delete(oldest);
    const limit = new AbortController();
    const outcome = new Promise<CommandOutcome>((settle) => this.pending.set(id, { settle }));
    const late = pause(this.limitMs, undefined, { signal: limit.signal }).catch(() => undefined);
    const message = `No fill of the order within ${this.limitMs / 1000} s.`;
    const unknown = late.then((): CommandOutcome => ({ status: "unknown", error: { code: "order_unknown", message } }));
    send();
    return Promise.race([outcome, unknown]).finally(() => {
      limit.abort();
      this.forget(id);
    });
  }

  /** The message of an order has this number. */
  sent(id: string, seq: number): void {
    if (this.pending.has(id)) this.sentAs.set(seq, id);
  }

  settle(id: string, outcome: CommandOutcome): void {
    this.pending.get(id)?.settle(outcome);
    this.forget(id);
  }

  /** The position that an order of these names closes. */
  positionOf(ids: readonly string[]): string | undefined {
    return ids.map((id) => this.positions.get(id)).find((position) => position !== undefined);
  }

  /**
   * Settles an order by an execution report. One that ended without a deal has done nothing; one that ended after a
   * part is done with that part: its deals have changed the position, and a next command has the lots that are left.
   */
  reported(get: Get, isDeal: boolean): void {
    const [id = "", original = ""] = [get(tag.clOrdId), get(tag.origClOrdId)];
    const name = this.pending.has(id) ? id : original;
    const found = this.pending.get(name);
    if (found === undefined) return;
    const deal = get(tag.execId);
    if (isDeal && deal !== undefined) found.deal = deal;
    const isFilled = isDeal && Number(get(tag.leaves) ?? 0) === 0;
    if (!isFilled && !endedStatuses.includes(get(tag.status) ?? "")) return;
    const filled = Number(get(tag.cumQty) ?? 0);
    if (isFilled || found.deal !== undefined || filled > 0) this.done(name, found);
    // A quantity that cannot be read proves neither: the order is unknown at its limit.
    else if (filled === 0) this.settle(name, refusal(get(tag.text)));
  }

  /** Settles the order that a Reject (35=3) or BusinessMessageReject (35=j) names; returns whether there is one. */
  rejected(get: Get): boolean {
    const id = get(refId) ?? "";
    const name = this.pending.has(id) ? id : this.sentAs.get(Number(get(tag.refSeqNum)));
    if (name === undefined) return false;
    this.settle(name, refusal(get(tag.text)));
    return true;
  }

  private done(id: string, { deal }: Pending): void {
    this.settle(id, { status: "done", operation_id: deal ?? null });
  }

  private forget(id: string): void {
    this.pending.delete(id);
    for (const [seq, of] of this.sentAs) if (of === id) this.sentAs.delete(seq);
  }
}

function refusal(text = "The venue rejected the order."): CommandOutcome {
  return { status: "failed", error: { code: "order_rejected", message: text } };
}
