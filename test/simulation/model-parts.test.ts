import { describe, expect, it } from "vitest";
import { Simulation } from "../support/model/clock.ts";
import { Database } from "../support/model/database.ts";
import type { Outcome } from "../support/model/functions.ts";
import { Queue, type QueueRecord } from "../support/model/queues.ts";
import { Stream, type StreamRecord } from "../support/model/streams.ts";
import { timings } from "../support/model/timings.ts";

const done: Outcome = { ok: true, result: {} };
const calm = { ...timings, jitter: 0 };

/** A queue whose reader takes `busyMs` for a batch, and the bodies and times of what it got. */
function readQueue(fifo: boolean, { concurrency = 1, busyMs = 0, answer = done } = {}) {
  const simulation = new Simulation(1);
  const queue = new Queue({ name: "q", fifo, visibilitySeconds: 30, maxReceives: 2 }, simulation, calm);
  const batches: { atMs: number; bodies: string[] }[] = [];
  const invoke = async ({ Records }: { Records: readonly QueueRecord[] }) => {
    batches.push({ atMs: simulation.elapsedMs, bodies: Records.map(({ body }) => body) });
    await simulation.sleep(busyMs);
    return answer;
  };
  queue.read({ batchSize: 10, concurrency, invoke });
  const send = (MessageBody: string, MessageGroupId: string, id?: string) =>
    queue.add({ MessageBody, MessageGroupId, ...(id && { MessageDeduplicationId: id }) });
  return { simulation, queue, batches, send };
}

const failed: Outcome = { ok: true, result: { batchItemFailures: [{ itemIdentifier: "message-1" }] } };

describe("a queue of the model", () => {
  it("keeps a FIFO group locked while one of its messages is in flight, and lets other groups pass", async () => {
    const { simulation, batches, send } = readQueue(true, { concurrency: 5, busyMs: 1000 });
    send("a1", "a");
    await simulation.run(100);
    send("a2", "a");
    send("b1", "b");
    await simulation.run(5000);
    expect(batches.map(({ bodies }) => bodies)).toEqual([["a1"], ["b1"], ["a2"]]);
    expect(batches[2]?.atMs).toBeGreaterThanOrEqual(1000);
  });

  it("hands a FIFO batch of ten messages at most, of several groups", async () => {
    const { simulation, batches, send } = readQueue(true);
    for (let number = 0; number < 12; number += 1) send(String(number), `group-${number % 3}`);
    await simulation.run(1000);
    expect(batches.map(({ bodies }) => bodies.length)).toEqual([10, 2]);
  });

  it("takes an id of a deduplication once in five minutes", async () => {
    const { simulation, batches, send } = readQueue(true);
    send("one", "a", "id");
    await simulation.run(299_000);
    send("two", "a", "id");
    await simulation.run(2000);
    send("three", "a", "id");
    await simulation.run(1000);
    expect(batches.flatMap(({ bodies }) => bodies)).toEqual(["one", "three"]);
  });

  it("shows a failed message again after its visibility timeout, and then puts it to the dead letters", async () => {
    const { simulation, queue, batches, send } = readQueue(false, { answer: failed });
    send("one", "a");
    await simulation.run(100_000);
    expect(batches.map(({ atMs }) => Math.round(atMs / 1000))).toEqual([0, 30]);
    expect([queue.depth, queue.deadLetters.length]).toEqual([0, 1]);
  });
});

describe("a stream of the model", () => {
  it("keeps the order of each item over splits, and has two readers at most", async () => {
    const simulation = new Simulation(1);
    const stream = new Stream(simulation, calm, 2);
    const seen = new Map<string, number[]>();
    const invoke = async ({ Records }: { Records: readonly StreamRecord[] }) => {
      for (const { dynamodb } of Records) {
        const { pk, n } = dynamodb.NewImage as { pk: { S: string }; n: { N: string } };
        seen.set(pk.S, [...(seen.get(pk.S) ?? []), Number(n.N)]);
      }
      await simulation.sleep(300);
      return done;
    };
    const mapping = {
      patterns: ['{"dynamodb":{"NewImage":{"sk":{"S":["A"]}}}}'],
      batchSize: 3,
      maximumRetryAttempts: 1,
      invoke,
    };
    stream.read(mapping);
    for (let n = 0; n < 5; n += 1) {
      for (let item = 0; item < 8; item += 1) {
        stream.add({
          table: "t",
          pk: `item-${item}`,
          sk: "A",
          before: undefined,
          after: { pk: `item-${item}`, sk: "A", n },
        });
      }
      stream.split();
      await simulation.run(100);
    }
    await simulation.run(60_000);
    expect(seen.size).toBe(8);
    for (const order of seen.values()) expect(order).toEqual([0, 1, 2, 3, 4]);
    stream.read(mapping);
    expect(() => stream.read(mapping)).toThrow("two readers");
  });
});

describe("a database of the model", () => {
  const put = (pk: string, more: object = {}) => ({ Put: { TableName: "t", Item: { pk, sk: "A", ...more } } });
  const nameOf = (call: Promise<unknown>) =>
    call.then(
      () => "done",
      ({ name }: Error) => name,
    );

  it("lets a write of an item in an ongoing transaction conflict, and another one pass", async () => {
    const simulation = new Simulation(1);
    const database = new Database(simulation, calm, "main");
    const calls = [
      nameOf(database.send("TransactWriteCommand", { TransactItems: [put("a"), put("b")] }, "f")),
      nameOf(database.send("PutCommand", put("a").Put, "f")),
      nameOf(database.send("TransactWriteCommand", { TransactItems: [put("b")] }, "f")),
      nameOf(database.send("PutCommand", put("c").Put, "f")),
    ];
    await simulation.run(1000);
    const conflict = ["TransactionConflictException", "TransactionCanceledException"];
    expect(await Promise.all(calls)).toEqual(["done", ...conflict, "done"]);
    expect(database.counts.transactions["f"]).toMatchObject({ sent: 2, conflict: 1 });
  });

  it("throttles a partition beyond 1,000 units a second, twice as early in transactions", async () => {
    const taken: number[] = [];
    for (const command of ["PutCommand", "TransactWriteCommand"]) {
      const simulation = new Simulation(1);
      const database = new Database(simulation, calm, "main");
      const calls: Promise<string>[] = [];
      for (let n = 0; n < 3000; n += 1) {
        const item = { ...put("a").Put.Item, sk: String(n) };
        const write = { TableName: "t", Item: item };
        calls.push(
          nameOf(database.send(command, command === "PutCommand" ? write : { TransactItems: [{ Put: write }] }, "f")),
        );
        await simulation.run(0.5);
      }
      await simulation.run(1000);
      taken.push((await Promise.all(calls)).filter((name) => name === "done").length);
    }
    // 1.5 s at 1,000 units a second, and a burst of one second.
    expect(taken[0]).toBeGreaterThan(2450);
    expect(taken[0]).toBeLessThan(2550);
    expect(taken[1]).toBeGreaterThan(1200);
    expect(taken[1]).toBeLessThan(1300);
  });
});
