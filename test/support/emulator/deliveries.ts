import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Delivery } from "../../../shared/domain/records/delivery.ts";
import type { WebhookEndpoint } from "../../../shared/domain/records/webhook.ts";
import { draftDelivery } from "../../../shared/domain/webhooks/delivery.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { deliveries } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { atOnce } from "../builders/brokerage.ts";
import type { TestApi } from "./api.ts";

/** Writes an item past the service and past the watched way. */
export async function putRaw({ emulator }: Pick<TestApi, "emulator">, item: Record<string, unknown>): Promise<void> {
  const Item = marshall(item, { removeUndefinedValues: true });
  await emulator.client.send(new PutItemCommand({ TableName: emulator.tableName, Item }));
}

/**
 * Deliveries of an endpoint that are overdue as if their messages were lost an hour ago, unless `fields` say otherwise.
 * Returns their identifiers.
 */
export async function waitingDeliveries(
  api: Pick<TestApi, "emulator">,
  endpoint: WebhookEndpoint,
  count: number,
  fields: Partial<Delivery> = {},
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  const past = new Date(Date.now() - 3_600_000).toISOString();
  const event = { id: newId("evt"), type: "client.created", sequence: null, created_at: past };
  for (let start = 0; start < count; start += 50) {
    await atOnce(Math.min(50, count - start), async () => {
      const draft = draftDelivery(newId("dlv"), endpoint, event, past, (seconds) => seconds * 1000);
      ids.add(draft.id);
      await putRaw(api, itemOf(deliveries, { ...draft, ...fields }));
    });
  }
  return ids;
}
