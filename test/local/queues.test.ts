import { beforeAll, describe, expect, it } from "vitest";
import { type BatchChange, type QueueRecord, queueMapping } from "../../infra/local/queues/pollers.ts";
import { eventually } from "../support/wait.ts";
import {
  arnOf,
  failAll,
  localQueues,
  mappingOf,
  nothing,
  region,
  report,
  reporting,
  resources,
  target,
  timeScale,
} from "./queues-fixture.ts";

const { emptied, newQueue, queues, read, send } = localQueues();

describe("the mapping of a queue", () => {
  it.each<[Record<string, unknown>, RegExp]>([
    [{ EventSourceArn: arnOf("unknown") }, /no queue of the template/],
    [{ StartingPosition: "LATEST" }, /StartingPosition is not known for a queue/],
    [{ FilterCriteria: { Filters: [] } }, /FilterCriteria is not known for a queue/],
    [{ FunctionResponseTypes: ["Other"] }, /Other/],
    [{ BatchSize: 11 }, /a batch of 11 needs a batching window/],
    [{ BatchSize: 0 }, /a batch of 0/],
    [{ ScalingConfig: { MaximumConcurrency: 1 } }, /a maximum concurrency of 1 is not possible/],
    [{ ScalingConfig: { MaximumConcurrency: 1001 } }, /1001 is not possible/],
    [{ ScalingConfig: { MinimumConcurrency: 2, MaximumConcurrency: 2 } }, /MinimumConcurrency is not known/],
  ])("is refused for %j, as Lambda would", (properties, message) => {
    expect(() => mappingOf("q0", properties)).toThrow(message);
  });

  it("is refused when messages would come back before the function's timeout", () => {
    const properties = { FunctionName: "worker", EventSourceArn: arnOf("q0") };
    const resource = { path: "test/Mapping", type: "", physical_id: "m", properties, attributes: {} };
    const slow = { ...target, timeout_seconds: 2 };
    expect(() => queueMapping(resource, resources, () => slow)).toThrow(/visibility timeout is below/);
  });
});

describe("a reader of a queue", () => {
  it("brings a whole batch back after the visibility timeout when the function fails", async () => {
    const queue = newQueue();
    const began = Date.now();
    const { batches, records } = read(queue, {}, () => (batches.length === 1 ? failAll : nothing));
    await send(queue, "a", "b");
    await emptied(queue);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1000);
    expect(batches.map((bodies) => bodies.sort())).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(records.map(({ attributes }) => attributes["ApproximateReceiveCount"])).toEqual(["1", "1", "2", "2"]);
  });

  describe("that is reported nothing it knows", () => {
    const reports: readonly (readonly [string, unknown])[] = [
      ["names no message", { batchItemFailures: [{ itemIdentifier: "unknown" }] }],
      ["has an empty name", { batchItemFailures: [{ itemIdentifier: "" }] }],
      ["has a null name", { batchItemFailures: [{ itemIdentifier: null }] }],
      ["has a name under another key", { batchItemFailures: [{ messageId: "x" }] }],
      ["is no list", { batchItemFailures: "all" }],
      ["is no object", "all is well"],
    ];
    const handedOver = new Map<string, string[][]>();

    /** All of them wait for the same visibility timeout, so they wait for it together. */
    beforeAll(async () => {
      const reading = reports.map(async ([what, payload]) => {
        const queue = newQueue();
        const { batches } = read(queue, reporting, () => (batches.length === 1 ? { payload } : nothing));
        handedOver.set(what, batches);
        await send(queue, "a", "b");
        await emptied(queue);
      });
      await Promise.all(reading);
    });

    it.each(reports)("brings the whole batch back when a report %s", (what) => {
      expect(handedOver.get(what)?.map((bodies) => bodies.sort())).toEqual([
        ["a", "b"],
        ["a", "b"],
      ]);
    });
  });

  it("ignores a report when the mapping does not ask for one", async () => {
    const queue = newQueue();
    const { batches } = read(queue, {}, (_, records) => report(records, ["a"]));
    await send(queue, "a");
    await emptied(queue);
    expect(batches).toEqual([["a"]]);
  });

  it("brings back only what was reported as failed", async () => {
    const queue = newQueue();
    const { batches } = read(queue, reporting, (_, records) => report(records, batches.length === 1 ? ["b", "d"] : []));
    await send(queue, "a", "b", "c", "d");
    await emptied(queue);
    expect(batches.map((bodies) => bodies.sort())).toEqual([
      ["a", "b", "c", "d"],
      ["b", "d"],
    ]);
  });

  it("sends a message that always fails to the dead letters after the receives of the redrive policy", async () => {
    const queue = newQueue();
    const { batches } = read(queue, reporting, (_, records) => report(records, ["poison"]));
    await send(queue, "poison", "good");
    const dead = await eventually(async () => {
      const { Messages: messages } = await queues.call("ReceiveMessage", { QueueUrl: "dead", VisibilityTimeout: 1 });
      return messages as { Body: string }[] | undefined;
    });
    expect(dead.map(({ Body }) => Body)).toEqual(["poison"]);
    await emptied(queue);
    expect(batches.flat().sort()).toEqual(["good", "poison", "poison"]);
  });

  it("runs no more invocations than the mapping's maximum concurrency, and starts the next when one ends", async () => {
    const queue = newQueue();
    const waiting: (() => void)[] = [];
    let most = 0;
    const properties = { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 2 } };
    const { batches } = read(queue, properties, async () => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      return nothing;
    });
    await send(queue, "1", "2", "3", "4", "5");
    await eventually(() => (waiting.length === 2 ? true : undefined));
    expect(queues.counts(queue)).toEqual({ visible: 3, in_flight: 2, delayed: 0 });
    for (let ended = 0; ended < 5; ended += 1) (await eventually(() => waiting.shift()))();
    await emptied(queue);
    expect([most, batches.length]).toEqual([2, 5]);
  });

  it("fills a batch for as long as its window is open, and hands it over when it is full", async () => {
    const queue = "windowed";
    const properties = { BatchSize: 3, MaximumBatchingWindowInSeconds: 1 };
    const times: number[] = [];
    const { batches } = read(queue, properties, () => {
      times.push(Date.now());
      return nothing;
    });
    const began = Date.now();
    await send(queue, "a");
    await emptied(queue);
    expect((times[0] ?? 0) - began).toBeGreaterThanOrEqual(950);
    await send(queue, "b", "c", "d", "e");
    await emptied(queue);
    expect(batches.map(({ length }) => length)).toEqual([1, 3, 1]);
  });

  it("shows a message as Lambda does, with its group and its own attributes", async () => {
    const queue = newQueue();
    const { records } = read(queue, {}, () => nothing);
    const before = Date.now();
    const MessageAttributes = { kind: { DataType: "String", StringValue: "test" } };
    const kept = { MessageGroupId: "whe_1", AWSTraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793" };
    const MessageSystemAttributes = { AWSTraceHeader: { DataType: "String", StringValue: kept.AWSTraceHeader } };
    const sent = { QueueUrl: queue, MessageBody: "{}", MessageGroupId: "whe_1", MessageAttributes };
    const { MessageId } = await queues.call("SendMessage", { ...sent, MessageSystemAttributes });
    const [record] = await eventually(() => (records.length > 0 ? records : undefined));
    expect(record).toMatchObject({
      messageId: MessageId,
      receiptHandle: expect.any(String),
      body: "{}",
      md5OfBody: "99914b932bd37a50b983c5e7c90ae93b",
      eventSource: "aws:sqs",
      eventSourceARN: arnOf(queue),
      awsRegion: region,
      attributes: { ApproximateReceiveCount: "1", ...kept, SenderId: expect.any(String) },
      messageAttributes: { kind: { dataType: "String", stringValue: "test" } },
    });
    const sentAt = Number(record?.attributes["SentTimestamp"]);
    expect(sentAt).toBeGreaterThanOrEqual(before);
    expect(sentAt).toBeLessThanOrEqual(Date.now());
  });

  it("is woken by a message and does not wait for its next look", async () => {
    const queue = newQueue();
    const seen = new Map<string, number>();
    read(queue, {}, (bodies) => {
      for (const body of bodies) seen.set(body, Date.now());
      return nothing;
    });
    const waits: number[] = [];
    for (let turn = 0; turn < 21; turn += 1) {
      const body = String(turn);
      const began = Date.now();
      await send(queue, body);
      waits.push((await eventually(() => seen.get(body))) - began);
    }
    const median = waits.sort((a, b) => a - b)[10];
    // A look of its own would come after half a second on average.
    expect(median).toBeLessThan(200);
  });

  it("takes the batches that a test puts in a batch's place", async () => {
    const queue = newQueue();
    const change: BatchChange = ({ records }) => {
      const all = [...records].sort((a, b) => b.body.localeCompare(a.body));
      const first = all.filter(({ attributes }) => attributes["ApproximateReceiveCount"] === "1");
      // In reverse order, the last one twice, and "lost" not at all the first time.
      return first.length === 0 ? [all] : [first.filter(({ body }) => body !== "lost"), first.slice(-1)];
    };
    const { batches } = read(queue, reporting, () => nothing, { change });
    await send(queue, "a", "b", "lost");
    await emptied(queue);
    expect(batches).toEqual([["b", "a"], ["a"], ["lost"]]);
  });
});

describe("a reader of a FIFO queue", () => {
  it("gets several groups in a batch, and of each one batch at a time in the order of sending", async () => {
    const queue = "order.fifo";
    const sendTo = (group: string, ...bodies: string[]) => {
      const Entries = bodies.map((body) => {
        return { Id: body, MessageBody: body, MessageGroupId: group, MessageDeduplicationId: body };
      });
      return queues.call("SendMessageBatch", { QueueUrl: queue, Entries });
    };
    await sendTo("a", "a1", "a2", "a3");
    await sendTo("b", "b1");
    const waiting: (() => void)[] = [];
    const { batches } = read(queue, reporting, async (_, records) => {
      if (batches.length > 1) return nothing;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return report(records, ["a2", "a3"]);
    });
    const end = await eventually(() => waiting.shift());
    await sendTo("a", "a4");
    await sendTo("c", "c1");
    await eventually(() => (batches.length === 2 ? true : undefined));
    end();
    await emptied(queue);
    expect(batches).toEqual([["a1", "a2", "a3", "b1"], ["c1"], ["a2", "a3", "a4"]]);
  });
});

describe("a message with a delay", () => {
  it("is shown after its delay over the time scale and never before, under the id that its sender knows", async () => {
    const queue = newQueue();
    const seen = new Map<string, { at: number; record: QueueRecord }>();
    read(queue, {}, (_, records) => {
      for (const record of records) seen.set(record.body, { at: Date.now(), record });
      return nothing;
    });
    const delays = [0, 60, 300];
    const Entries = delays.map((DelaySeconds, at) => {
      return { Id: `e${at}`, MessageBody: String(DelaySeconds), DelaySeconds, MessageGroupId: `whe_${at}` };
    });
    const began = Date.now();
    const answer = await queues.call("SendMessageBatch", { QueueUrl: queue, Entries });
    const answered = Date.now();
    const successes = answer["Successful"] as { Id: string; MessageId: string; MD5OfMessageBody: string }[];
    expect(successes.map(({ Id }) => Id).sort()).toEqual(["e0", "e1", "e2"]);
    expect(queues.counts(queue)).toMatchObject({ delayed: 2 });
    await emptied(queue);
    expect([...seen.keys()]).toEqual(["0", "60", "300"]);
    for (const [at, delay] of delays.entries()) {
      const found = seen.get(String(delay));
      const success = successes.find(({ Id }) => Id === `e${at}`);
      expect((found?.at ?? 0) - began).toBeGreaterThanOrEqual((delay * 1000) / timeScale - 1);
      expect(found?.record).toMatchObject({
        messageId: success?.MessageId,
        md5OfBody: success?.MD5OfMessageBody,
        attributes: { MessageGroupId: `whe_${at}` },
      });
      const sentAt = Number(found?.record.attributes["SentTimestamp"]);
      expect(sentAt).toBeGreaterThanOrEqual(began);
      expect(sentAt).toBeLessThanOrEqual(answered);
    }
  });

  it("has the queue's delay when it names none, and its own when it does", async () => {
    await queues.call("SendMessage", { QueueUrl: "waiting", MessageBody: "delayed by the queue" });
    await queues.call("SendMessage", { QueueUrl: "waiting", MessageBody: "at once", DelaySeconds: 0 });
    const order: string[] = [];
    read("waiting", {}, (bodies) => {
      order.push(...bodies);
      return nothing;
    });
    await emptied("waiting");
    expect(order).toEqual(["at once", "delayed by the queue"]);
  });
});

describe("a purge", () => {
  it("forgets what is visible, in flight and held back", async () => {
    const queue = newQueue();
    await send(queue, "taken");
    await queues.call("ReceiveMessage", { QueueUrl: queue });
    await send(queue, "visible");
    await queues.call("SendMessage", { QueueUrl: queue, MessageBody: "held", DelaySeconds: 900 });
    expect(queues.counts(queue)).toEqual({ visible: 1, in_flight: 1, delayed: 1 });
    queues.purge(queue);
    expect(queues.counts(queue)).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
  });
});
