import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { bucketSource } from "../../../infra/tools/audit/days.ts";
import { daysAfter } from "../../../shared/calendar.ts";
import { beginning, type Link } from "../../../shared/domain/audit/chain.ts";
import { type AuditEntry, entryOf } from "../../../shared/domain/audit/entry.ts";
import { dayKeys, lastDayOver } from "../../../shared/domain/audit/seal.ts";
import { limits } from "../../../shared/limits.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { auditPage } from "../../../shared/table/audit-entry.ts";
import { applicationRefs, auditId, auditPages, auditSeals, sequences } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { reportsOf } from "../../support/builders/audit-export.ts";
import { startApi } from "../../support/emulator/api.ts";
import { startBucketEndpoint } from "../../support/emulator/bucket-endpoint.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { ofType } from "../../support/emulator/raw-items.ts";
import { itemsOf, scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
const bucket = await startBucketEndpoint();
Object.assign(process.env, bucket.environment);
afterAll(async () => {
  await bucket.stop();
  await api.stop();
});

const { handler } = await import("../../../functions/audit/seal.ts");
const seal = (timeoutMs = 300_000) => handler({ action: "seal" }, lambdaContext(timeoutMs));

const last = lastDayOver(new Date().toISOString(), limits.audit.sealed_after_seconds);
const source = () =>
  bucketSource(bucket.bucket, {
    endpoint: String(bucket.environment["AWS_ENDPOINT_URL_S3"]),
    region: "eu-west-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });

/** The audit of a brokerage of its own, written as the publisher writes it, with the times that a test wants. */
class History {
  readonly tenant = newCaller().tenant_id;
  head: Link = beginning;
  private written = 0;

  async begin(): Promise<this> {
    const reference = { client_id: `cid_${this.tenant}`, application_id: "app_1", owner_tenant_id: this.tenant };
    await putRaw(api, itemOf(applicationRefs, reference));
    return this;
  }

  /** One page with so many entries of a day, at noon, or now where that is later today; a note makes each larger. */
  async add(day: string, count: number, note = ""): Promise<void> {
    const [noon, now] = [`${day}T12:00:00.000Z`, new Date().toISOString()];
    const at = now.startsWith(day) && now < noon ? now : noon;
    const entries = Array.from({ length: count }, (_, place): AuditEntry => {
      this.written += 1;
      const id = auditId(Date.parse(at), "0000", { sequence: this.head.sequence + 1 + place, place });
      const after = { note, number: this.written };
      const changes = [{ resource: { type: "client", id: "cli_1" }, before: null, after }];
      const waiting = { action: "create_client", ip: "192.0.2.1", user_agent: null, at, changes };
      const request_id = `req_${this.tenant}_${this.written}`;
      return entryOf({ ...waiting, request_id }, [], { id, created_at: at, secrets: new Set(), digest: sha256 });
    });
    const expires_at = Math.floor(Date.now() / 1000) + limits.audit.kept_seconds;
    const { page, head } = auditPage(entries, this.head, { tenant_id: this.tenant, expires_at });
    await putRaw(api, itemOf(auditPages, page));
    this.head = head;
    const moved = { et: sequences.et, v: 1, last: 0, audit_sequence: head.sequence };
    await putRaw(api, { ...sequences.key(this.tenant), ...moved, audit_hash: head.hash });
  }

  /** Verdict of the check of the export, and the lines of each day by the numbers of their entries. */
  async exported() {
    const days: Record<string, number[]> = {};
    const {
      reports: [report],
      sealed,
    } = await reportsOf(source(), `${this.tenant}/`, last);
    for await (const key of source().keys(`${this.tenant}/`)) {
      const [, day = "", object = ""] = key.split("/");
      days[day] ??= [];
      if (!object.endsWith(".gz")) continue;
      const lines = gunzipSync(await source().read(key))
        .toString()
        .trimEnd()
        .split("\n");
      days[day].push(...lines.map((line) => Number(JSON.parse(line).sequence)));
    }
    expect(report?.faults).toEqual([]);
    expect(report?.unsealed).toBeUndefined();
    expect(sealed).toEqual(Object.keys(days));
    return { report, days };
  }

  /** Days that were announced, in the order of their versions, with what they say. */
  async announced() {
    const outboxes = await itemsOf(api.emulator, { type: "OUTBOX" });
    const waiting = outboxes.filter(({ tenant_id }) => tenant_id === this.tenant);
    const events = waiting.flatMap((item) => (item["events"] as string[]).map((text) => JSON.parse(text).body));
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["audit.sealed"]));
    const objects = events.map(({ data }) => data.object as { version: number; day: string; entries: number });
    return objects.toSorted((a, b) => a.version - b.version);
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe("the days of a brokerage that are over", () => {
  it("are sealed from that of its oldest entry on, those without an entry too, and never the present one", async () => {
    const history = await new History().begin();
    const first = daysAfter(last, -3);
    await history.add(first, 3);
    await history.add(first, 2);
    await history.add(daysAfter(last, -1), 4);
    await history.add(daysAfter(last, 1), 6);
    expect(await seal()).toMatchObject({ failed: 0 });
    const { report, days } = await history.exported();
    const expected = {
      [first]: range(1, 5),
      [daysAfter(first, 1)]: [],
      [daysAfter(last, -1)]: range(6, 9),
      [last]: [],
    };
    expect(days).toEqual(expected);
    expect(report).toMatchObject({ days: 4, entries: 9, first: { start: { sequence: "0" } } });
    const announced = await history.announced();
    expect(announced.map(({ day, entries }) => [day, entries])).toEqual(
      Object.entries(expected).map(([day, numbers]) => [day, numbers.length]),
    );
    expect(announced.at(-1)).toMatchObject({ object: "audit_seal", last_sequence: "9", hash: report?.last?.head.hash });
    expect(await seal()).toEqual({ done: 0, failed: 0 });
    expect(await history.announced()).toEqual(announced);
    expect(await findings(api.emulator)).toEqual([]);
  });

  it("of a brokerage without any entry begin with the last one", async () => {
    const history = await new History().begin();
    await seal();
    expect(await history.exported()).toMatchObject({ days: { [last]: [] }, report: { days: 1, entries: 0 } });
    expect(await history.announced()).toMatchObject([{ day: last, entries: 0, last_sequence: "0" }]);
  });

  it("hold entries that were chained late, or have the time of a wrong clock, where the chain has them", async () => {
    const history = await new History().begin();
    const first = daysAfter(last, -2);
    await history.add(first, 1);
    await history.add("2099-01-01", 1);
    await history.add(daysAfter(first, 1), 1);
    // A commit of the first day that was put aside.
    await history.add(first, 1);
    await history.add(last, 1);
    await seal();
    expect((await history.exported()).days).toEqual({ [first]: [1, 2], [daysAfter(first, 1)]: [3, 4], [last]: [5] });
  });
});

describe("a run that dies", () => {
  const first = daysAfter(last, -1);

  /** Two days of one object each or, where it is large, of two and one, and an entry of the present day. */
  async function history(isLarge: boolean): Promise<History> {
    const made = await new History().begin();
    const [count, note] = isLarge ? [49, "n".repeat(5 * 1024)] : [2, "n"];
    const pages = isLarge ? Math.ceil((limits.audit.part_bytes * 1.2) / (count * note.length)) : 2;
    for (let page = 0; page < pages; page += 1) await made.add(first, count, note);
    await made.add(last, 1);
    await made.add(daysAfter(last, 1), 1);
    return made;
  }

  /** The last call that each run made. */
  const died: string[] = [];

  /** Seals until a call; from then on the run is as good as dead. Returns how many calls it made at most. */
  async function dieAfter(calls: number, isLost: boolean): Promise<number> {
    let made = 0;
    const next = (name: string) => {
      made += 1;
      if (made === calls + 1) died.push(name);
      if (made <= calls) return undefined;
      return made === calls + 1 && isLost ? ("lose_answer" as const) : ("refuse" as const);
    };
    api.watched.interfere = ({ operation }) => {
      const wanted = next(operation);
      return wanted === "refuse" ? failure("ResourceNotFoundException") : wanted;
    };
    bucket.interfere = (operation, key) => next(`${operation} ${key.slice(key.lastIndexOf("/") + 1)}`);
    await seal().catch(() => undefined);
    api.watched.interfere = () => undefined;
    bucket.interfere = () => undefined;
    return made;
  }

  /** Lets runs die at these calls, each with a history of its own, and judges what the next run makes of it. */
  async function judge(isLarge: boolean, isLost: boolean, from: number, to: number): Promise<number> {
    const histories: History[] = [];
    died.length = 0;
    for (let calls = from; calls <= to; calls += 1) {
      histories.push(await history(isLarge));
      const count = await dieAfter(calls, isLost);
      await seal();
      if (count <= calls) break;
    }
    const total = histories[0]?.head.sequence ?? 0;
    for (const made of histories) {
      const { days, report } = await made.exported();
      expect(days).toEqual({ [first]: range(1, total - 2), [last]: [total - 1] });
      expect((await made.announced()).map(({ day }) => day)).toEqual([first, last]);
      expect(report?.entries).toBe(total - 1);
    }
    return histories.length;
  }

  it.each([false, true])("at any call leaves nothing twice and no gap, its last call done: %s", async (isLost) => {
    expect(await judge(false, isLost, 0, 100)).toBeGreaterThan(15);
    expect(ofType(await scanTable(api.emulator), auditSeals.et).filter((item) => item["open"] !== undefined)).toEqual(
      [],
    );
    expect(await findings(api.emulator)).toEqual([]);
  });

  it("between the objects of a large day does so as well", async () => {
    // The first object, the note of it, the second one, what the day says of itself, and its end.
    expect(await judge(true, true, 7, 11)).toBe(5);
    const end = ["PutObject manifest.json", "TransactWriteItems"];
    expect(died).toEqual(["PutObject 000001.ndjson.gz", "UpdateItem", "PutObject 000002.ndjson.gz", ...end]);
  }, 180_000);

  it("after it opened a day seals what the chain held then, and the rest with the next one", async () => {
    const made = await new History().begin();
    await made.add(first, 2);
    // Dead before the first object is written.
    bucket.interfere = () => "refuse";
    await expect(seal()).rejects.toThrow("could not be sealed");
    bucket.interfere = () => undefined;
    await made.add(first, 1);
    await seal();
    expect((await made.exported()).days).toEqual({ [first]: [1, 2], [last]: [3] });
  });

  it("for want of time goes on where it was", async () => {
    const made = await history(true);
    let left = 3;
    const context = { ...lambdaContext(300_000), getRemainingTimeInMillis: () => (left-- > 0 ? 300_000 : 0) };
    for (let run = 0; run < 20; run += 1) {
      left = 3;
      await handler({}, context);
    }
    const total = made.head.sequence;
    expect((await made.exported()).days).toEqual({ [first]: range(1, total - 2), [last]: [total - 1] });
  });
});

// The last ones: a chain that is broken and a brokerage that fails stay so.
describe("a day", () => {
  it("is exported as it lies where the chain is broken, and the check names the entry", async () => {
    const history = await new History().begin();
    await history.add(last, 2);
    const { head } = history;
    await history.add(last, 2);
    const page = { tenant_id: history.tenant, first: head.sequence + 1 };
    const raw = itemOf(auditPages, { ...page, count: 2, expires_at: 9e9 } as never);
    await putRaw(api, { ...raw, body: Buffer.from("x"), previous_hash: Buffer.alloc(32), hashes: Buffer.alloc(64) });
    expect(await seal()).toMatchObject({ done: 1, failed: 0 });
    const [report] = (await reportsOf(source(), `${history.tenant}/`, last)).reports;
    const key = dayKeys.part(history.tenant, last, 1);
    expect(report?.faults[0]).toMatchObject({
      key,
      line: 3,
      kind: "changed",
      what: expect.stringContaining("entry 3"),
    });
  });

  it("is not sealed where another object is in the place of one of its own, and holds no other brokerage", async () => {
    const [one, other] = [await new History().begin(), await new History().begin()];
    await one.add(last, 1);
    await other.add(last, 1);
    let planted = false;
    bucket.interfere = (operation, key) => {
      if (operation === "PutObject" && key.startsWith(one.tenant) && !planted) {
        planted = true;
        return "lose_answer";
      }
      return undefined;
    };
    await expect(seal()).rejects.toThrow("The audit of 1 brokerages could not be sealed.");
    bucket.interfere = () => undefined;
    // The entry is written again under the same number: what is sealed already is not what would be.
    one.head = beginning;
    await one.add(last, 1);
    await expect(seal()).rejects.toThrow("The audit of 1 brokerages could not be sealed.");
    expect((await other.exported()).days).toEqual({ [last]: [1] });
  });
});
