import { BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { transactions } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { csvRows, flat, hashOf } from "../../support/builders/exports.ts";
import { startApi } from "../../support/emulator/api.ts";
import { startBucketEndpoint } from "../../support/emulator/bucket-endpoint.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { failure, unitsOf } from "../../support/emulator/watched-endpoint.ts";

/** Rows, and pages of a step: the long form has 200,000 rows in steps of ten pages. */
const rows = Number(process.env["EXPORT_ROWS"] ?? "6000");
const pagesOfStep = Number(process.env["EXPORT_STEP_PAGES"] ?? "1");

const bucket = await startBucketEndpoint();
const api = await startApi("watched");
Object.assign(process.env, bucket.environment);
afterAll(async () => {
  await bucket.stop();
  await api.stop();
});
afterEach(() => {
  vi.useRealTimers();
  api.watched.interfere = () => undefined;
});

const { handler } = await import("../../../functions/jobs/run.ts");
const { publishWaiting } = await import("../../support/emulator/publishing.ts");
const { readAll } = await import("../../../shared/table/store.ts");

function moveOn(seconds: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });
}

const isRead = (operation: string) => operation === "Query" || operation === "BatchGetItem";
const run = () => handler({}, lambdaContext(600_000)).catch(() => undefined);

/** Writes copies of a transaction past the service, a millisecond apart, the last one a minute ago. */
async function writeCopies(template: Transaction, count: number): Promise<string[]> {
  const begin = Date.now() - 60_000 - count;
  const ids = Array.from({ length: count }, (_, at) => newId("txn", begin + at));
  const { client, tableName } = api.emulator;
  const batches = Array.from({ length: Math.ceil(count / 25) }, (_, at) => ids.slice(at * 25, at * 25 + 25));
  const write = async () => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
      const puts = batch.map((id) => {
        const item = itemOf(transactions, { ...template, id });
        return { PutRequest: { Item: marshall(item, { removeUndefinedValues: true }) } };
      });
      await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: puts } }));
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  return ids;
}

it(`of ${rows} transactions has each once, with workers that die in ten steps and come twice`, {
  timeout: 600_000,
}, async () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const account = await broker.account("10.00", { name: "a" });
  const made = (await broker.get("/transactions")).data[0];
  const [template] = await readAll(transactions, [transactions.key(caller.tenant_id, made.id)]);
  if (template === undefined) throw new Error("There is no transaction.");
  const wanted = await writeCopies(template, rows);
  const start = async () => {
    const body = { type: "transactions", parameters: { account_id: account.id, kind: "deposit" } };
    return (await api.call(caller, "POST", "/jobs", { body })).body.id as string;
  };
  const [id, cancelled] = [await start(), await start()];
  moveOn(61);
  await api.call(caller, "POST", `/jobs/${cancelled}/cancel`);
  // A step ends by its time after so many pages, and ten of them die at another call each.
  let [pages, calls, deaths, peak] = [0, 0, 0, 0];
  api.watched.interfere = ({ operation }) => {
    peak = Math.max(peak, process.memoryUsage().heapUsed + process.memoryUsage().external);
    calls += 1;
    if (operation === "Query") {
      pages += 1;
      if (pages % pagesOfStep === 0) moveOn(41);
    }
    if (deaths >= 10 || calls < (deaths + 1) * 13) return undefined;
    deaths += 1;
    return deaths % 3 === 0 ? "lose_answer" : failure("AccessDeniedException");
  };
  const began = performance.now();
  // The calls that are kept hold the whole result.
  if (rows <= 10_000) api.watched.takeCalls();
  let job = (await api.call(caller, "GET", `/jobs/${id}`)).body;
  for (let turn = 0; job.completed_at === null && turn < 60; turn += 1) {
    await Promise.all([run(), run()]);
    moveOn(181);
    job = (await api.call(caller, "GET", `/jobs/${id}`)).body;
  }
  const seconds = (performance.now() - began) / 1000;
  const read = rows <= 10_000 ? unitsOf(api.watched.takeCalls().filter(({ operation }) => isRead(operation))) : 0;
  api.watched.interfere = () => undefined;
  expect([job.status, deaths]).toEqual(["succeeded", 10]);
  const { body: links } = await api.call(caller, "POST", `/jobs/${id}/links`);
  const found: Record<string, string>[] = [];
  for (const [at, { name, signed_url }] of links.files.slice(1).entries()) {
    const content = Buffer.from(await (await fetch(signed_url)).arrayBuffer());
    expect([name, hashOf(content)]).toEqual([job.result.files[at].name, job.result.files[at].sha256]);
    found.push(...csvRows(content, name));
  }
  expect(found.map((row) => row["id"])).toEqual([...wanted, made.id]);
  const shown = (await broker.get("/transactions?limit=100&sort=created_at")).data.slice(0, 100);
  expect(found.slice(0, shown.length)).toEqual(shown.map((item: object) => flat(item, Object.keys(found[0] ?? {}))));
  expect((await api.call(caller, "GET", `/jobs/${cancelled}`)).body.status).toBe("cancelled");
  await publishWaiting(api.emulator, caller.tenant_id);
  const events = (await api.call(caller, "GET", `/events?resource_id=${id}`)).body.data;
  expect(events.map(({ type }: { type: string }) => type)).toEqual(["job.completed"]);
  const figures = {
    rows: found.length,
    read_units: read,
    files: job.result.files.length,
    objects: bucket.exported().size,
  };
  console.log(JSON.stringify({ ...figures, seconds, peak_mb: Math.round(peak / 1_048_576), bytes: job.result.bytes }));
});
