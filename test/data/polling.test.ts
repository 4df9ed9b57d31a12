import { afterAll, expect, it } from "vitest";
import { Brokerage } from "../bench/load/drive.ts";
import { atOnce, brokerage } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { readStream } from "../support/emulator/raw-table.ts";
import { newCaller } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";
import type { ApiClient } from "../support/stack/api-client.ts";

const api = await startApi("stream");
afterAll(api.stop);

const { publishing } = await import("../support/emulator/publishing.ts");
const work = publishing(api);

const writers = 4;
const each = 12;

it("a reader who goes on from the last number misses nothing, sees nothing twice and never goes back", async () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  let writing = true;
  const seen: string[] = [];
  let after = "0";
  const look = async () => {
    const { data } = await broker.get(`/events?after_sequence=${after}&limit=5`);
    for (const { sequence } of data as { sequence: string }[]) {
      expect(Number(sequence)).toBe(Number(after) + 1);
      seen.push(sequence);
      after = sequence;
    }
    return data.length as number;
  };
  // Publishers meet over the same records and disturb each other; that is worse than any stream does.
  const publisher = async (part: number) => {
    let done = 0;
    while (writing || done < writers * each) {
      const records = (await readStream(api.emulator)).filter(
        ({ dynamodb: { NewImage: image } }) => image?.["et"]?.S === "OUTBOX",
      );
      const batch = part === 0 ? records.slice(done) : records.slice(done).toReversed();
      await work.publish(batch);
      done = records.length;
    }
  };
  const reader = async () => {
    while (writing || (await look()) > 0) await look();
  };
  const write = atOnce(writers, async () => {
    for (let count = 0; count < each; count += 1) await broker.client();
  }).finally(() => {
    writing = false;
  });
  await Promise.all([write, publisher(0), publisher(1), reader()]);
  while ((await look()) > 0);
  expect(seen).toEqual(Array.from({ length: writers * each }, (_, index) => String(index + 1)));
  expect(await findings(api.emulator)).toEqual([]);
}, 90_000);

it("the load generator counts the events of every page", async () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) made.push(`client.created ${(await broker.client()).id}`);
  const records = await readStream(api.emulator);
  await work.publish(
    records.filter(({ dynamodb: { NewImage: image } }) => image?.["tenant_id"]?.S === caller.tenant_id),
  );
  const call: ApiClient["call"] = async (method, path) => (await api.call(caller, method, path)) as never;
  const credentials = { client_id: "", client_secret: "" };
  const own = { api: { token: "", call }, tenant_id: caller.tenant_id, credentials, funded: "" };
  const { published } = await new Brokerage({ baseUrl: "" }, own, Math.random, new Set()).counts(2);
  expect([...published.values()]).toEqual(made);
});
