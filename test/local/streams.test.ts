import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database, type Table } from "../../infra/local/dynamodb/database.ts";
import type { FunctionDefinition, InvocationOutcome } from "../../infra/local/functions/functions.ts";
import { Guard } from "../../infra/local/guard.ts";
import { eventPattern } from "../../infra/local/streams/event-pattern.ts";
import { StreamPages } from "../../infra/local/streams/stream-pages.ts";
import {
  type StreamChange,
  StreamReader,
  type StreamRecord,
  streamMapping,
} from "../../infra/local/streams/streams.ts";
import type { Resource } from "../../infra/local/template/assembly.ts";
import { eventually } from "../support/wait.ts";
import { callerCode, onTable, startTestCloud, table as tableResource, temporaryFolder } from "./fixture.ts";

const folder = temporaryFolder();
const guard = new Guard();
const region = "eu-west-1";
let database: Database;
let count = 0;

function tableNamed(name: string): Resource {
  const arn = `arn:aws:dynamodb:${region}:000000000000:table/${name}`;
  const attributes = { Arn: arn, StreamArn: `${arn}/stream/x` };
  return { path: `test/${name}`, type: "", physical_id: name, properties: tableResource.Properties ?? {}, attributes };
}

beforeAll(async () => {
  const tables = Array.from({ length: 12 }, (_, at) => tableNamed(`stream${at}`));
  mkdirSync(join(folder.path, "logs"));
  const log = join(folder.path, "logs", "dynamodb.log");
  database = await Database.start({ tables, region, dataDir: folder.path, log, guard, endpoint: undefined });
});
afterAll(async () => {
  await database.stop();
  await guard.stop();
  folder.remove();
});

const target: FunctionDefinition = {
  name: "consumer",
  arn: "arn:aws:lambda:eu-west-1:000000000000:function:consumer",
  role_arn: "",
  asset: "",
  handler: "",
  environment: {},
  memory_mb: 128,
  timeout_seconds: 1,
};

/** A stream of its own with a reader whose function is given. */
class Setup {
  readonly table: Table;
  readonly batches: string[][] = [];
  readonly reports: Record<string, unknown>[] = [];
  /** Database of the reader. */
  server: Pick<Database, "call"> = database;
  change: StreamChange | undefined;
  handler: (ids: string[], records: StreamRecord[]) => InvocationOutcome = () => ({ payload: undefined });
  private reader: StreamReader | undefined;
  private readonly properties: Record<string, unknown>;

  constructor(properties: Record<string, unknown>) {
    const found = database.tables[count];
    count += 1;
    if (found === undefined) throw new Error("There are too few tables.");
    this.table = found;
    this.properties = properties;
  }

  async start(): Promise<void> {
    const given = { FunctionName: "consumer", StartingPosition: "TRIM_HORIZON", EventSourceArn: this.table.stream_arn };
    const properties = { ...given, ...this.properties };
    const resource = { path: "test/Mapping", type: "", physical_id: this.table.name, properties, attributes: {} };
    const mapping = streamMapping(resource, database.tables, () => target);
    const host = {
      database: this.server,
      region,
      dataDir: folder.path,
      change: this.change,
      invoke: async (_: string, event: unknown) => {
        const { Records } = event as { Records: StreamRecord[] };
        const ids = Records.map((record) => idOf(record));
        this.batches.push(ids);
        return this.handler(ids, Records);
      },
      report: async (_: unknown, __: string, message: string) => {
        this.reports.push(JSON.parse(message));
      },
    };
    this.reader = new StreamReader(mapping, host, new StreamPages(this.server));
    await this.reader.start();
  }

  async stop(): Promise<void> {
    await this.reader?.stop();
  }

  async put(...ids: string[]): Promise<void> {
    for (const id of ids) {
      const [et = ""] = id.split("-");
      const Item = { pk: { S: id }, sk: { S: "1" }, et: { S: et } };
      await database.call("PutItem", { TableName: this.table.name, Item });
    }
    this.reader?.wake();
  }

  /** Waits until the function has been given a record so often. */
  seen(id: string, times = 1): Promise<true> {
    return eventually(() => (this.batches.flat().filter((one) => one === id).length >= times ? true : undefined));
  }
}

function idOf(record: StreamRecord): string {
  const { Keys } = record.dynamodb as unknown as { Keys: { pk: { S: string } } };
  return Keys.pk.S;
}

let setup: Setup;
const failAll: InvocationOutcome = { payload: { errorType: "Error" }, functionError: "Unhandled" };
const reporting = { FunctionResponseTypes: ["ReportBatchItemFailures"] };
const filter = { FilterCriteria: { Filters: [{ Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["OUTBOX"]}}}}' }] } };

describe("a reader of a stream", () => {
  beforeEach(() => () => setup.stop());

  it("hands over records in order and in batches of the given size, and only those that match", async () => {
    setup = new Setup({ BatchSize: 2, ...filter });
    await setup.put("OUTBOX-1", "OTHER-1", "OUTBOX-2", "OUTBOX-3", "OTHER-2");
    await setup.start();
    await setup.seen("OUTBOX-3");
    expect(setup.batches).toEqual([["OUTBOX-1", "OUTBOX-2"], ["OUTBOX-3"]]);
    await setup.put("OUTBOX-4");
    await setup.seen("OUTBOX-4");
  });

  it("shows a record as Lambda does, with this region's ARN", async () => {
    setup = new Setup({});
    const shown: StreamRecord[] = [];
    setup.handler = (_, records) => {
      shown.push(...records);
      return { payload: undefined };
    };
    await setup.put("A-1");
    await setup.start();
    await setup.seen("A-1");
    expect(shown[0]).toMatchObject({
      eventName: "INSERT",
      eventSource: "aws:dynamodb",
      awsRegion: region,
      eventSourceARN: setup.table.stream_arn,
      dynamodb: { NewImage: { et: { S: "A" } }, StreamViewType: "NEW_AND_OLD_IMAGES" },
    });
  });

  it("goes on after what was done when it is started again, and repeats what was not", async () => {
    setup = new Setup({});
    await setup.put("A-1");
    await setup.start();
    await setup.seen("A-1");
    setup.handler = () => failAll;
    await setup.put("A-2");
    await setup.seen("A-2");
    await setup.stop();
    setup.batches.length = 0;
    setup.handler = () => ({ payload: undefined });
    await setup.put("A-3");
    await setup.start();
    await setup.seen("A-3");
    expect(setup.batches.flat()).toEqual(["A-2", "A-3"]);
  });

  it("repeats from the first record that was reported as failed", async () => {
    setup = new Setup({ BatchSize: 10, ...reporting });
    let failures = 1;
    setup.handler = (ids, records) => {
      const failed = records.filter((_, at) => ids[at] === "A-3" || ids[at] === "A-4");
      if (failures === 0 || failed.length === 0) return { payload: { batchItemFailures: [] } };
      failures -= 1;
      const ids4to3 = failed.reverse().map(({ dynamodb }) => ({ itemIdentifier: dynamodb.SequenceNumber }));
      return { payload: { batchItemFailures: ids4to3 } };
    };
    await setup.put("A-1", "A-2", "A-3", "A-4", "A-5");
    await setup.start();
    await setup.seen("A-5", 2);
    expect(setup.batches).toEqual([
      ["A-1", "A-2", "A-3", "A-4", "A-5"],
      ["A-3", "A-4", "A-5"],
    ]);
  });

  it.each([{ batchItemFailures: [{ itemIdentifier: "" }] }, { batchItemFailures: "x" }])(
    "repeats all when the report %j names no record",
    async (payload) => {
      setup = new Setup({ ...reporting });
      setup.handler = () => (setup.batches.length === 1 ? { payload } : { payload: null });
      await setup.put("A-1", "A-2");
      await setup.start();
      await setup.seen("A-2", 2);
      expect(setup.batches).toEqual([
        ["A-1", "A-2"],
        ["A-1", "A-2"],
      ]);
    },
  );

  it("halves a batch until the record that cannot be done is alone, gives it up and tells the queue", async () => {
    const queue = "arn:aws:sqs:eu-west-1:000000000000:failures";
    const destination = { DestinationConfig: { OnFailure: { Destination: queue } } };
    setup = new Setup({ BatchSize: 10, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1, ...destination });
    const done = new Set<string>();
    setup.handler = (ids) => {
      if (ids.includes("A-4")) return failAll;
      for (const id of ids) done.add(id);
      return { payload: undefined };
    };
    await setup.put(...Array.from({ length: 10 }, (_, at) => `A-${at}`));
    await setup.start();
    await eventually(() => (done.size === 9 ? true : undefined));
    expect(setup.batches.filter((ids) => ids.join() === "A-4")).toHaveLength(2);
    expect(setup.reports).toMatchObject([
      {
        requestContext: { condition: "RetryAttemptsExhausted", approximateInvokeCount: 2 },
        DDBStreamBatchInfo: { batchSize: 1, startSequenceNumber: "5", endSequenceNumber: "5" },
      },
    ]);
  });

  it("gives up records that are too old without handing them over", async () => {
    const queue = "arn:aws:sqs:eu-west-1:000000000000:failures";
    const destination = { DestinationConfig: { OnFailure: { Destination: queue } } };
    setup = new Setup({ MaximumRecordAgeInSeconds: 60, ...destination });
    const { table } = setup;
    setup.server = {
      async call(operation, body, api) {
        const answer = await database.call(operation, body, api);
        const records = (answer["Records"] ?? []) as StreamRecord[];
        const first = records.find((record) => idOf(record) === "A-1");
        if (first !== undefined) Object.assign(first.dynamodb, { ApproximateCreationDateTime: 1 });
        return answer;
      },
    };
    await setup.put("A-1", "A-2");
    await setup.start();
    await setup.seen("A-2");
    expect(setup.batches).toEqual([["A-2"]]);
    expect(setup.reports).toMatchObject([
      {
        requestContext: { condition: "MaximumRecordAgeExceeded" },
        DDBStreamBatchInfo: { streamArn: table.stream_arn },
      },
    ]);
  });

  it("takes the batches that a test puts in a batch's place, and repeats what failed in any of them", async () => {
    setup = new Setup({ BatchSize: 3, ...reporting });
    let failures = 1;
    setup.handler = (ids, records) => {
      const last = records.at(-1)?.dynamodb.SequenceNumber;
      if (ids.join() !== "A-2" || failures === 0) return { payload: { batchItemFailures: [] } };
      failures -= 1;
      return { payload: { batchItemFailures: [{ itemIdentifier: last }] } };
    };
    setup.change = ({ records }) => [[...records].reverse(), records.slice(1, 2)];
    await setup.put("A-1", "A-2", "A-3");
    await setup.start();
    await setup.seen("A-3", 3);
    expect(setup.batches).toEqual([["A-3", "A-2", "A-1"], ["A-2"], ["A-3", "A-2"], ["A-3"]]);
  });

  it.each([
    [{ ScalingConfig: { MaximumConcurrency: 2 } }, /ScalingConfig/],
    [{ ParallelizationFactor: 2 }, /one reader/],
    [{ FunctionResponseTypes: ["Other"] }, /Other/],
    [{ StartingPosition: "AT_TIMESTAMP" }, /AT_TIMESTAMP/],
    [{ DestinationConfig: { OnFailure: { Destination: "arn:aws:s3:::b" } } }, /s3/],
    [{ EventSourceArn: "arn:aws:kinesis:eu-west-1:1:stream/x" }, /kinesis/],
  ])("is refused for %j, which it does not understand", async (properties, message) => {
    count -= 1;
    setup = new Setup(properties);
    await expect(setup.start()).rejects.toThrow(message);
  });
});

describe("a filter pattern", () => {
  const event = { eventName: "INSERT", n: 1, none: null, a: { b: { S: "OUTBOX#1" } } };
  it.each<[unknown, boolean]>([
    [{ eventName: ["INSERT", "REMOVE"] }, true],
    [{ eventName: ["REMOVE"] }, false],
    [{ n: [1], none: [null] }, true],
    [{ n: ["1"] }, false],
    [{ a: { b: { S: [{ prefix: "OUTBOX#" }] } } }, true],
    [{ a: { b: { S: [{ suffix: "#2" }, "x"] } } }, false],
    [{ a: { c: [{ exists: false }] } }, true],
    [{ a: { b: { S: [{ exists: true }] } } }, true],
    [{ x: { y: ["z"] } }, false],
    [{ eventName: [{ "anything-but": ["REMOVE"] }] }, true],
    [{ eventName: [{ "anything-but": "INSERT" }] }, false],
  ])("%j matches: %s", (pattern, expected) => {
    expect(eventPattern(JSON.stringify(pattern))(event)).toBe(expected);
  });

  it.each([
    [{ n: [{ numeric: [">", 1] }] }],
    [{ $or: [{ n: [1] }] }],
    [{ n: 1 }],
    [{ n: [{ prefix: { "equals-ignore-case": "x" } }] }],
  ])("%j is refused", (pattern) => {
    expect(() => eventPattern(JSON.stringify(pattern))).toThrow(/not known to the local runner/);
  });
});

describe("a mapping of a template", () => {
  const code = `
    import { appendFileSync } from "node:fs";
    export const handler = ({ Records }) => {
      for (const { dynamodb } of Records) appendFileSync(process.env.SEEN, dynamodb.Keys.pk.S + "\\n");
    };`;
  const readStream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
    (name) => `dynamodb:${name}`,
  );
  const stream = { "Fn::GetAtt": ["Main", "StreamArn"] };
  const stack = (actions: string[]) => ({
    resources: {
      Main: tableResource,
      Mapping: {
        Type: "AWS::Lambda::EventSourceMapping",
        Properties: {
          FunctionName: { Ref: "consumerFunction" },
          EventSourceArn: stream,
          StartingPosition: "TRIM_HORIZON",
        },
      },
    },
    functions: {
      writer: { code: callerCode, statements: [onTable("Put", ["PutItem"])] },
      consumer: { code, statements: [{ Sid: "Read", Effect: "Allow", Action: actions, Resource: stream }] },
    },
  });

  it("is refused when the function's role may not read the stream", async () => {
    const lacking = readStream.filter((action) => !action.endsWith("GetRecords"));
    await expect(startTestCloud(stack(lacking))).rejects.toThrow(
      /consumer is not authorized to perform: dynamodb:GetRecords/,
    );
  });

  it("wakes at once for a write through the endpoint, and uses the grants of the role", async () => {
    const test = await startTestCloud(stack(readStream));
    try {
      const Item = { pk: { S: "brk_1" }, sk: { S: "1" } };
      await test.dynamodb("writer", "PutItem", { TableName: "test-Main", Item });
      await eventually(() => test.cloud.functions.find(({ function: name }) => name === "consumer"));
      expect(test.cloud.unusedGrants()).toEqual([]);
    } finally {
      await test.stop();
    }
  });

  it("of the stream of a restored table, which no template has, reads that table from start to start", async () => {
    const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored";
    const restoredStream = `${arn}/stream/2026-01-31T12:00:00.000`;
    const { resources, functions } = stack(readStream);
    const { writer, consumer } = functions;
    const { Mapping: mapping } = resources;
    const test = await startTestCloud({
      resources: { Mapping: { ...mapping, Properties: { ...mapping.Properties, EventSourceArn: restoredStream } } },
      functions: {
        writer: { ...writer, statements: [onTable("Use", ["PutItem", "Query"], ["brk_*"], [arn, `${arn}/index/*`])] },
        consumer: { ...consumer, statements: [{ ...consumer.statements[0], Resource: restoredStream }] },
      },
    });
    try {
      const put = (pk: string) => {
        const Item = { pk: { S: pk }, sk: { S: "1" }, list_pk: { S: "brk_list" }, list_sk: { S: pk } };
        return test.dynamodb("writer", "PutItem", { TableName: "restored", Item });
      };
      const listed = {
        ...{ TableName: "restored", IndexName: "list", KeyConditionExpression: "list_pk = :list" },
        ExpressionAttributeValues: { ":list": { S: "brk_list" } },
      };
      const isRead = () => test.cloud.functions.find(({ function: name }) => name === "consumer");
      await put("brk_1");
      await eventually(isRead);
      await test.restart();
      await put("brk_2");
      await eventually(isRead);
      expect((await test.dynamodb("writer", "Query", listed)).body).toMatchObject({ Count: 2 });
    } finally {
      await test.stop();
    }
  });
});
