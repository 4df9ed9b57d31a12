import { afterAll, expect } from "vitest";
import { brokerage } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

export const api = await startApi("stream");

afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});

export const caller = newCaller();

export const broker = brokerage(api, caller);

export const stranger = newCaller();

export const call = (method: string, address: string, parts?: RequestParts) => api.call(caller, method, address, parts);

/** Rules of every answer to the caller. */
export function expectManners({ status, headers, text }: TestAnswer): void {
  expect(headers).toMatchObject({
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": expect.stringContaining("max-age="),
    "X-Request-Id": expect.any(String),
    "Cache-Control": status < 400 ? "private, no-store" : "no-store",
    "Content-Type": status < 400 ? "application/json" : "application/problem+json",
  });
  if (status >= 400) expect(JSON.parse(text)).toMatchObject({ status, request_id: headers["X-Request-Id"] });
}
