/** Work at a time. */
interface Planned {
  readonly atMs: number;
  /** Breaks ties: what was planned first happens first. */
  readonly turn: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** Something planned that can be called off. */
export interface Timer {
  readonly cancel: () => void;
}

const startMs = Date.UTC(2026, 0, 1);
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Virtual time. Planned work runs in the order of its time, and time moves only when no promise has anything left to
 * do. Whatever is drawn at random comes from one seed, so that a run with the same seed is the same run.
 */
export class Simulation {
  /** Milliseconds since 1970, with fractions. */
  nowMs = startMs;
  private readonly heap: Planned[] = [];
  private turns = 0;
  private state: number;
  private broken: { readonly error: unknown } | undefined;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Milliseconds since the simulation began. */
  get elapsedMs(): number {
    return this.nowMs - startMs;
  }

  /** A random number from 0 up to, not including, 1 (mulberry32). */
  readonly random = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A random number between two others. */
  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  after(ms: number, run: () => void): Timer {
    const planned: Planned = { atMs: this.nowMs + Math.max(0, ms), turn: this.turns, run, cancelled: false };
    this.turns += 1;
    this.push(planned);
    return {
      cancel: () => {
        planned.cancelled = true;
      },
    };
  }

  /** Resolves after so much virtual time. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Starts work that runs on by itself; its failure ends the simulation. */
  start(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.broken ??= { error };
    });
  }

  /**
   * Lets time pass, until so much of it is over or `isOver` says so.
   * @throws what work that was started failed with
   */
  async run(ms: number, isOver = () => false): Promise<void> {
    const endMs = this.nowMs + ms;
    await settle();
    while (!isOver()) {
      if (this.broken !== undefined) throw this.broken.error;
      const next = this.heap[0];
      if (next === undefined || next.atMs > endMs) {
        this.nowMs = endMs;
        return;
      }
      this.nowMs = next.atMs;
      // Work of one moment runs together; then everything it set off comes to rest.
      while (this.heap[0]?.atMs === next.atMs) {
        const planned = this.pop();
        if (!planned.cancelled) planned.run();
      }
      await settle();
    }
  }

  private push(planned: Planned): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(planned);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent] as Planned, planned)) break;
      heap[at] = heap[parent] as Planned;
      at = parent;
    }
    heap[at] = planned;
  }

  private pop(): Planned {
    const { heap } = this;
    const first = heap[0] as Planned;
    const last = heap.pop() as Planned;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Planned)) child += 1;
      if (isBefore(last, heap[child] as Planned)) break;
      heap[at] = heap[child] as Planned;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Planned, other: Planned): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.turn < other.turn);
}
