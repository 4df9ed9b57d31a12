const usualMs = 5_000;
const slowestMs = 60_000;

/** How often visible pages are read again, which every 429 slows down and time speeds up again. */
export class Pace {
  private intervalMs = usualMs;
  private blockedUntil = 0;

  /** The service asks for fewer requests: nothing is read again before this, and half as often from then on. */
  slowDown(retryAfterSeconds: number | undefined, nowMs: number): void {
    this.intervalMs = Math.min(slowestMs, this.intervalMs * 2);
    this.blockedUntil = Math.max(this.blockedUntil, nowMs + (retryAfterSeconds ?? this.intervalMs / 1000) * 1000);
  }

  /** A request was answered: the pace returns to the usual one step by step. */
  speedUp(nowMs: number): void {
    if (nowMs >= this.blockedUntil) this.intervalMs = Math.max(usualMs, this.intervalMs - 500);
  }

  /** Milliseconds until a visible page is read again. */
  next(nowMs: number): number {
    return Math.max(this.intervalMs, this.blockedUntil - nowMs);
  }

  /** Milliseconds until a request is allowed; 0 now. */
  wait(nowMs: number): number {
    return Math.max(0, this.blockedUntil - nowMs);
  }
}
