import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, expect, it } from "vitest";
import { bucketSource } from "../../infra/tools/audit/days.ts";
import { checkHistory } from "../../infra/tools/audit/history.ts";
import { verifyExport } from "../../infra/tools/audit/verify.ts";
import { exportedDays, firstDay, objectsOf } from "../support/builders/audit-export.ts";

const [one, two] = ["0", "1"].map((end) => `brk_01JD000000000000000000000${end}`) as [string, string];
const days = exportedDays([2]);
const contents = new Map([...objectsOf(one, days, days, 2), ...objectsOf(two, days, days, 2)]);
const part = (brokerage: string) => `${brokerage}/${firstDay}/000001.ndjson.gz`;

/** A version of an object or, with a time, a delete marker; the newest one of a key first, as S3 lists them. */
interface Kept {
  readonly key: string;
  readonly deleted_at?: string;
}

let kept: Kept[];
let locked: boolean;
/** Answer of the server to a request for versions instead of them. */
let refusal: readonly [status: number, code: string] | undefined;
beforeEach(() => {
  kept = [...contents.keys()].toSorted().map((key) => ({ key }));
  [locked, refusal] = [true, undefined];
});

/** Puts a version or a marker on top of the others of its key. */
function onTop(added: Kept): void {
  const place = kept.findIndex(({ key }) => key >= added.key);
  kept.splice(place === -1 ? kept.length : place, 0, added);
}

const pageSize = 2;

/** A page of versions, in the form of S3 (AWS docs: ListObjectVersions). */
function versionsPage(from: number): string {
  const some = kept.slice(from, from + pageSize);
  const items = some.map(({ key, deleted_at }, at) => {
    const name = deleted_at === undefined ? "Version" : "DeleteMarker";
    const time = deleted_at ?? "2026-02-28T00:20:00.000Z";
    const version = `<VersionId>v${from + at}</VersionId>`;
    return `<${name}><Key>${key}</Key>${version}<LastModified>${time}</LastModified></${name}>`;
  });
  const next = from + pageSize;
  const more = next < kept.length;
  const key = `<NextKeyMarker>${some.at(-1)?.key}</NextKeyMarker>`;
  const markers = more ? `${key}<NextVersionIdMarker>${next}</NextVersionIdMarker>` : "";
  return `<ListVersionsResult><IsTruncated>${more}</IsTruncated>${markers}${items.join("")}</ListVersionsResult>`;
}

function listPage(prefix: string): string {
  const shown = [...new Set(kept.map(({ key }) => key))].filter((key) => {
    const newest = kept.find((each) => each.key === key);
    return key.startsWith(prefix) && newest?.deleted_at === undefined;
  });
  const items = shown.map((key) => `<Contents><Key>${key}</Key></Contents>`);
  return `<ListBucketResult><IsTruncated>false</IsTruncated>${items.join("")}</ListBucketResult>`;
}

const errorOf = (code: string) => `<Error><Code>${code}</Code><Message>No.</Message></Error>`;

/** S3 with a versioned bucket. */
const server = createServer(({ url = "" }, response) => {
  const { pathname, searchParams: query } = new URL(url, "http://s3");
  const answer = (status: number, body: string | Uint8Array) => response.writeHead(status).end(body);
  if (query.has("object-lock")) {
    const rule = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>";
    return locked ? answer(200, rule) : answer(404, errorOf("ObjectLockConfigurationNotFoundError"));
  }
  if (query.has("versions")) {
    if (refusal !== undefined) return answer(refusal[0], errorOf(refusal[1]));
    return answer(200, versionsPage(Number(query.get("version-id-marker") ?? 0)));
  }
  if (query.has("list-type")) return answer(200, listPage(query.get("prefix") ?? ""));
  return answer(200, contents.get(pathname.slice("/audit/".length)) ?? "");
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterAll(() => void server.close());

const source = bucketSource("audit", {
  endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  region: "eu-west-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  maxAttempts: 1,
});

/** Faults that the check finds, by brokerage, and why it checked no history. */
async function found(): Promise<{ readonly faults: unknown; readonly unchecked?: string }> {
  const { faults: further, ...rest } = await checkHistory(source.history, "");
  const options = { prefix: "", until: firstDay, progress: () => undefined, sealed: () => undefined, further };
  const faults: Record<string, string[]> = {};
  for await (const report of verifyExport(source, options)) {
    faults[report.brokerage] = report.faults.map(({ key, kind, what }) => `${kind} ${key}: ${what}`);
  }
  return { faults, ...rest };
}

it("objects that were written once are in order", async () => {
  expect(await found()).toEqual({ faults: { [one]: [], [two]: [] } });
});

it("an object that was written again is named, whichever page of the list it is on", async () => {
  for (const brokerage of [one, two]) {
    onTop({ key: part(brokerage) });
    const { faults } = await found();
    expect(faults).toMatchObject({
      [brokerage]: [`changed ${part(brokerage)}: the object was written again: it has 2 versions`],
    });
  }
});

it("an object that was deleted and written again is named: its content may be another one", async () => {
  onTop({ key: part(one), deleted_at: "2026-03-01T12:00:00.000Z" });
  onTop({ key: part(one) });
  expect((await found()).faults).toEqual({
    [one]: [`changed ${part(one)}: the object was deleted and written again: it has 2 versions`],
    [two]: [],
  });
});

it("a delete marker is named, also where it hides all that a brokerage had", async () => {
  for (const key of [...contents.keys()].filter((each) => each.startsWith(two))) {
    onTop({ key, deleted_at: "2026-03-01T12:00:00.000Z" });
  }
  expect((await found()).faults).toEqual({
    [one]: [],
    [two]: [`removed ${part(two)}: the object was deleted: a delete marker hides it`],
  });
});

it("a marker at the age at which objects of the sandbox expire is a fault in a locked bucket alone", async () => {
  for (const key of [...contents.keys()].filter((each) => each.startsWith(two))) {
    onTop({ key, deleted_at: "2026-05-29T00:00:00.000Z" });
  }
  expect((await found()).faults).toMatchObject({ [two]: [expect.stringContaining("a delete marker hides it")] });
  locked = false;
  expect(await found()).toEqual({ faults: { [one]: [] } });
  onTop({ key: part(one), deleted_at: "2026-05-27T00:00:00.000Z" });
  expect((await found()).faults).toMatchObject({ [one]: [expect.anything(), expect.stringContaining("was deleted")] });
});

it("a server that keeps no versions is said to be unchecked, and no other failure is", async () => {
  refusal = [501, "NotImplemented"];
  expect(await found()).toEqual({
    faults: { [one]: [], [two]: [] },
    unchecked: expect.stringContaining("one version"),
  });
  expect((await checkHistory(undefined, "")).unchecked).toContain("a copy");
  refusal = [403, "AccessDenied"];
  await expect(found()).rejects.toThrow("No.");
});
