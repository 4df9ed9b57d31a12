import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { arnOf, newFolder, opened, standardOf } from "./fixture.ts";

describe("a standard queue", () => {
  const send = (queue: ReturnType<typeof standardOf>, MessageBody: string, more: object = {}) =>
    queue.call("SendMessage", { MessageBody, ...more });

  it("gives what is neither delayed nor in flight, and tells when there is more", async () => {
    const queue = standardOf({ VisibilityTimeout: 30 });
    await send(queue, "1");
    await send(queue, "2", { DelaySeconds: 10 });
    expect(await queue.bodies()).toEqual(["1"]);
    expect(queue.queues.counts("q")).toEqual({ visible: 0, in_flight: 1, delayed: 1 });
    queue.woken.length = 0;
    queue.clock.pass(10);
    expect([queue.woken, await queue.bodies()]).toEqual([["q"], ["2"]]);
    queue.clock.pass(19.999);
    expect([queue.woken, await queue.bodies()]).toEqual([["q"], []]);
    queue.clock.pass(0.001);
    expect([queue.woken, await queue.bodies()]).toEqual([["q", "q"], ["1"]]);
  });

  it("hides a message as long as a receive says, and counts its receives", async () => {
    const queue = standardOf({ VisibilityTimeout: 30 }, newFolder(), 600);
    await send(queue, "1");
    for (const count of ["1", "2", "3"]) {
      const [message] = await queue.receive(1, { VisibilityTimeout: 5 });
      expect(message?.Attributes["ApproximateReceiveCount"]).toBe(count);
      queue.clock.pass(4.999);
      expect(await queue.bodies()).toEqual([]);
      queue.clock.pass(0.001);
    }
    expect(await queue.bodies()).toEqual([]);
    const { Messages: dead } = await queue.call("ReceiveMessage", { QueueUrl: "dead" });
    expect(dead).toMatchObject([{ Body: "1", Attributes: { DeadLetterQueueSourceArn: arnOf("q") } }]);
  });

  it("deletes by the handle of the latest receive, also a late one; by an earlier one nothing", async () => {
    const queue = standardOf({ VisibilityTimeout: 30 });
    await send(queue, "1");
    const [first] = await queue.receive();
    queue.clock.pass(30);
    const [second] = await queue.receive();
    expect(await queue.remove(first)).toEqual({});
    queue.clock.pass(30);
    expect(queue.queues.bodies("q")).toEqual(["1"]);
    expect(await queue.remove(second)).toEqual({});
    expect(queue.queues.bodies("q")).toEqual([]);
  });

  it.each([
    ["with a delay below 0 s", { DelaySeconds: -1 }, /DelaySeconds must be >= 0 and <= 900/],
    ["with a delay above 900 s", { DelaySeconds: 901 }, /DelaySeconds must be >= 0 and <= 900/],
    ["with an identifier of FIFO queues", { MessageDeduplicationId: "1" }, /not valid for this queue type/],
    ["without content although it is delayed", { MessageBody: "", DelaySeconds: 5 }, /MessageBody/],
  ])("refuses a message %s, alone in its batch", async (_, more, text) => {
    const queue = standardOf();
    const Entries = [
      { Id: "0", MessageBody: "1", ...more },
      { Id: "1", MessageBody: "2" },
    ];
    const answer = await queue.call("SendMessageBatch", { Entries });
    const Failed = [{ Id: "0", SenderFault: true, Message: expect.stringMatching(text) }];
    expect(answer).toMatchObject({ Successful: [{ Id: "1" }], Failed });
    await expect(send(queue, "1", more)).rejects.toThrow(text);
    expect(queue.queues.counts("q")).toEqual({ visible: 1, in_flight: 0, delayed: 0 });
  });
});

describe("a process that is killed", () => {
  /** The queue as the next run finds it: nothing was closed or handed over. */
  const nextRun = (suffix: string, dataDir: string) => opened(suffix, { VisibilityTimeout: 30 }, dataDir);

  it("leaves every message that was acknowledged and not deleted, with its delay and its receives", async () => {
    const dataDir = newFolder();
    const before = nextRun("", dataDir);
    const Entries = ["gone", "taken", "there"].map((MessageBody) => ({ Id: MessageBody, MessageBody }));
    await before.call("SendMessageBatch", { Entries });
    await before.call("SendMessage", { MessageBody: "later", DelaySeconds: 60 });
    const [gone] = await before.receive(2);
    await before.remove(gone);
    const next = nextRun("", dataDir);
    expect(next.queues.counts("q")).toEqual({ visible: 2, in_flight: 0, delayed: 1 });
    const counts = (await next.receive()).map((one) => [one.Body, one.Attributes["ApproximateReceiveCount"]]);
    expect(counts).toEqual([
      ["taken", "2"],
      ["there", "1"],
    ]);
    next.clock.pass(59.999);
    expect(await next.bodies()).toEqual(["taken", "there"]);
    next.clock.pass(0.001);
    expect(await next.bodies()).toEqual(["later"]);
  });

  it("leaves what a FIFO queue drops repetitions by, and the next number of a message", async () => {
    const dataDir = newFolder();
    const before = nextRun(".fifo", dataDir);
    const first = await before.send("a", "1", "same");
    await before.remove((await before.receive())[0]);
    const next = nextRun(".fifo", dataDir);
    expect(await next.send("a", "again", "same")).toMatchObject({ MessageId: first["MessageId"] });
    next.clock.pass(0.001);
    const { SequenceNumber } = await next.send("a", "2");
    expect(String(SequenceNumber) > String(first["SequenceNumber"])).toBe(true);
    expect(await next.bodies()).toEqual(["2"]);
  });

  it("in the middle of a line leaves what was acknowledged before", async () => {
    const dataDir = newFolder();
    await nextRun("", dataDir).call("SendMessage", { MessageBody: "1" });
    appendFileSync(join(dataDir, "queues", "q.ndjson"), '["message",{"id":"x","bo');
    const next = nextRun("", dataDir);
    await next.call("SendMessage", { MessageBody: "2" });
    expect(await nextRun("", dataDir).bodies()).toEqual(["1", "2"]);
  });

  it("leaves a file that is no longer than what the queue holds, however many messages passed", async () => {
    const dataDir = newFolder();
    const before = nextRun("", dataDir);
    await before.call("SendMessage", { MessageBody: "kept", DelaySeconds: 900 });
    for (let at = 0; at < 1000; at += 1) {
      await before.call("SendMessage", { MessageBody: String(at) });
      await before.remove((await before.receive())[0]);
    }
    const lines = readFileSync(join(dataDir, "queues", "q.ndjson"), "utf8").split("\n").length;
    expect(lines).toBeLessThan(1100);
    expect(nextRun("", dataDir).queues.counts("q")).toEqual({ visible: 0, in_flight: 0, delayed: 1 });
  });
});
