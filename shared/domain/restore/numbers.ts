import { limits } from "../../limits.ts";
import type { DomainEvent } from "../kernel/decision.ts";

/** Statement of an operator after the data of a brokerage were restored. */
export interface Restored {
  readonly tenant_id: string;
  /** Number of the last event that the restored data have. */
  readonly last_valid: number;
  /** Number of the last event that any receiver may have seen. */
  readonly after: number;
  /** Time that the data were restored to, RFC 3339 in UTC. */
  readonly restored_to: string;
}

const number = /^(?:0|[1-9]\d{0,12})$/;
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;

/**
 * Reads the statement of an operator: `tenant_id`, `last_valid_sequence`, `after_sequence` and `restored_to`, as texts.
 * @throws Error one sentence that names the member at fault
 */
export function restoredOf(given: Readonly<Record<string, unknown>>): Restored {
  const text = (name: string, form: RegExp, what: string) => {
    const value = given[name];
    if (typeof value === "string" && form.test(value)) return value;
    throw new Error(`${name} must be ${what}.`);
  };
  const tenant_id = text("tenant_id", /^brk_[0-9A-HJKMNP-TV-Z]{26}$/, "the id of a brokerage, brk_ and 26 characters");
  const last_valid = Number(text("last_valid_sequence", number, "the number of an event"));
  const after = Number(text("after_sequence", number, "the number of an event"));
  const restored_to = text("restored_to", moment, "a time in UTC such as 2026-01-31T12:00:00Z");
  if (Number.isNaN(Date.parse(restored_to))) throw new Error("restored_to must be a time that there is.");
  if (after < last_valid) throw new Error("after_sequence must not be below last_valid_sequence.");
  return { tenant_id, last_valid, after, restored_to: new Date(restored_to).toISOString() };
}

/**
 * Decides where the numbers of events go on, and announces which events are void.
 * @param last the last number that the data have given
 * @throws Error one sentence, where a number would be given again or too many would be left out
 */
export function resumeAfter({ last_valid, after, restored_to }: Restored, last: number, id: string, now: string) {
  if (after < last) throw new Error(`Events are numbered up to ${last}: after_sequence must not be below that.`);
  if (last_valid > last)
    throw new Error(`The data have events up to ${last}: last_valid_sequence must not be above that.`);
  const { max_left_out } = limits.events;
  if (after - last > max_left_out) throw new Error(`after_sequence may be ${max_left_out} above ${last} at the most.`);
  const object = {
    ...{ id, object: "restore", restored_to, last_valid_sequence: String(last_valid) },
    ...{ resumed_after_sequence: String(after), version: 1, created_at: now },
    _links: { self: { href: `/v2/events?after_sequence=${after}` } },
  };
  const resource = { type: "restore", id, version: 1 };
  const event = { type: "brokerage.restored", resource, client_id: null, account_id: null, object } as const;
  return event satisfies DomainEvent;
}
