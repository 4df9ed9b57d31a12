import { env } from "./env.ts";

/** Milliseconds since 1970. The only place that reads the clock. */
export function nowMs(): number {
  return Date.now();
}

/** This moment as RFC 3339 in UTC with milliseconds. */
export function nowIso(): string {
  return new Date(nowMs()).toISOString();
}

/** A business delay in milliseconds: shortened by the time scale of a local runner, untouched elsewhere. */
export function delayMs(seconds: number): number {
  return (seconds * 1000) / env.timeScale;
}

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
