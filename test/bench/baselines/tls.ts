import { request } from "node:https";

/** The no-op handler with what a call over TLS loads, which the bench's own calls, on this machine, do without. */
export async function handler(): Promise<{ statusCode: number; body: string }> {
  return { statusCode: 200, body: JSON.stringify(typeof request) };
}
