import { randomUUID } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { LocalQueue } from "../../infra/local/queues/queue.ts";
import { QueueStore } from "../../infra/local/queues/queue-store.ts";
import { limits } from "../../shared/limits.ts";
import { temporaryFolder } from "../local/fixture.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { readStream, scanTable } from "../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../support/emulator/request.ts";
import { failure } from "../support/emulator/watched-endpoint.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);
const folder = temporaryFolder();
afterAll(() => folder.remove());

const { handler: route } = await import("../../functions/events/route.ts");
const { handler: publish } = await import("../../functions/events/publish.ts");
const { handler: sweep } = await import("../../functions/events/sweep-due.ts");

const numRuns = Number(process.env["PUBLISHING_RUNS"] ?? "6");
const given = process.env["PUBLISHING_SEED"];
const seed = given === "random" ? Date.now() % 1e9 : Number(given ?? "1");

const visibilitySeconds = limits.queues.publishing_visibility_seconds;
const batchMessages = 10;

const act = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant("commit" as const), tenant: fc.nat(1) }) },
  // The reader of a shard goes on, goes back to an earlier checkpoint, or loses what it has not read.
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("route" as const),
      back: fc.nat(12),
      lose: fc.boolean(),
      turn: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("receive" as const), dies_after: fc.nat(24) }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant("pass" as const), seconds: fc.constantFrom(1, 6, 8, 299, 301) }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("sweep" as const) }) },
);

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** The way from commits to events on a virtual FIFO queue, with everything that may go wrong on it. */
class Pipeline {
  readonly callers: readonly TestCaller[] = [newCaller(), newCaller()];
  readonly commits: string[][] = [[], []];
  private nowMs = 0;
  private checkpoint = 0;
  private readonly queue = new LocalQueue(
    { arn: "", fifo: true, retention_ms: 86_400_000, deduplication: "messageGroup", max_receives: 5 },
    new QueueStore(join(folder.path, randomUUID())),
    {
      clock: { now: () => this.nowMs, after: () => undefined },
      bury: () => undefined,
      changed: () => undefined,
    },
  );

  async do(one: Act): Promise<void> {
    if (one.act === "commit") {
      const caller = this.callers[one.tenant] as TestCaller;
      this.commits[one.tenant]?.push((await brokerage(api, caller).client()).id);
    } else if (one.act === "route") await this.route(one.back, one.lose, one.turn);
    else if (one.act === "receive") await this.receive(one.dies_after);
    else if (one.act === "pass") this.pass(one.seconds);
    else await this.sweep();
  }

  pass(seconds: number): void {
    this.nowMs += seconds * 1000;
  }

  async sweep(action = "sweep"): Promise<void> {
    await sweep({ action }, lambdaContext(60_000));
    this.take();
  }

  private async route(back: number, lose: boolean, turn: boolean): Promise<void> {
    const tenants = this.callers.map(({ tenant_id }) => tenant_id);
    const records = (await readStream(api.emulator)).filter(({ dynamodb: { NewImage: image, OldImage: old } }) =>
      tenants.some((tenant) => (image ?? old)?.["pk"]?.S?.startsWith(tenant)),
    );
    const some = lose ? [] : records.slice(Math.max(0, this.checkpoint - back));
    this.checkpoint = records.length;
    await route({ Records: turn ? some.toReversed() : some } as never);
    this.take();
  }

  /** Takes the sent messages to the queue. */
  private take(): void {
    for (const { group = "", body, deduplication = "" } of api.queues.takeFrom("publish.fifo")) {
      this.queue.send({ group, deduplication, body: JSON.stringify(body) }, 0);
    }
  }

  /** One batch for a publisher that dies after so many calls; false when there was none. */
  async receive(diesAfter = Number.POSITIVE_INFINITY): Promise<boolean> {
    const messages = this.queue.receive(batchMessages, visibilitySeconds * 1000);
    if (messages.length === 0) return false;
    let calls = 0;
    api.watched.interfere = () => {
      calls += 1;
      return calls > diesAfter ? failure("ResourceNotFoundException") : undefined;
    };
    api.queues.interfere = () => (calls >= diesAfter ? "unavailable" : undefined);
    const records = messages.map(({ body, receives }) => {
      return { messageId: randomUUID(), body, attributes: { ApproximateReceiveCount: String(receives) } };
    });
    const answer = await publish({ Records: records } as never, lambdaContext(5000));
    api.watched.interfere = () => undefined;
    api.queues.interfere = () => undefined;
    if (calls > diesAfter) return true;
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const [at, { handle = "" }] of messages.entries()) {
      if (!failed.has(records[at]?.messageId ?? "")) this.queue.delete(handle);
    }
    return true;
  }
}

async function judge(pipeline: Pipeline): Promise<void> {
  for (const [at, caller] of pipeline.callers.entries()) {
    const { data } = await brokerage(api, caller).get("/events?limit=100");
    const events = data as { sequence: string; resource: { id: string } }[];
    expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, place) => place + 1));
    expect(events.map(({ resource }) => resource.id).sort()).toEqual(pipeline.commits[at]?.toSorted());
  }
  const tenants = pipeline.callers.map(({ tenant_id }) => tenant_id);
  const own = (await scanTable(api.emulator)).filter(({ pk }) => tenants.some((id) => String(pk).startsWith(id)));
  expect(own.filter(({ et }) => et === "OUTBOX" || et === "PARKED")).toEqual([]);
  expect(await findings(api.emulator)).toEqual([]);
}

it("loses no wake-up: whatever dies, repeats or is lost, all is numbered one sweep and one timeout later", async () => {
  // Commits are due for the sweep at once.
  process.env["TIME_SCALE"] = "1000000";
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 40 }), async (acts) => {
      const pipeline = new Pipeline();
      for (const one of acts) await pipeline.do(one);
      pipeline.pass(visibilitySeconds);
      await pipeline.sweep("release_parked");
      await pipeline.sweep();
      for (let turn = 0; turn < 2; turn += 1) {
        while (await pipeline.receive());
        pipeline.pass(visibilitySeconds);
      }
      await judge(pipeline);
    }),
    { numRuns, seed },
  );
  delete process.env["TIME_SCALE"];
});
