import { describe, expect, it } from "vitest";
import { StreamPages } from "../../../infra/local/streams/stream-pages.ts";
import { closedDoor } from "../../support/emulator/watched-endpoint.ts";

/** A server with a stream of numbers, whose positions say how many are behind them. */
class NumberServer {
  readonly stream: number[] = [];
  /** Positions that it was asked for, in order. */
  readonly asked: number[] = [];
  /** Each request waits for this after its answer is made. */
  answering: Promise<void> = Promise.resolve();
  failing = false;

  readonly call = async (_operation: string, { ShardIterator: position }: Readonly<Record<string, unknown>>) => {
    this.asked.push(Number(position));
    if (this.failing) throw new Error("The server is gone.");
    const Records = this.stream
      .slice(Number(position))
      .map((number) => ({ dynamodb: { SequenceNumber: `${number}` } }));
    await this.answering;
    return { Records, NextShardIterator: `${Number(position) + Records.length}` };
  };
}

function setUp(...numbers: number[]) {
  const server = new NumberServer();
  server.stream.push(...numbers);
  const pages = new StreamPages(server);
  const read = async (position: string) => {
    const { records, next, isEnd } = await pages.read(position);
    return { numbers: records.map(({ dynamodb }) => Number(dynamodb.SequenceNumber)), next, isEnd };
  };
  return { server, pages, read };
}

describe("readers of one stream", () => {
  it("get a page from one request, whether they ask for it at the same time or later", async () => {
    const { server, read } = setUp(1, 2, 3);
    const page = { numbers: [1, 2, 3], next: "3", isEnd: true };
    expect(await Promise.all([read("0"), read("0"), read("0")])).toEqual([page, page, page]);
    expect(await read("0")).toEqual({ ...page, isEnd: false });
    expect(await Promise.all([read("3"), read("3")])).toEqual(Array(2).fill({ numbers: [], next: "3", isEnd: true }));
    expect(server.asked).toEqual([0, 3]);
  });

  it("find what was written since a page was kept behind it, and never rest on a kept page", async () => {
    const { server, read } = setUp(1, 2);
    await read("0");
    server.stream.push(3);
    const kept = await read("0");
    expect(kept).toEqual({ numbers: [1, 2], next: "2", isEnd: false });
    expect(await read(kept.next)).toEqual({ numbers: [3], next: "3", isEnd: true });
  });

  it("do not join a request that began before they were woken", async () => {
    const { server, pages, read } = setUp();
    const door = closedDoor();
    server.answering = door.opened;
    const early = read("0");
    server.stream.push(1);
    pages.wake();
    const late = read("0");
    door.open();
    expect([(await early).numbers, (await late).numbers]).toEqual([[], [1]]);
    expect(server.asked).toEqual([0, 0]);
  });

  it("ask the server again for an empty page and after a failure, which all who wait learn of", async () => {
    const { server, read } = setUp();
    await read("0");
    server.failing = true;
    const failed = await Promise.allSettled([read("0"), read("0")]);
    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    server.failing = false;
    server.stream.push(1);
    expect((await read("0")).numbers).toEqual([1]);
    expect(server.asked).toEqual([0, 0, 0]);
  });

  it("that are far behind ask for themselves: some pages are kept, not all", async () => {
    const { server, read } = setUp();
    for (let number = 0; number < 12; number += 1) {
      server.stream.push(number);
      await read(`${number}`);
    }
    expect((await read("0")).numbers).toHaveLength(12);
    expect((await read("11")).isEnd).toBe(false);
    expect(server.asked).toEqual([...Array(12).keys(), 0]);
  });
});
