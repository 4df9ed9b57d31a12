/** A limit as API Gateway states it. */
export interface Limit {
  /** Requests per second that are added to the bucket. */
  readonly rate: number;
  /** Most requests that the bucket holds. */
  readonly burst: number;
}

/** Bounds the error of adding up fractions, so that a token due exactly now is there. */
const tolerance = 1e-9;

/** A bucket that starts full, gains `rate` tokens a second and gives one to each request. Times in milliseconds. */
export class TokenBucket {
  private readonly limit: Limit;
  private tokens: number;
  private filledAt: number;

  constructor(limit: Limit, nowMs: number) {
    this.limit = limit;
    this.tokens = limit.burst;
    this.filledAt = nowMs;
  }

  /** Whether a request would get a token now. */
  has(nowMs: number): boolean {
    this.fill(nowMs);
    return this.tokens >= 1 - tolerance;
  }

  /** Takes a token; only after `has` said yes. */
  take(): void {
    this.tokens = Math.max(0, this.tokens - 1);
  }

  private fill(nowMs: number): void {
    // A clock that goes back gives nothing and takes nothing.
    const elapsedMs = Math.max(0, nowMs - this.filledAt);
    this.filledAt = Math.max(this.filledAt, nowMs);
    this.tokens = Math.min(this.limit.burst, this.tokens + (elapsedMs / 1000) * this.limit.rate);
  }
}

/** All buckets of a stage, made when first used. */
export class Throttle {
  private readonly buckets = new Map<string, TokenBucket>();

  /**
   * Admits a request when every limit has a token for it, and then takes one from each: a refused request uses up
   * nothing. A narrower limit (of one method) therefore never lifts a wider one (of the plan).
   */
  admit(limits: readonly (readonly [bucket: string, limit: Limit])[], nowMs: number): boolean {
    const buckets = limits.map(([name, limit]) => this.bucket(name, limit, nowMs));
    if (!buckets.every((bucket) => bucket.has(nowMs))) return false;
    for (const bucket of buckets) bucket.take();
    return true;
  }

  private bucket(name: string, limit: Limit, nowMs: number): TokenBucket {
    const known = this.buckets.get(name);
    if (known !== undefined) return known;
    const made = new TokenBucket(limit, nowMs);
    this.buckets.set(name, made);
    return made;
  }
}
