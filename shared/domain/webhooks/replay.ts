import { limits } from "../../limits.ts";
import type { ReplayBody, ReplayEvents } from "../../schema/webhook.ts";
import { type Context, refuse, refuseField, unchanged } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { WebhookEndpoint } from "../records/webhook.ts";
import type { Replay } from "./webhook.ts";

/** Plan of a replay: nothing to send, or an item by which all of it is made, once, whatever happens. */
export interface PlannedReplay {
  readonly replay: Replay | undefined;
  readonly queued: number;
  readonly next: number | null;
}

/** Refuses a range that begins twice or nowhere; undefined when it can be looked through. */
export function refuseRange({ after_sequence, from, to }: ReplayEvents) {
  if (after_sequence === undefined && from === undefined) {
    return refuseField("validation_failed", "after_sequence", "is required, or from", "required");
  }
  if (after_sequence !== undefined && from !== undefined) {
    return refuseField("validation_failed", "from", "does not go with after_sequence", "not_allowed");
  }
  if (from !== undefined && to !== undefined && Date.parse(to) <= Date.parse(from)) {
    return refuseField("validation_failed", "to", "must be later than from", "invalid_range");
  }
  return undefined;
}

/**
 * Decides `POST /webhook_endpoints/{id}/replay` for the events of the range that the endpoint subscribes to. `next` is
 * the last number that was looked at, or null at the end of the range; `delayMs` turns a business delay into real time.
 */
export function planReplay(
  endpoint: WebhookEndpoint,
  sequences: readonly number[],
  next: number | null,
  delayMs: (seconds: number) => number,
  { now, newId }: Context,
): Decision<PlannedReplay> {
  if (endpoint.status !== "enabled") return refuse("webhook_endpoint_disabled", "The webhook endpoint is not enabled.");
  const queued = sequences.length;
  if (queued === 0) return unchanged({ replay: undefined, queued, next });
  const asked = Date.parse(now);
  const replay: Replay = {
    id: newId("rpl"),
    tenant_id: endpoint.tenant_id,
    endpoint_id: endpoint.id,
    endpoint_epoch: endpoint.epoch,
    sequences,
    redelivery: asked,
    wake_at: new Date(asked + delayMs(limits.webhooks.lost_after_seconds)).toISOString(),
  };
  return {
    ok: true,
    result: { replay, queued, next },
    changes: [{ op: "create", entity: "replay", item: replay }],
    events: [],
  };
}

/** Answer to a replay. */
export function replayBody({ queued, next }: PlannedReplay): ReplayBody {
  return { object: "replay", queued, next_after_sequence: next === null ? null : String(next) };
}
