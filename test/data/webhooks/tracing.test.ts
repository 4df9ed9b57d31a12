import { expect, it } from "vitest";
import { packText } from "../../../shared/table/packed/text.ts";
import { answerWith } from "../../support/stack/receiver.ts";
import { canary, deliver, events, logged, messageOf, put, queues, receiver, situation } from "./deliver-cases.ts";

const trace_id = "1-4bf92f35-77b34da6a3ce929d0e0e4736";
const request_id = "587c3461-0e8d-43b1-ace4-4c678bbfeb15";

/** Log lines about attempts since the last look. */
function attempts(): Record<string, unknown>[] {
  const lines = logged.splice(0).flatMap((text) => text.trim().split("\n"));
  return lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "delivery");
}

/** A delivery of an event that a traced request has caused. */
async function traced() {
  const { delivery, all } = await situation();
  const [{ event } = { event: undefined }] = all;
  if (event === undefined) throw new Error("There is no event.");
  const payload = JSON.stringify({ id: event.id, request_id, data: { object: { email: canary } } });
  await put(events, { ...event, payload: packText(payload), trace_id });
  return delivery;
}

it("each attempt leaves a line with the trace and the id of the request, and the retry keeps the trace", async () => {
  const delivery = await traced();
  receiver.answer = answerWith(500);
  attempts();
  await deliver([messageOf(delivery)]);
  const named = { trace_id, request_id, delivery_id: delivery.id, event_id: delivery.event_id };
  const { tenant_id, endpoint_id } = delivery;
  const [line, ...others] = attempts();
  expect(others).toEqual([]);
  expect(line).toMatchObject({ ...named, tenant_id, endpoint_id, attempt: 1, http_status: 500, error: "http_status" });
  const [retry] = queues.takeMessages();
  expect([retry?.queue, retry?.trace]).toEqual(["retry-1m", `Root=${trace_id}`]);
});

it("the line of an attempt says nothing of the person, the address of the receiver or the secret", async () => {
  const delivery = await traced();
  attempts();
  await deliver([messageOf(delivery)]);
  const [line] = attempts();
  expect(Object.keys(line ?? {}).sort()).toEqual(
    [
      ...["attempt", "delivery_id", "duration_ms", "endpoint_id", "error", "event_id", "http_status", "level"],
      ...["message", "request_id", "service", "tenant_id", "timestamp", "trace_id", "xray_trace_id"],
    ].sort(),
  );
});
