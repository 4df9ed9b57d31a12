import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Forwarder, unverifiedHeaders } from "../forward.ts";
import type { Guard, GuardedProcess } from "../guard.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import type { TableKeys } from "./access.ts";
import { keepStreamsFast, startServer } from "./server.ts";

type Body = Readonly<Record<string, unknown>>;

/** A table of the template. */
export interface Table extends TableKeys {
  /** ARN of the stream as the template knows it; undefined without a stream. */
  readonly stream_arn: string | undefined;
  /** Attribute with epoch seconds after which an item may be deleted. */
  readonly ttl: string | undefined;
}

/** Settings of the server. */
export interface DatabaseOptions {
  readonly tables: readonly Resource[];
  readonly region: string;
  readonly dataDir: string;
  readonly log: string;
  readonly guard: Guard;
  /** A server that runs already, `DYNAMODB_ENDPOINT`; without it the bundled one is started. */
  readonly endpoint: string | undefined;
}

const sweepPage = 500;

/** A DynamoDB server with the tables of the template. */
export class Database {
  readonly tables: readonly Table[];
  readonly endpoint: string;
  readonly forwarder: Forwarder;
  private readonly options: DatabaseOptions;
  private readonly process: GuardedProcess | undefined;

  private constructor(options: DatabaseOptions, endpoint: string, process: GuardedProcess | undefined) {
    this.options = options;
    this.endpoint = endpoint;
    this.forwarder = new Forwarder(endpoint);
    this.process = process;
    this.tables = options.tables.map(readTable);
  }

  /** Starts the server and makes the tables that do not exist yet. */
  static async start(options: DatabaseOptions): Promise<Database> {
    if (options.endpoint !== undefined) {
      const database = new Database(options, options.endpoint, undefined);
      await database.makeTables();
      return database;
    }
    mkdirSync(options.dataDir, { recursive: true });
    const file = join(options.dataDir, "dynamodb.sqlite");
    const { endpoint, process } = await startServer(file, options.log, options.guard);
    const database = new Database(options, endpoint, process);
    try {
      await database.makeTables();
      await keepStreamsFast(file, options.log, options.guard);
      return database;
    } catch (error) {
      await database.stop();
      throw error;
    }
  }

  /** Process id of the server, when this runner started it. */
  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Resolves when the server has ended; never for one that was there before. */
  get ended(): Promise<unknown> {
    return this.process?.ended ?? new Promise(() => undefined);
  }

  /** Does one operation of DynamoDB or its streams; throws an Error with the server's text when it refuses. */
  async call(operation: string, body: Body, api: "DynamoDB" | "DynamoDBStreams" = "DynamoDB"): Promise<Body> {
    const headers = unverifiedHeaders(`${api}_20120810.${operation}`, "dynamodb", this.options.region);
    const reply = await this.forwarder.post("/", headers, JSON.stringify(body));
    const parsed: unknown = JSON.parse(reply.body.toString() || "{}");
    const values = isRecord(parsed) ? parsed : {};
    if (reply.status === 200) return values;
    const type = String(values["__type"]).split("#").at(-1) ?? "";
    const text = String(values["message"] ?? values["Message"] ?? "");
    throw Object.assign(new Error(`${operation}: ${type}: ${text}`), { name: type });
  }

  /**
   * Workaround: the server deletes nothing by itself, and its own sweep is a tool for people. Deletes expired items of
   * all tables, a page at a time, and returns how many. An item that was renewed meanwhile stays.
   */
  async sweep(nowSeconds: number): Promise<number> {
    let swept = 0;
    for (const table of this.tables)
      if (table.ttl !== undefined) swept += await this.sweepTable(table, table.ttl, nowSeconds);
    return swept;
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    this.forwarder.close();
    await this.process?.stop();
  }

  private async sweepTable(table: Table, ttl: string, nowSeconds: number): Promise<number> {
    const condition = { "#t": ttl };
    const values = { ":now": { N: String(nowSeconds) } };
    let swept = 0;
    let start: unknown;
    do {
      const page: Body = await this.call("Scan", {
        TableName: table.name,
        Limit: sweepPage,
        FilterExpression: "#t < :now",
        ExpressionAttributeNames: condition,
        ExpressionAttributeValues: values,
        ...(start !== undefined && { ExclusiveStartKey: start }),
      });
      start = page["LastEvaluatedKey"];
      for (const item of Array.isArray(page["Items"]) ? page["Items"] : []) {
        swept += await this.deleteExpired(table, item, { ttl, values });
      }
    } while (start !== undefined);
    return swept;
  }

  private async deleteExpired(
    table: Table,
    item: Body,
    { ttl, values }: { ttl: string; values: Body },
  ): Promise<number> {
    const names = [table.partition, ...(table.sort === undefined ? [] : [table.sort])];
    try {
      await this.call("DeleteItem", {
        TableName: table.name,
        Key: Object.fromEntries(names.map((name) => [name, item[name]])),
        ConditionExpression: "#t < :now",
        ExpressionAttributeNames: { "#t": ttl },
        ExpressionAttributeValues: values,
      });
      return 1;
    } catch (error) {
      if (error instanceof Error && error.name === "ConditionalCheckFailedException") return 0;
      throw error;
    }
  }

  private async makeTables(): Promise<void> {
    const { TableNames: names } = await this.call("ListTables", {});
    const existing = new Set(Array.isArray(names) ? names : []);
    for (const resource of this.options.tables) {
      if (existing.has(resource.physical_id)) await this.refuseChange(resource);
      else await this.makeTable(resource);
    }
  }

  private async makeTable({ physical_id: name, properties }: Resource): Promise<void> {
    const { GlobalSecondaryIndexes: indexes, StreamSpecification: stream, TimeToLiveSpecification: ttl } = properties;
    await this.call("CreateTable", {
      TableName: name,
      KeySchema: properties["KeySchema"],
      AttributeDefinitions: properties["AttributeDefinitions"],
      BillingMode: properties["BillingMode"] ?? "PAY_PER_REQUEST",
      ...(indexes !== undefined && { GlobalSecondaryIndexes: indexes }),
      ...(isRecord(stream) && { StreamSpecification: { ...stream, StreamEnabled: true } }),
    });
    if (isRecord(ttl)) await this.call("UpdateTimeToLive", { TableName: name, TimeToLiveSpecification: ttl });
  }

  /** A table kept from an earlier run must still have the indexes of the template: nothing here changes a table. */
  private async refuseChange({ physical_id: name, properties, path }: Resource): Promise<void> {
    const { Table: table } = await this.call("DescribeTable", { TableName: name });
    const made = indexNames(isRecord(table) ? table["GlobalSecondaryIndexes"] : undefined);
    const wanted = indexNames(properties["GlobalSecondaryIndexes"]);
    if (made.join() === wanted.join()) return;
    throw new Error(`${path}: the indexes of the kept table differ from the template; start once with --fresh.`);
  }
}

function indexNames(indexes: unknown): string[] {
  return (Array.isArray(indexes) ? indexes : []).map((index: Body) => String(index["IndexName"])).sort();
}

function readTable(resource: Resource): Table {
  const { properties, physical_id: name, attributes, path } = resource;
  const stream = isRecord(properties["StreamSpecification"]);
  const ttl = properties["TimeToLiveSpecification"];
  const { partition, sort } = keysOf(properties["KeySchema"], path);
  const indexes = Array.isArray(properties["GlobalSecondaryIndexes"]) ? properties["GlobalSecondaryIndexes"] : [];
  const byIndex = indexes.map((index: Body) => [
    String(index["IndexName"]),
    keysOf(index["KeySchema"], path).partition,
  ]);
  return {
    name,
    arn: attributes["Arn"] ?? "",
    partition,
    sort,
    indexes: Object.fromEntries(byIndex),
    stream_arn: stream ? attributes["StreamArn"] : undefined,
    ttl: isRecord(ttl) && ttl["Enabled"] === true ? String(ttl["AttributeName"]) : undefined,
  };
}

function keysOf(schema: unknown, path: string): { partition: string; sort: string | undefined } {
  const keys = Array.isArray(schema) ? schema : [];
  const named = (type: string): string | undefined => {
    const key = keys.find((one: Body) => one["KeyType"] === type);
    return isRecord(key) ? String(key["AttributeName"]) : undefined;
  };
  const partition = named("HASH");
  if (partition === undefined) throw new AssemblyError(path, "a key schema has no partition key");
  return { partition, sort: named("RANGE") };
}
