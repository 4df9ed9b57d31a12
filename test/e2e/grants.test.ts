import { describe, expect, it } from "vitest";
import { draftHealth } from "../../shared/domain/webhooks/webhook.ts";
import { limits } from "../../shared/limits.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { webhookHealths } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";
import { fundedAccount, someClient } from "../support/stack/api-client.ts";
import { type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";
import { needed, patiently, put, quoteSymbol, Saboteur } from "./grants/stack.ts";
import { tellStory } from "./grants/story.ts";

/** Three events of one commit, with more deliveries than the publisher sends itself; those to one endpoint rest. */
async function manyDeliveries(stack: Stack, receiver: Receiver): Promise<void> {
  const { api, tenant_id } = await stack.newApplication();
  const event_types = ["transaction.created", "transaction.completed", "transaction.updated"];
  for (let count = 0; count * event_types.length <= limits.events.fan_out_in_place; count += 1) {
    const endpoint = { url: `${receiver.url}/many`, event_types };
    const { id } = (await api.call<{ id: string }>("POST", "/webhook_endpoints", { body: endpoint })).body;
    if (count > 0) continue;
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const closed = { closed_until: later, probe: { delivery_id: newId("dlv"), until: later } };
    await put(stack, "main", itemOf(webhookHealths, { ...draftHealth({ id, tenant_id }), ...closed }));
  }
  const { account_id } = await fundedAccount(api, "1.00");
  const body = { account_id, amount: "1.00", status: "completed" };
  expect((await api.call("POST", "/transactions/deposit", { body })).status).toBe(201);
}

/** Functions of which every grant is needed here: elsewhere what they find to do comes of a race, or of the time. */
const ofRecovery = [
  ...["sweep-events", "margin-sweep", "stream-sweep", "stream-deliver", "fan-out", "route", "watch"],
  ...["record-refusals", "seal-audit", "rotate-signing-key"],
  ...["sandbox-match", "sandbox-walk", "sandbox-reset", "sandbox-simulate-provider"],
];

// Grants of the endpoints are needed by the other tests: over the whole run all are judged (test/coverage.test.ts).
describe("the grants of recovery", () => {
  it("are each needed, after a crash, by the sweeps, and where triggers were placed before", async () => {
    const saboteur = new Saboteur();
    const stack = await startStack({ timeScale: 300, schedulesAtStart: true, onCall: saboteur.watch });
    const receiver = await startReceiver();
    try {
      await tellStory({ stack, receiver, saboteur });
      // The margin watch dies at every price, until the record is given up and told.
      saboteur.targets.add("brokerage-sandbox-watch Query");
      await quoteSymbol(stack);
      await needed(stack, "watch ReportFailure");
      saboteur.targets.clear();
      // The router dies on every batch: the failure is reported, and the sweep tells the publisher.
      const own = await stack.newApplication({ tenant_id: stack.tenant_id });
      saboteur.targets.add("brokerage-sandbox-route SendMessageBatch");
      const last = await own.api.call<{ id: string }>("POST", "/clients", { body: someClient() });
      await needed(stack, "route ReportFailure");
      await eventually(async () => {
        const { text } = await own.api.call("GET", "/events?sort=-sequence");
        return text.includes(last.body.id) || undefined;
      });
      saboteur.targets.clear();
      // The publisher dies before it has sent a delivery of a published event: the sweep stores and sends it.
      saboteur.targets.add("brokerage-sandbox-publish SendMessageBatch");
      await own.api.call("POST", "/clients", { body: someClient() });
      await needed(stack, "sweep-events Put");
      saboteur.targets.clear();
      // The sweep may find them first while the process of the fan-out starts: then there are others.
      await patiently(async () => {
        await manyDeliveries(stack, receiver);
        await needed(stack, "fan-out");
      });
      await stack.cloud.rotateSecrets();
      await needed(stack, ...ofRecovery);
    } finally {
      await receiver.stop();
      await stack.stop();
    }
  }, 600_000);
});
