import type { AwsCall, CloudOptions } from "../../../infra/local/cloud.ts";

/** A repeatable source of numbers from 0 up to, not including, 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Faults of a run. */
export interface ChaosCounts {
  readonly kills: Readonly<Record<string, number>>;
  readonly stream_repeats: number;
  readonly queue_repeats: number;
}

/** Makes trouble for a cloud, and counts it. */
export interface Chaos {
  readonly options: Pick<CloudOptions, "onCall" | "onQueueBatch" | "onStreamBatch">;
  readonly counts: () => ChaosCounts;
}

/**
 * Kills processes of functions, one in `killEveryMs` on average, at one of their calls to AWS, before it is made or
 * after it took effect; hands batches of streams and queues over in another order and some of their records twice.
 * `targets` are the functions that may be killed, each as often as another.
 */
export function makeChaos(seed: number, targets: readonly string[], killEveryMs: number): Chaos {
  const random = seeded(seed);
  const kills: Record<string, number> = {};
  let [streamRepeats, queueRepeats] = [0, 0];
  const arm = () => ({
    target: targets[Math.floor(random() * targets.length)],
    phase: random() < 0.5 ? "before" : "after",
    skip: Math.floor(random() * 8),
    fromMs: Date.now() + 2 * killEveryMs * random(),
  });
  let armed = arm();
  const onCall = (call: AwsCall): void => {
    // One that is called no more must not keep the others alive.
    if (Date.now() > armed.fromMs + 2 * killEveryMs) armed = arm();
    if (call.functionName !== armed.target || call.phase !== armed.phase) return;
    if (Date.now() < armed.fromMs) return;
    // So that a function dies not always at the first call that it makes.
    if (armed.skip > 0) {
      armed.skip -= 1;
      return;
    }
    kills[call.functionName] = (kills[call.functionName] ?? 0) + 1;
    armed = arm();
    call.kill();
  };
  const shuffled = <T>(values: readonly T[]): T[] =>
    values
      .map((value) => ({ value, place: random() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ value }) => value);
  const some = <T>(values: readonly T[]): T[] => shuffled(values).filter(() => random() < 0.5);
  return {
    options: {
      onCall,
      onStreamBatch: ({ records }) => {
        const again = some(records);
        streamRepeats += again.length;
        return again.length === 0 ? [shuffled(records)] : [shuffled(records), again];
      },
      onQueueBatch: ({ records }) => {
        const again = random() < 0.3 ? some(records) : [];
        queueRepeats += again.length;
        return again.length === 0 ? [shuffled(records)] : [shuffled(records), again];
      },
    },
    counts: () => ({ kills: { ...kills }, stream_repeats: streamRepeats, queue_repeats: queueRepeats }),
  };
}
