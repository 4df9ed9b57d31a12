import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, expect, it } from "vitest";
import { type Journal, journalFile, phases } from "../../../infra/tools/restore/journal.ts";
import { applicationRefs } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import {
  type Fate,
  serveRecovery,
  type WireItem,
  wireItems,
  writeItems,
} from "../../support/emulator/recovery-endpoint.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { machineNode } from "../../support/machine-node.ts";

const api = await startApi();
const { publishWaiting } = await import("../../support/emulator/publishing.ts");
const { emulator } = api;
const { client, tableName } = emulator;
/** Further items of the table, for the long form. */
const more = Number(process.env["RESTORE_ITEMS"] ?? 0);

const at = "2026-01-31T12:00:00Z";
const target = `${tableName}-at-20260131120000`;
const tsx = fileURLToPath(new URL("../../../node_modules/tsx/dist/loader.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../../infra/tools/restore.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "restore-"));
let fateOf: (operation: string) => Fate = () => "answered";
const way = await serveRecovery(emulator, (operation) => fateOf(operation));
afterAll(async () => {
  await client.send(new UpdateTableCommand({ TableName: tableName, DeletionProtectionEnabled: false }));
  await client.send(new UpdateTableCommand({ TableName: target, DeletionProtectionEnabled: false }));
  await client.send(new DeleteTableCommand({ TableName: target }));
  await way.stop();
  await api.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A call that a run of the command dies with: the first of an operation, or a later one. */
interface Death {
  readonly operation: string;
  readonly nth?: number;
  readonly fate: Exclude<Fate, "answered">;
}

/** Runs the command as a person who is signed in to AWS does; a run that dies ends by SIGKILL, without a code. */
async function run(words: readonly string[], death?: Death) {
  const { PATH, HOME, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  const signedIn = { AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL: way.endpoint };
  const args = ["--import", tsx, command, "from", "--at", at, "--stage", "sandbox", ...words];
  const child = spawn(machineNode, args, { cwd: folder, env: { PATH, HOME, ...signedIn }, stdio: "pipe" });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  let left = death?.nth ?? 1;
  fateOf = (operation) => {
    if (operation !== death?.operation || --left !== 0) return "answered";
    child.kill("SIGKILL");
    return death.fate;
  };
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  fateOf = () => "answered";
  return { code, signal, ...said };
}

const deaths: readonly Death[] = [
  { operation: "Query", fate: "unanswered" },
  { operation: "Scan", fate: "unanswered" },
  { operation: "BatchWriteItem", fate: "unanswered" },
  { operation: "UpdateItem", nth: 2, fate: "unanswered" },
  { operation: "UpdateTable", fate: "unanswered" },
  { operation: "UpdateTimeToLive", fate: "unanswered" },
  { operation: "TransactWriteItems", fate: "lost" },
  { operation: "TransactWriteItems", fate: "unanswered" },
];
const killed = { code: null, signal: "SIGKILL", out: "" };

const journal = (): Journal => JSON.parse(readFileSync(join(folder, journalFile("sandbox")), "utf8"));

/** A brokerage with an application, whose first accounts are opened and their events published. */
async function openBrokerage(accounts: number): Promise<TestCaller> {
  const caller = newCaller();
  const { client_id, application_id, tenant_id } = caller;
  const ref = { client_id, application_id, owner_tenant_id: tenant_id };
  await writeItems(emulator, tableName, [marshall({ ...applicationRefs.keyOf(ref), et: applicationRefs.et, ...ref })]);
  await work(caller, accounts);
  return caller;
}

async function work(caller: TestCaller, accounts: number): Promise<void> {
  const { account } = brokerage(api, caller);
  for (let made = 0; made < accounts; made += 1) await account("10.00");
  await publishWaiting(emulator, caller.tenant_id);
}

/** Ledger entries of accounts, written raw. */
function* ledger(count: number, tenant: string): Generator<WireItem> {
  const ulid = (n: number) => String(n).padStart(26, "0");
  for (let n = 0; n < count; n += 1) {
    yield marshall({
      ...{ pk: `${tenant}#ACC#${ulid(n % 2000)}`, sk: `L#${ulid(n)}`, et: "LEDGER", v: 1, id: `led_${ulid(n)}` },
      ...{ list_pk: `${tenant}#LEDGER`, list_sk: ulid(n), owner_pk: `${tenant}#O#${n % 2000}`, owner_sk: ulid(n) },
      ...{ created_at: "2026-01-01T00:00:00.000Z", currency: "USD", amount: "1.00", note: "x".repeat(300) },
    });
  }
}

const keyOf = ({ pk, sk }: WireItem) => `${pk?.S} ${sk?.S}`;
const isAudit = ({ et }: WireItem) => et?.S?.startsWith("AUDIT") ?? false;
const isCounter = ({ et }: WireItem) => et?.S === "SEQ";
const byKey = (items: readonly WireItem[]) => new Map(items.map((item) => [keyOf(item), item]));
const counters = (items: readonly WireItem[]) =>
  new Map(items.filter(isCounter).map((item) => [item["pk"]?.S?.split("|")[0] ?? "", item]));
const lastOf = (items: readonly WireItem[], tenant: string) => Number(counters(items).get(tenant)?.["last"]?.N ?? 0);

// Each run starts a process; the long form has a bound of its own.
const timeout = more > 0 ? 7_200_000 : 180_000;

it("restores a table to a moment, numbers events on and keeps the audit, killed in each step and repeated", {
  timeout,
}, async () => {
  const brokers = [await openBrokerage(4), await openBrokerage(2)];
  await writeItems(emulator, tableName, ledger(more, brokers[0]?.tenant_id ?? ""));
  // A commit that waits at the moment.
  for (const caller of brokers) await brokerage(api, caller).client();
  const backup = await way.keep(at);
  for (const caller of brokers) await work(caller, 3);
  brokers.push(await openBrokerage(1));
  const source = await wireItems(emulator, tableName);
  const { Table: own } = await client
    .send(new UpdateTableCommand({ TableName: tableName, DeletionProtectionEnabled: true }))
    .then(() => client.send(new DescribeTableCommand({ TableName: tableName })));
  way.tags.set(own?.TableArn ?? "", [
    { Key: "stage", Value: "sandbox" },
    { Key: "aws:cloudformation:x", Value: "y" },
  ]);

  // Without the word of a person that nothing writes, the table is made and nothing else is done.
  const asked: Death = { operation: "RestoreTableToPointInTime", fate: "unanswered" };
  expect(await run([], asked)).toEqual({ ...killed, err: "restore ...\n" });
  expect((await run([])).err).toContain("Stop what writes");
  expect(byKey(await wireItems(emulator, target))).toEqual(byKey(backup));

  const seen = new Set<string>();
  for (const death of deaths) {
    expect([death, await run(["--stopped"], death)]).toMatchObject([death, killed]);
    seen.add(phases.find((phase) => !journal().done.includes(phase)) ?? "");
  }
  expect([...seen]).toEqual(phases.filter((phase) => phase !== "restore"));
  const done = await run(["--stopped"]);
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining("Now switch the stage over") });

  // Each item is that of the moment, and the audit is the whole one of the table of the stage.
  const restored = await wireItems(emulator, target);
  const isAnnouncement = (item: WireItem) => item["et"]?.S === "OUTBOX" && !byKey(backup).has(keyOf(item));
  const expected = [...backup.filter((item) => !isAudit(item)), ...source.filter(isAudit)];
  const withoutCounters = (items: readonly WireItem[]) => byKey(items.filter((item) => !isCounter(item)));
  expect(withoutCounters(restored.filter((item) => !isAnnouncement(item)))).toEqual(withoutCounters(expected));
  expect(source.filter(isAudit).length).toBeGreaterThan(backup.filter(isAudit).length);

  // Numbers go on above all that a receiver may have seen, and each brokerage has one announcement of it.
  const { numbers, compared, stream, took_ms } = journal();
  for (const { tenant_id } of brokers) {
    const after = lastOf(source, tenant_id) + 1000;
    expect(numbers[tenant_id]).toEqual({ last_valid: lastOf(backup, tenant_id), after });
    const { audit_sequence, audit_hash } = counters(source).get(tenant_id) ?? {};
    expect(counters(restored).get(tenant_id)).toMatchObject({ last: { N: String(after) }, audit_sequence, audit_hash });
    const announced = restored.filter((item) => isAnnouncement(item) && keyOf(item).startsWith(tenant_id));
    expect(announced.length).toBe(1);
  }
  expect(restored.filter(isAnnouncement).length).toBe(brokers.length);
  const { same = 0, changed = 0, deleted = 0, made = 0 } = compared ?? {};
  expect([same + changed + deleted, same + changed + made]).toEqual([backup.length, source.length]);

  const { Table: table } = await client.send(new DescribeTableCommand({ TableName: target }));
  expect(table?.LatestStreamArn).toBe(stream);
  expect(table?.DeletionProtectionEnabled).toBe(true);
  expect(done.out).toContain(`"table_stream": "${stream}"`);
  const { TimeToLiveDescription: ttl } = await client.send(new DescribeTimeToLiveCommand({ TableName: target }));
  expect(ttl).toMatchObject({ TimeToLiveStatus: "ENABLED", AttributeName: "expires_at" });
  expect(way.recovered).toContain(target);
  expect(way.tags.get(table?.TableArn ?? "")).toEqual([{ Key: "stage", Value: "sandbox" }]);

  // The commits that waited at the moment are published on the restored table, once, with numbers of their own.
  process.env["TABLE_NAME"] = target;
  for (const { tenant_id } of brokers) await publishWaiting({ ...emulator, tableName: target }, tenant_id);
  process.env["TABLE_NAME"] = tableName;
  const events = (await wireItems(emulator, target)).filter(({ et }) => et?.S === "EVENT").map(keyOf);
  const before = new Set(backup.map(keyOf));
  const known = new Set(source.map(keyOf));
  const fresh = events.filter((key) => !before.has(key));
  expect(fresh.length).toBe(2 + brokers.length);
  expect(fresh.filter((key) => known.has(key))).toEqual([]);

  // Events that were numbered in the former table after that are found by the run after the switch.
  const [{ tenant_id } = newCaller()] = brokers;
  const counter = counters(source).get(tenant_id);
  await writeItems(emulator, tableName, [{ ...counter, last: { N: String(lastOf(source, tenant_id) + 1001) } }]);
  expect((await run(["--stopped"])).err).toContain("writing had not stopped");

  if (more > 0) {
    const perMillion = (ms: number) => ((ms / 60_000 / source.length) * 1e6).toFixed(1);
    const rows = Object.entries(took_ms).map(([phase, ms = 0]) => `| ${phase} | ${perMillion(ms)} |`);
    const { restore: _copy, ...stop } = took_ms;
    const all = perMillion(Object.values(stop).reduce((sum, ms = 0) => sum + ms, 0));
    process.stdout.write(`\n| step | minutes per million items |\n|---|---:|\n${rows.join("\n")}\n`);
    process.stdout.write(`${source.length} items; ${all} minutes per million while nothing may write\n`);
  }
});
