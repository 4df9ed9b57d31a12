import { afterAll, afterEach, expect } from "vitest";
import type { WebhookEndpoint } from "../../../shared/domain/records/webhook.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { webhooks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { someEndpoint } from "../../support/builders/decisions.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { lambdaContext, type TestCaller } from "../../support/emulator/request.ts";
import { findings, findingsByStream } from "../../support/oracles/oracle.ts";

export const api = await startApi("stream", "watched");

afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});

afterEach(async () => {
  api.watched.interfere = () => undefined;
  api.queues.interfere = () => undefined;
  delete process.env["TIME_SCALE"];
  api.queues.takeMessages();
  expect(await findingsByStream(api.emulator)).toEqual([]);
});

const { publishing } = await import("../../support/emulator/publishing.ts");

const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");

/** The functions between the stream and the queues of deliveries. */
export const work = publishing(api);

export const sweep = () => sweepHandler({}, lambdaContext(60_000));

/** An endpoint of a brokerage that subscribes to everything, unless `fields` say otherwise. */
export async function endpointOf(caller: TestCaller, fields: Partial<WebhookEndpoint> = {}): Promise<WebhookEndpoint> {
  const endpoint = someEndpoint({ id: newId("whe"), tenant_id: caller.tenant_id, ...fields });
  await putRaw(api, itemOf(webhooks, endpoint));
  return endpoint;
}
