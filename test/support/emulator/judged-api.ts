import { afterAll, afterEach, expect, vi } from "vitest";
import { findings, findingsByStream } from "../oracles/oracle.ts";
import { startApi, type TestApi } from "./api.ts";

/**
 * The API on an emulator for the tests of one file. After each of them the clock and the calls are as they were, and an
 * oracle checks every item by the stream; after the last one it checks the table itself, and the emulator stops.
 */
export async function startJudgedApi(): Promise<TestApi> {
  const api = await startApi("stream", "watched");
  afterAll(async () => {
    const found = await findings(api.emulator);
    await api.stop();
    expect(found).toEqual([]);
  });
  afterEach(async () => {
    vi.useRealTimers();
    api.watched.interfere = () => undefined;
    expect(await findingsByStream(api.emulator)).toEqual([]);
  });
  return api;
}
