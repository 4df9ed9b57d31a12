import { afterAll, afterEach, describe, expect, it } from "vitest";
import { startQueueEndpoint } from "../../support/emulator/queue-endpoint.ts";

const queues = await startQueueEndpoint();
Object.assign(process.env, queues.environment);
afterAll(queues.stop);
afterEach(() => {
  queues.interfere = () => undefined;
  queues.takeMessages();
});

const { sendDeliveries } = await import("../../../shared/runtime/queues.ts");

/** Messages of so many deliveries, to three endpoints in turn. */
function deliveries(count: number, delay_seconds?: number) {
  return Array.from({ length: count }, (_, at) => ({
    body: { tenant_id: "brk_1", delivery_id: `dlv_${at}`, attempt: 1, returns: 0 },
    endpoint_id: `whe_${at % 3}`,
    ...(delay_seconds !== undefined && { delay_seconds }),
  }));
}

const sentIds = () => queues.takeMessages().map(({ body }) => body["delivery_id"]);

describe("sending deliveries", () => {
  it.each([-1, 901, 1.5, Number.NaN])("refuses a delay of %d s before anything is sent", async (delay) => {
    await expect(sendDeliveries("retry_1m", deliveries(1, delay))).rejects.toThrow(RangeError);
    expect(sentIds()).toEqual([]);
  });

  it("throws when SQS finds fault with a message, and sends it no second time", async () => {
    let calls = 0;
    queues.interfere = () => {
      calls += 1;
      return { refused: [0], senderFault: true };
    };
    await expect(sendDeliveries("deliver", deliveries(2))).rejects.toThrow("SQS did not take 1 of 2 messages");
    expect(calls).toBe(1);
  });

  it("throws in the end when SQS goes on refusing, after the other batches were sent", async () => {
    queues.interfere = ({ messages }) => (messages.length === 10 ? undefined : { refused: [0] });
    await expect(sendDeliveries("deliver", deliveries(11))).rejects.toThrow("InternalError");
    expect(sentIds()).toHaveLength(10);
  });

  it("sends again exactly what SQS did not take", async () => {
    let calls = 0;
    queues.interfere = () => {
      calls += 1;
      return calls === 1 ? { refused: [1, 3] } : undefined;
    };
    await sendDeliveries("deliver", deliveries(5));
    expect(calls).toBe(2);
    expect(sentIds()).toEqual(["dlv_0", "dlv_2", "dlv_4", "dlv_1", "dlv_3"]);
  });

  it("outlasts a call that SQS could not answer", async () => {
    let calls = 0;
    queues.interfere = () => {
      calls += 1;
      return calls === 1 ? "unavailable" : undefined;
    };
    await sendDeliveries("deliver", deliveries(1));
    expect(sentIds()).toEqual(["dlv_0"]);
  });

  it("sends nothing for nothing, and every message of many once, ten in a call", async () => {
    const sizes: number[] = [];
    queues.interfere = ({ messages }) => {
      sizes.push(messages.length);
      return undefined;
    };
    await sendDeliveries("deliver", []);
    expect(sizes).toEqual([]);
    await sendDeliveries("deliver", deliveries(101));
    expect(sizes.sort((a, b) => b - a)).toEqual([...Array.from({ length: 10 }, () => 10), 1]);
    expect(new Set(sentIds()).size).toBe(101);
  });

  it.each([
    ["deliver", "deliver"],
    ["retry_1m", "retry-1m"],
    ["retry_5m", "retry-5m"],
    ["retry_long", "retry-long"],
  ] as const)("to %s carries ids alone, with the endpoint as its group and the delay as given", async (name, queue) => {
    const [message] = deliveries(1, 66);
    if (message === undefined) throw new Error("There is no message.");
    // Other members of an object stay here: a queue carries ids only.
    await sendDeliveries(name, [{ ...message, body: Object.assign({ payload: "secret" }, message.body) }]);
    await sendDeliveries(name, deliveries(1));
    const { body } = message;
    const sent_ms = expect.any(Number);
    expect(queues.takeMessages()).toEqual([
      { queue, body, group: "whe_0", delaySeconds: 66, sent_ms },
      { queue, body, group: "whe_0", delaySeconds: 0, sent_ms },
    ]);
  });
});
