import { randomUUID } from "node:crypto";
import { CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { indexes, keyAttributes, slimAttributes } from "../../../shared/table/table-shape.ts";
import { tableServer } from "./table-server.ts";

/** An emulator of DynamoDB with three tables of a stage, which go with it. */
export interface Emulator {
  readonly endpoint: string;
  readonly tableName: string;
  readonly volatileTableName: string;
  readonly keyTableName: string;
  /** A client of the tests' own, so that what the service's client does is not needed to look at the tables. */
  readonly client: DynamoDBClient;
  /** Stream of the main table. */
  readonly streamArn: string;
  readonly stop: () => Promise<void>;
}

/**
 * Makes the tables of a stage as `shared/table/table-shape.ts` says, on the server of this process. Without a stream
 * each write costs less.
 */
export async function startEmulator(withStream = true): Promise<Emulator> {
  const { endpoint, prepare, release } = await tableServer();
  const client = new DynamoDBClient({
    endpoint,
    region: "eu-west-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    maxAttempts: 1,
  });
  const tableName = `brokerage-test-${randomUUID()}`;
  const volatileTableName = `${tableName}-volatile`;
  const keyTableName = `${tableName}-keys`;
  await client.send(mainTable(tableName, withStream));
  await client.send(volatileTable(volatileTableName));
  await client.send(keyTable(keyTableName));
  await prepare();
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  return {
    endpoint,
    tableName,
    volatileTableName,
    keyTableName,
    client,
    streamArn: Table?.LatestStreamArn ?? "",
    stop: async () => {
      for (const TableName of [tableName, volatileTableName, keyTableName]) {
        await client.send(new DeleteTableCommand({ TableName }));
      }
      client.destroy();
      await release();
    },
  };
}

/** The environment that a function of the stage would have, for handlers that run inside the test process. */
export function functionEnvironment(emulator: Emulator): Record<string, string> {
  return {
    STAGE: "sandbox",
    TABLE_NAME: emulator.tableName,
    VOLATILE_TABLE_NAME: emulator.volatileTableName,
    KEY_TABLE_NAME: emulator.keyTableName,
    PUBLIC_BASE_URL: "https://api.test.example/v2",
    STREAM_URL: "wss://stream.test.example/v2",
    TOKEN_ISSUER: "https://api.test.example/v2",
    TOKEN_AUDIENCE: "https://api.test.example/v2",
    AWS_REGION: "eu-west-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_ENDPOINT_URL_DYNAMODB: emulator.endpoint,
    POWERTOOLS_SERVICE_NAME: "brokerage",
    POWERTOOLS_LOG_LEVEL: "CRITICAL",
    // Each commit has a trace, as it has in Lambda: the size of what is stored counts.
    _X_AMZN_TRACE_ID: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0",
  };
}

const keySchema = [
  { AttributeName: keyAttributes.partition, KeyType: "HASH" },
  { AttributeName: keyAttributes.sort, KeyType: "RANGE" },
] as const;

function textAttributes(names: readonly string[]) {
  return names.map((name) => ({ AttributeName: name, AttributeType: "S" as const }));
}

const stream = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } as const;

function mainTable(name: string, withStream: boolean): CreateTableCommand {
  const all = Object.values(indexes);
  return new CreateTableCommand({
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [...keySchema],
    AttributeDefinitions: textAttributes([
      keyAttributes.partition,
      keyAttributes.sort,
      ...all.flatMap(({ partition, sort }) => [partition, sort]),
    ]),
    GlobalSecondaryIndexes: all.map((index) => ({
      IndexName: index.name,
      KeySchema: [
        { AttributeName: index.partition, KeyType: "HASH" },
        { AttributeName: index.sort, KeyType: "RANGE" },
      ],
      Projection:
        index.name === "due"
          ? { ProjectionType: "KEYS_ONLY" }
          : { ProjectionType: "INCLUDE", NonKeyAttributes: [...slimAttributes] },
    })),
    ...(withStream ? { StreamSpecification: stream } : {}),
  });
}

function keyTable(name: string): CreateTableCommand {
  return new CreateTableCommand({
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [...keySchema],
    AttributeDefinitions: textAttributes([keyAttributes.partition, keyAttributes.sort]),
  });
}

function volatileTable(name: string): CreateTableCommand {
  return new CreateTableCommand({
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [...keySchema],
    AttributeDefinitions: textAttributes([keyAttributes.partition, keyAttributes.sort]),
    StreamSpecification: stream,
  });
}
