import { deliveryWithAttempts } from "../../shared/domain/webhooks/delivery.ts";
import { deliveryPartition } from "../../shared/events/endpoint-reads.ts";
import { read } from "../../shared/http/operations.ts";
import { getDelivery } from "../../shared/routes/webhooks.ts";

/** `GET /deliveries/{id}`: with every attempt. */
export const handler = await read(getDelivery, async ({ path, caller }) => {
  const { delivery, attempts } = await deliveryPartition(caller.tenant_id, path.id);
  return delivery && deliveryWithAttempts(delivery, attempts);
});
