import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { keepStreamsFast } from "../../../infra/local/dynamodb/database.ts";
import { Guard } from "../../../infra/local/guard.ts";
import { indexes, keyAttributes, slimAttributes } from "../../../shared/table/table-shape.ts";

const binary = fileURLToPath(new URL("../../../node_modules/@dynoxide/linux-x64/dynoxide", import.meta.url));

/** An emulator of DynamoDB with the three tables of a stage, in a folder that goes with it. */
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
 * Starts an emulator on a free port of 127.0.0.1 and makes the tables as `shared/table/table-shape.ts` says. Where
 * `DYNAMODB_ENDPOINT` names another server, the tables are made there. Without a stream each write costs less.
 */
export async function startEmulator(withStream = true): Promise<Emulator> {
  const elsewhere = process.env["DYNAMODB_ENDPOINT"];
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-emulator-"));
  const file = join(dataDir, "dynamodb.sqlite");
  const server = elsewhere === undefined ? await startProcess(file) : undefined;
  const endpoint = server?.endpoint ?? String(elsewhere);
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
  if (server !== undefined) await keepStreamsFast(file);
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  return {
    endpoint,
    tableName,
    volatileTableName,
    keyTableName,
    client,
    streamArn: Table?.LatestStreamArn ?? "",
    stop: async () => {
      client.destroy();
      await server?.stop();
      rmSync(dataDir, { recursive: true, force: true });
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

interface Running {
  readonly stop: () => Promise<void>;
  readonly endpoint: string;
}

/** The port is looked for before the start: the emulator does not tell which one 0 became. A lost race retries. */
async function startProcess(file: string, triesLeft = 5): Promise<Running> {
  const port = await freePort();
  const args = ["serve", "--db-path", file, "--host", "127.0.0.1", "--port", String(port)];
  const child = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
  const listening = await new Promise<boolean>((resolve) => {
    let text = "";
    const listen = (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("listening on")) resolve(true);
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    child.once("exit", () => resolve(false));
  });
  if (listening) return { stop: guarded(child), endpoint: `http://127.0.0.1:${port}` };
  if (triesLeft <= 1) throw new Error("The emulator does not start.");
  return startProcess(file, triesLeft - 1);
}

/** A run of the tests that is broken off leaves no emulator behind. Returns how to end it. */
function guarded(child: ChildProcess): () => Promise<void> {
  const guard = new Guard();
  if (child.pid !== undefined) guard.watch(child.pid);
  return async () => {
    await end(child);
    if (child.pid !== undefined) guard.forget(child.pid);
    await guard.stop();
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
