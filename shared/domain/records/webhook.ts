import type { WebhookEndpointBody } from "../../schema/webhook.ts";

/** A webhook endpoint as it is stored. */
export interface WebhookEndpoint
  extends Pick<
    WebhookEndpointBody,
    | "id"
    | "url"
    | "description"
    | "event_types"
    | "disabled_reason"
    | "api_version"
    | "previous_secret_expires_at"
    | "metadata"
    | "created_at"
    | "updated_at"
    | "version"
  > {
  readonly tenant_id: string;
  /** Only events of these accounts; null lets every event through. */
  readonly account_ids: readonly string[] | null;
  /** Only events of accounts in these groups; null lets every event through. */
  readonly group_ids: readonly string[] | null;
  /** A deleted endpoint has no owner any more; its item goes when what was on its way to it is cancelled. */
  readonly status: WebhookEndpointBody["status"] | "deleted";
  /** Rises whenever the endpoint is switched on again: what was on its way before is not sent any more. */
  readonly epoch: number;
  /** The secret, sealed with the service key. */
  readonly secret: string;
  /** The previous secret, sealed; it signs along until `previous_secret_expires_at`. */
  readonly previous_secret: string | null;
  /** Set while deliveries are to be cancelled; the sweep finds the endpoint by this. */
  readonly wake_at: string | null;
}

/** Health of an endpoint, an item of its own: on the endpoint its version would rise with every delivery. */
export interface WebhookHealth {
  readonly endpoint_id: string;
  readonly tenant_id: string;
  readonly consecutive_failures: number;
  readonly first_failure_at: string | null;
  readonly last_failure_at: string | null;
  readonly last_success_at: string | null;
  /** Deliveries that are being attempted: when the lease of each ends, RFC 3339. */
  readonly slots: Readonly<Record<string, string>>;
  /** Finding of the deliverer, until the sweep has written it on the endpoint; see {@link inForce}. */
  readonly off: SwitchOff | null;
  /** When the sweep looks at that note or at `reopened_at`, RFC 3339; null without either. */
  readonly wake_at: string | null;
  /** The last success at the present address; null before the first one there. */
  readonly proven_at: string | null;
  /** Unanswered attempts since then, while the endpoint was unproven. */
  readonly timeouts_in_a_row: number;
  /** Nothing is sent before, RFC 3339; it stays until a success, which wakes what rests (ADR 0031). */
  readonly closed_until: string | null;
  /** The one delivery of an unproven endpoint that is in the unproven lane. */
  readonly probe: Probe | null;
  /** When an endpoint that was closed accepted something, until the sweep has woken what rests; RFC 3339. */
  readonly reopened_at: string | null;
  /** Answers that count towards more slots than an endpoint begins with (ADR 0031). */
  readonly slot_credit: number;
}

/** How many endpoints a tenant has; an item of its own, so that the bound holds for any number of requests at once. */
export interface WebhookCount {
  readonly tenant_id: string;
  readonly endpoints: number;
}

/** A delivery that is let into the unproven lane, and when it gives way to another, RFC 3339. */
export interface Probe {
  readonly delivery_id: string;
  readonly until: string;
}

/** Note to switch an endpoint off, with the judged epoch and address: switched on again or moved, it is another one. */
export interface SwitchOff {
  readonly epoch: number;
  readonly url: string;
  readonly reason: string;
  /** RFC 3339. */
  readonly at: string;
}
