import type { DeliveryAttemptBody, DeliveryBody } from "../../schema/webhook.ts";

/** One event on its way to one endpoint. */
export interface Delivery {
  readonly id: string;
  readonly tenant_id: string;
  readonly endpoint_id: string;
  /** How often the endpoint had been switched on again when the delivery was made; see {@link isWanted}. */
  readonly endpoint_epoch: number;
  readonly event_id: string;
  readonly event_type: DeliveryBody["event_type"];
  /** Where the event is; null for a sample, which is an item of its own. */
  readonly event_sequence: number | null;
  /** 0 for the delivery that the publication made, else when a repetition was asked for, in epoch milliseconds. */
  readonly redelivery: number;
  readonly redelivery_of: string | null;
  readonly status: DeliveryBody["status"];
  /** 1 to 6: the attempt that is next, running or last. */
  readonly attempt: number;
  /** Claims of this attempt so far. */
  readonly claims: number;
  readonly lease_until: string | null;
  readonly next_attempt_at: string | null;
  /**
   * When the sweep looks at it, RFC 3339; null when nothing is left to do, and while its event is looked at instead
   * (see {@link unstored}). Moving it on is no change of version.
   */
  readonly wake_at: string | null;
  readonly first_attempt_at: string | null;
  readonly last: Omit<Attempt, "tenant_id" | "delivery_id" | "claim" | "response_excerpt" | "expires_at"> | null;
  /** True once it rested because its endpoint was closed, until the sweep has woken it (ADR 0031). */
  readonly resting?: boolean;
  /** When the event happened, or when the repetition was asked for. */
  readonly created_at: string;
  readonly updated_at: string;
  readonly completed_at: string | null;
  /** 0 while it is not stored. */
  readonly version: number;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** Result of one claim of an attempt. */
export interface Attempt extends DeliveryAttemptBody {
  readonly tenant_id: string;
  readonly delivery_id: string;
  /** Number of the claim, from 1: more than one when a worker died. */
  readonly claim: number;
  /** Epoch seconds. */
  readonly expires_at: number;
}
