import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { queueMapping } from "../../../infra/local/queues/pollers.ts";
import { Queues } from "../../../infra/local/queues/queues.ts";
import { arnOf, newFolder, queueOf, redriveTo, resource, type Shown } from "./fixture.ts";

const perGroup = { DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" };
const groupOf = ({ Attributes }: Shown) => Attributes["MessageGroupId"] ?? "";

describe("a FIFO queue gives messages of one group", () => {
  it("in the order of sending, as many as are asked for before any of another group", async () => {
    const { send, bodies } = queueOf();
    for (const [group, body] of ["a1", "b1", "a2", "b2", "a3"].map((body) => [body.slice(0, 1), body] as const)) {
      await send(group, body);
    }
    expect(await bodies(4)).toEqual(["a1", "a2", "a3", "b1"]);
  });

  it("ten at a time and no more until every one of them is deleted", async () => {
    const { send, bodies, receive, remove } = queueOf();
    for (let at = 0; at < 12; at += 1) await send("a", String(at));
    const first = await receive();
    expect(first.map(({ Body }) => Body)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    for (const message of first.slice(1)) await remove(message);
    expect(await bodies()).toEqual([]);
    await remove(first[0]);
    expect(await bodies()).toEqual(["10", "11"]);
  });

  it("again from the first that is left when the visibility timeout has passed, before later ones", async () => {
    const { clock, send, bodies, receive, remove } = queueOf({ VisibilityTimeout: 30 });
    for (const body of ["1", "2", "3"]) await send("a", body);
    await remove((await receive(2))[0]);
    await send("a", "4");
    clock.pass(29.999);
    expect(await bodies()).toEqual([]);
    clock.pass(0.001);
    expect(await bodies()).toEqual(["2", "3", "4"]);
  });

  it("while other groups are in flight", async () => {
    const { send, bodies } = queueOf();
    await send("a", "a1");
    expect(await bodies()).toEqual(["a1"]);
    for (const [group, body] of ["a2", "b1"].map((text) => [text.slice(0, 1), text] as const)) await send(group, body);
    expect(await bodies()).toEqual(["b1"]);
  });
});

describe("a deduplication identifier", () => {
  it("is remembered for five minutes from its sending, also after its message was deleted", async () => {
    const { clock, send, bodies, receive, remove } = queueOf();
    const first = await send("a", "1", "same");
    await remove((await receive())[0]);
    clock.pass(299.999);
    expect(await send("a", "1", "same")).toEqual(first);
    expect(await bodies()).toEqual([]);
    clock.pass(0.001);
    await send("a", "2", "same");
    expect(await bodies()).toEqual(["2"]);
  });

  it.each([
    ["the queue", {}, ["a1"]],
    ["its group", perGroup, ["a1", "b1"]],
  ])("counts within %s", async (_, properties, expected) => {
    const { send, bodies } = queueOf(properties);
    await send("a", "a1", "same");
    await send("b", "b1", "same");
    expect(await bodies()).toEqual(expected);
  });

  it("is the digest of the body where the queue says so, and asked for elsewhere", async () => {
    const { call, bodies } = queueOf({ ContentBasedDeduplication: true });
    for (const MessageBody of ["1", "1", "2"]) await call("SendMessage", { MessageBody, MessageGroupId: "a" });
    expect(await bodies()).toEqual(["1", "2"]);
    const without = queueOf().call("SendMessage", { MessageBody: "1", MessageGroupId: "a" });
    await expect(without).rejects.toThrow("MessageDeduplicationId provided explicitly");
  });
});

describe("a message of a FIFO queue", () => {
  it("moves to the dead letters instead of its fourth receive, and lets the others of its group through", async () => {
    const { clock, call, send, bodies, receive, remove, woken } = queueOf();
    await send("a", "poison");
    await send("a", "good");
    for (let turn = 0; turn < 3; turn += 1) {
      const [poison, good] = await receive();
      if (good !== undefined) await remove(good);
      expect(poison?.Attributes["ApproximateReceiveCount"]).toBe(String(turn + 1));
      clock.pass(30);
    }
    await send("a", "next");
    expect(await bodies()).toEqual(["next"]);
    expect(woken).toContain("dead.fifo");
    const { Messages: dead } = await call("ReceiveMessage", { QueueUrl: "dead.fifo" });
    const attributes = { MessageGroupId: "a", DeadLetterQueueSourceArn: arnOf("q.fifo") };
    expect(dead).toMatchObject([{ Body: "poison", Attributes: attributes }]);
  });

  it("is not deleted by the handle of a receive whose visibility timeout has passed", async () => {
    const { clock, send, bodies, receive, remove } = queueOf();
    await send("a", "1");
    const [message] = await receive();
    clock.pass(30);
    await expect(remove(message)).rejects.toThrow("The receipt handle has expired.");
    expect(await bodies()).toEqual(["1"]);
    await expect(remove(message)).rejects.toThrow("The receipt handle has expired.");
  });

  it("may be deleted twice", async () => {
    const { send, receive, remove } = queueOf();
    await send("a", "1");
    const [message] = await receive();
    await remove(message);
    expect(await remove(message)).toEqual({});
  });

  it("is forgotten after the retention period", async () => {
    const { clock, send, bodies } = queueOf({ MessageRetentionPeriod: 3600 });
    await send("a", "1");
    clock.pass(3600);
    expect(await bodies()).toEqual([]);
  });

  it("carries its group, its identifier, a rising number and its times", async () => {
    const { clock, send, receive } = queueOf();
    const { SequenceNumber: first } = await send("a", "1", "one");
    clock.pass(1);
    const { SequenceNumber: second } = await send("a", "2", "two");
    expect([String(first).length, String(first) < String(second)]).toEqual([20, true]);
    const [message] = await receive();
    expect(message?.Attributes).toMatchObject({
      MessageGroupId: "a",
      MessageDeduplicationId: "one",
      SequenceNumber: first,
      SentTimestamp: "1000000",
      ApproximateFirstReceiveTimestamp: "1001000",
      ApproximateReceiveCount: "1",
    });
  });
});

describe("a call that SQS would refuse", () => {
  const good = { MessageBody: "1", MessageGroupId: "a", MessageDeduplicationId: "1" };
  it.each<[string, string, object, RegExp]>([
    ["without a group", "SendMessage", { ...good, MessageGroupId: undefined }, /MessageGroupId/],
    ["with an empty body", "SendMessage", { ...good, MessageBody: "" }, /MessageBody/],
    ["with a delay", "SendMessage", { ...good, DelaySeconds: 0 }, /not valid for this queue type/],
    ["with a long group", "SendMessage", { ...good, MessageGroupId: "a".repeat(129) }, /MessageGroupId is invalid/],
    ["with a large body", "SendMessage", { ...good, MessageBody: "x".repeat(2 ** 20 + 1) }, /1048576/],
    ["with no entry", "SendMessageBatch", { Entries: [] }, /at least one entry/],
    ["with eleven entries", "SendMessageBatch", { Entries: Array(11).fill(good) }, /are 10/],
    [
      "with one Id twice",
      "SendMessageBatch",
      {
        Entries: [
          { ...good, Id: "1" },
          { ...good, Id: "1" },
        ],
      },
      /same Id/,
    ],
    ["for eleven messages", "ReceiveMessage", { MaxNumberOfMessages: 11 }, /between 1 and 10/],
    ["hidden for more than 12 hours", "ReceiveMessage", { VisibilityTimeout: 43_201 }, /between 0 and 43200/],
    ["that waits", "ReceiveMessage", { WaitTimeSeconds: 20 }, /does not know WaitTimeSeconds/],
    ["of another queue", "ReceiveMessage", { QueueUrl: "x.fifo" }, /does not exist/],
    ["with an unknown operation", "AddPermission", {}, /does not know AddPermission/],
  ])("%s is refused", async (_, operation, body, message) => {
    await expect(queueOf().call(operation, body)).rejects.toThrow(message);
  });

  it("in a batch is refused alone", async () => {
    const { call, bodies } = queueOf();
    const Entries = [
      { ...good, Id: "1" },
      { ...good, Id: "2", DelaySeconds: 1 },
    ];
    const answer = await call("SendMessageBatch", { Entries });
    expect(answer).toMatchObject({ Successful: [{ Id: "1" }], Failed: [{ Id: "2", SenderFault: true }] });
    expect(await bodies()).toEqual(["1"]);
  });
});

describe("a FIFO queue of a template", () => {
  it("hides a message for less where delays pass faster, and still for six seconds", async () => {
    const { clock, send, bodies } = queueOf({ VisibilityTimeout: 30 }, newFolder(), 600);
    await send("a", "1");
    expect(await bodies()).toEqual(["1"]);
    clock.pass(5.999);
    expect(await bodies()).toEqual([]);
    clock.pass(0.001);
    expect(await bodies()).toEqual(["1"]);
  });

  it("is counted and purged", async () => {
    const { queues, send, receive } = queueOf();
    for (const [group, body] of ["a1", "a2", "b1"].map((text) => [text.slice(0, 1), text] as const)) {
      await send(group, body);
    }
    await receive(1);
    expect(queues.counts("q.fifo")).toEqual({ visible: 2, in_flight: 1, delayed: 0 });
    queues.purge("q.fifo");
    expect(queues.counts("q.fifo")).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
  });

  it.each<[string, string, object, RegExp]>([
    ["no suffix", "q", { FifoQueue: true }, /ends with .fifo/],
    ["the suffix only", "q.fifo", { FifoQueue: false }, /ends with .fifo/],
    ["standard dead letters", "q.fifo", { RedrivePolicy: redriveTo("dead") }, /dead letters/],
    ["dead letters elsewhere", "q.fifo", { RedrivePolicy: redriveTo("gone.fifo") }, /dead letters/],
    ["a throughput limit alone", "q.fifo", { FifoThroughputLimit: "perMessageGroupId" }, /per message group/],
    ["a delay", "q.fifo", { DelaySeconds: 1 }, /DelaySeconds is not known/],
  ])("is refused with %s", (_, name, properties, message) => {
    const resources = [resource("dead"), resource(name, properties as Record<string, unknown>)];
    expect(() => new Queues({ resources, dataDir: newFolder() })).toThrow(message);
  });

  it("is read without a batching window, in batches of ten at most", () => {
    const mapping = (more: object) => {
      const properties = { FunctionName: "f", EventSourceArn: arnOf("q.fifo"), ...more };
      const target = { ...{ name: "f", arn: "", role_arn: "", asset: "", handler: "" }, environment: {} };
      const found = { ...target, memory_mb: 128, timeout_seconds: 5 };
      const one = { path: "test/Mapping", type: "", physical_id: "m", properties, attributes: {} };
      return queueMapping(one, [resource("q.fifo")], () => found);
    };
    expect(() => mapping({ MaximumBatchingWindowInSeconds: 1 })).toThrow(/no batching window/);
    expect(() => mapping({ BatchSize: 11 })).toThrow(/a batch of 11/);
    expect(mapping({ BatchSize: 10 }).batch_size).toBe(10);
  });
});

it("gives each group in order, one batch in flight, whatever is deleted, expires or comes meanwhile", async () => {
  const act = fc.oneof(
    fc.record({ act: fc.constant("send" as const), group: fc.constantFrom("a", "b", "c") }),
    fc.record({ act: fc.constant("receive" as const), most: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ act: fc.constant("delete" as const), place: fc.nat(20) }),
    fc.record({ act: fc.constant("pass" as const), seconds: fc.integer({ min: 1, max: 40 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
      const { clock, send, receive, remove } = queueOf({ RedrivePolicy: undefined });
      const left: Record<string, string[]> = { a: [], b: [], c: [] };
      let flying: { readonly message: Shown; readonly until: number }[] = [];
      let sent = 0;
      for (const one of acts) {
        flying = flying.filter(({ until }) => until > clock.now());
        if (one.act === "send") {
          sent += 1;
          left[one.group]?.push(String(sent));
          await send(one.group, String(sent));
        } else if (one.act === "receive") {
          const busy = new Set(flying.map(({ message }) => groupOf(message)));
          const messages = await receive(one.most);
          for (const group of new Set(messages.map(groupOf))) {
            const some = messages.filter((message) => groupOf(message) === group);
            expect(busy.has(group)).toBe(false);
            expect(some.map(({ Body }) => Body)).toEqual(left[group]?.slice(0, some.length));
          }
          flying.push(...messages.map((message) => ({ message, until: clock.now() + 30_000 })));
        } else if (one.act === "delete") {
          const [done] = flying.splice(one.place, 1);
          if (done === undefined) continue;
          const group = groupOf(done.message);
          left[group] = (left[group] ?? []).filter((body) => body !== done.message.Body);
          await remove(done.message);
        } else clock.pass(one.seconds);
      }
    }),
    { numRuns: 60 },
  );
});
