/** How far work of many steps is, on the standard error: at most a line every few seconds, with the time left. */
export class Progress {
  private readonly begun_ms = performance.now();
  private said_ms = performance.now();
  private done = 0;
  private readonly what: string;
  private weight: number;

  /** `weight` is that of all steps together, in whatever unit `step` is given. */
  constructor(what: string, weight: number) {
    this.what = what;
    this.weight = weight;
  }

  /** Counts with so much more work than before. */
  extend(weight: number): void {
    this.weight += weight;
  }

  /** Counts a step of so much weight. */
  step(weight = 1): void {
    this.done += weight;
    const now = performance.now();
    const isLast = this.done >= this.weight;
    if (now - this.said_ms < everyMs && !isLast) return;
    this.said_ms = now;
    const spent_ms = now - this.begun_ms;
    const left_ms = Math.max(0, (spent_ms / this.done) * (this.weight - this.done));
    const end = isLast ? `took ${lasting(spent_ms)}` : `${lasting(left_ms)} left`;
    process.stderr.write(`${this.what}: ${Math.min(100, Math.floor((this.done / this.weight) * 100))} %, ${end}\n`);
  }
}

const everyMs = 5000;

/** A duration for people: `2 min 05 s`, and below a minute `7 s`. */
export function lasting(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}
