import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import type { StreamConnection } from "../../../shared/domain/stream/connection.ts";
import { limits } from "../../../shared/limits.ts";
import { startApi } from "../../support/emulator/api.ts";
import type { SentMessage } from "../../support/emulator/queue-endpoint.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { type PostFate, startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
const { streaming } = await import("../../support/emulator/streaming.ts");

// The same bounds in milliseconds instead of seconds: a program of many runs takes no longer than it needs.
const bounds = limits.stream as { -readonly [K in keyof typeof limits.stream]: number };
const usual = { ...limits.stream };
Object.assign(bounds, { batch_ms: 5, hot_ms: 60, loop_ms: 400, hot_reserve_ms: 20, cursors_written_ms: 10 });
Object.assign(bounds, { quick_ms: 50, stalled_ms: 200, events_per_read: 4, batch_bytes: 700 });
afterAll(async () => {
  Object.assign(bounds, usual);
  await gateway.stop();
  await api.stop();
});

/** A client that connects again and resumes, and what it has received. */
class Client {
  connection: StreamConnection | undefined;
  /** The number that it resumes after. */
  last = 0;
  readonly seen: number[] = [];

  /** Takes events: it drops those that it has. */
  take(sequences: readonly number[]): void {
    for (const sequence of sequences) {
      if (sequence <= this.last) continue;
      this.seen.push(sequence);
      this.last = sequence;
    }
  }
}

type Step =
  | { readonly do: "publish"; readonly count: number }
  | { readonly do: "connect"; readonly client: number }
  /** The socket of a client dies with its n-th message from now on. */
  | { readonly do: "cut"; readonly client: number; readonly after: number }
  | { readonly do: "work"; readonly twice: boolean }
  /** The worker dies at its n-th call from now on, of the table or a connection, which is carried out or not. */
  | { readonly do: "kill"; readonly calls: number; readonly isDone: boolean }
  | { readonly do: "lose_messages" };

const client = fc.integer({ min: 0, max: 2 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("publish" as const), count: fc.integer({ min: 1, max: 9 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("connect" as const), client }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("cut" as const), client, after: fc.integer({ min: 0, max: 5 }) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("work" as const), twice: fc.boolean() }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("kill" as const),
        calls: fc.integer({ min: 0, max: 14 }),
        isDone: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("lose_messages" as const) }) },
  ),
  { minLength: 4, maxLength: 18 },
);

/** Runs a program and returns what each client has seen, and how many events there are. */
async function runProgram(program: readonly Step[]) {
  const work = streaming(api, gateway, newCaller().tenant_id);
  const clients = [new Client(), new Client(), new Client()];
  const cutAfter = new Map<string, number>();
  let waiting: SentMessage[] = [];
  let published = 0;
  let callsLeft = Number.POSITIVE_INFINITY;
  let isLastDone = false;
  const isDead = () => {
    callsLeft -= 1;
    return callsLeft < 0;
  };
  api.watched.interfere = () => {
    if (!isDead()) return undefined;
    // The call during which the worker dies may be carried out.
    return callsLeft === -1 && isLastDone ? "lose_answer" : failure("ResourceNotFoundException");
  };
  gateway.fate = ({ connection_id }): PostFate => {
    if (isDead()) return callsLeft === -1 && isLastDone ? "answer_lost" : "lost";
    const left = cutAfter.get(connection_id);
    if (left === undefined) return "taken";
    cutAfter.set(connection_id, left - 1);
    return left > 0 ? "taken" : "gone";
  };
  const receive = () => {
    const posts = gateway.takePosts();
    for (const each of clients) {
      if (each.connection === undefined) continue;
      const events = work.messages(each.connection, posts).filter(({ type }) => type === "event");
      each.take(events.map(({ sequence }) => Number(sequence)));
    }
  };
  const connect = async (each: Client) => {
    each.connection = await work.connect();
    await work.subscribe(each.connection, "1", [{ name: "events", after_sequence: String(each.last) }]);
  };
  const run = async (messages: readonly SentMessage[]) => {
    waiting = [...(await work.run(messages)), ...work.wakes()];
    receive();
  };
  for (const step of program) {
    waiting.push(...work.wakes());
    if (step.do === "publish") {
      await work.publish(step.count);
      published += step.count;
    } else if (step.do === "connect") {
      await connect(clients[step.client] as Client);
    } else if (step.do === "cut") {
      const { connection } = clients[step.client] as Client;
      if (connection !== undefined) cutAfter.set(connection.connection_id, step.after);
    } else if (step.do === "work") {
      const again = step.twice ? waiting : [];
      await run(waiting);
      if (again.length > 0) await run([...again, ...waiting]);
    } else if (step.do === "kill") {
      [callsLeft, isLastDone] = [step.calls, step.isDone];
      const before = waiting;
      await run(waiting);
      callsLeft = Number.POSITIVE_INFINITY;
      // Messages of a function that died come again.
      waiting = [...before, ...waiting];
    } else waiting = [];
  }
  cutAfter.clear();
  for (const each of clients) await connect(each);
  waiting.push(...work.wakes(), work.wake("sweep"));
  while (waiting.length > 0) await run(waiting);
  return { seen: clients.map(({ seen }) => seen), published };
}

it("a client that resumes has seen every event once and in order, whatever died between", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      const { seen, published } = await runProgram(program);
      const all = Array.from({ length: published }, (_, at) => at + 1);
      expect(seen).toEqual([all, all, all]);
    }),
    { numRuns: Number(process.env["STREAM_RUNS"] ?? 24) },
  );
}, 180_000);
