import { afterAll, afterEach, expect, vi } from "vitest";
import { findings } from "../oracles/oracle.ts";
import { startApi, type TestApi } from "./api.ts";

/**
 * The API on an emulator for the tests of one file. After each of them the clock and the calls are as they were, and an
 * oracle checks every item in the table; after the last one the emulator stops.
 */
export async function startJudgedApi(): Promise<TestApi> {
  const api = await startApi("stream", "watched");
  afterAll(api.stop);
  afterEach(async () => {
    vi.useRealTimers();
    api.watched.interfere = () => undefined;
    expect(await findings(api.emulator)).toEqual([]);
  });
  return api;
}
