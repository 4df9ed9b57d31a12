import type { WebhookEndpoint } from "../domain/records/webhook.ts";
import type { DrawnSecret } from "../domain/webhooks/webhook.ts";
import { newWebhookSecret } from "../runtime/ids.ts";
import { open, type Sealed, seal } from "../runtime/service-key.ts";

const purpose = "webhook-secret";

/** The secret of an endpoint as it is stored; bound to the endpoint, so that it opens in no other item. */
export function sealWebhookSecret(
  endpoint: Pick<WebhookEndpoint, "tenant_id" | "id">,
  secret: string,
): Promise<Sealed> {
  return seal(purpose, secret, ownerOf(endpoint));
}

/** A new secret for an endpoint, to be shown once and stored sealed. */
export async function drawWebhookSecret(endpoint: Pick<WebhookEndpoint, "tenant_id" | "id">): Promise<DrawnSecret> {
  const plain = newWebhookSecret();
  return { plain, sealed: await sealWebhookSecret(endpoint, plain) };
}

/**
 * A stored secret of an endpoint, the present or the one before: `whsec_` and base64 of 32 bytes.
 * @throws Error when it was sealed for another endpoint or by another service key
 */
export function openWebhookSecret(
  endpoint: Pick<WebhookEndpoint, "tenant_id" | "id">,
  sealed: Sealed,
): Promise<string> {
  return open(purpose, sealed, ownerOf(endpoint));
}

function ownerOf({ tenant_id, id }: Pick<WebhookEndpoint, "tenant_id" | "id">): string {
  return `${tenant_id}|${id}`;
}
