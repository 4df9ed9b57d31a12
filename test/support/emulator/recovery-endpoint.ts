import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AttributeValue,
  BatchWriteItemCommand,
  CreateTableCommand,
  DescribeTableCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import type { Emulator } from "./emulator.ts";

/** An item as the wire has it. */
export type WireItem = Record<string, AttributeValue>;

/** Fate of a call: lost on its way, done without an answer, or answered. */
export type Fate = "lost" | "unanswered" | "answered";

type Input = Readonly<Record<string, unknown>>;

/** Every item of a table. */
export async function wireItems({ client }: Pick<Emulator, "client">, TableName: string): Promise<WireItem[]> {
  const items: WireItem[] = [];
  let start: WireItem | undefined;
  do {
    const page = await client.send(new ScanCommand({ TableName, ConsistentRead: true, ExclusiveStartKey: start }));
    items.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return items;
}

/** Writes items over those that are there, by several calls at a time. */
export async function writeItems({ client }: Pick<Emulator, "client">, table: string, items: Iterable<WireItem>) {
  const left = items[Symbol.iterator]();
  const next = () => {
    const requests: { PutRequest: { Item: WireItem } }[] = [];
    while (requests.length < 25) {
      const { done, value } = left.next();
      if (done) break;
      requests.push({ PutRequest: { Item: value } });
    }
    return requests;
  };
  const writer = async () => {
    for (let requests = next(); requests.length > 0; requests = next()) {
      await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }));
    }
  };
  await Promise.all(Array.from({ length: 4 }, writer));
}

/** Makes a table as a restore does: with the indexes, and without stream, time to live and tags. */
async function makeRestored(emulator: Emulator, { source, target }: { source: string; target: string }) {
  const { Table: table } = await emulator.client.send(new DescribeTableCommand({ TableName: source }));
  await emulator.client.send(
    new CreateTableCommand({
      ...{ TableName: target, BillingMode: "PAY_PER_REQUEST" },
      ...{ KeySchema: table?.KeySchema, AttributeDefinitions: table?.AttributeDefinitions },
      GlobalSecondaryIndexes: table?.GlobalSecondaryIndexes?.map(({ IndexName, KeySchema, Projection = {} }) => {
        const { ProjectionType, NonKeyAttributes: attributes = [] } = Projection;
        const others = attributes.length === 0 ? {} : { NonKeyAttributes: attributes };
        return { IndexName: IndexName ?? "", KeySchema, Projection: { ProjectionType, ...others } };
      }),
    }),
  );
}

/**
 * A way to an emulator for the commands of an operator, that restores its table to a moment which was kept, and keeps
 * recovery and tags of tables, which the emulator does not know. Its function sweep-events has the table.
 * @param fateOf decides about each call of the tables, by its operation
 */
export async function serveRecovery(emulator: Emulator, fateOf: (operation: string) => Fate) {
  const moments = new Map<number, readonly WireItem[]>();
  const recovered = new Set<string>([emulator.tableName]);
  const tags = new Map<string, unknown>();
  /** Tables that are being restored. */
  const creating = new Set<string>();
  const own: Readonly<Record<string, (input: Input) => Promise<object> | object>> = {
    RestoreTableToPointInTime: async ({ SourceTableName, TargetTableName, RestoreDateTime }) => {
      const [source, target] = [String(SourceTableName), String(TargetTableName)];
      creating.add(target);
      await makeRestored(emulator, { source, target });
      await writeItems(emulator, target, moments.get(Number(RestoreDateTime)) ?? []);
      creating.delete(target);
      return { TableDescription: { TableName: target, TableStatus: "CREATING" } };
    },
    DescribeContinuousBackups: ({ TableName }) => {
      const PointInTimeRecoveryStatus = recovered.has(String(TableName)) ? "ENABLED" : "DISABLED";
      return { ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus } } };
    },
    UpdateContinuousBackups: ({ TableName }) => {
      recovered.add(String(TableName));
      return {};
    },
    ListTagsOfResource: ({ ResourceArn }) => ({ Tags: tags.get(String(ResourceArn)) ?? [] }),
    TagResource: ({ ResourceArn, Tags }) => {
      tags.set(String(ResourceArn), Tags);
      return {};
    },
  };
  const environment = { Environment: { Variables: { TABLE_NAME: emulator.tableName } } };
  const answerTo = async (request: IncomingMessage, operation: string, body: Buffer): Promise<string> => {
    if (request.url?.includes("/functions/")) return JSON.stringify(environment);
    const input: Input = JSON.parse(body.toString());
    if (operation === "DescribeTable" && creating.has(String(input["TableName"]))) {
      return JSON.stringify({ Table: { TableName: input["TableName"], TableStatus: "CREATING" } });
    }
    const act = own[operation];
    if (act !== undefined) return JSON.stringify(await act(input));
    const named = ["authorization", "content-type", "x-amz-date", "x-amz-target"];
    const headers = Object.fromEntries(named.map((name) => [name, String(request.headers[name])]));
    const answer = await fetch(emulator.endpoint, { method: "POST", headers, body: new Uint8Array(body) });
    const text = await answer.text();
    if (!answer.ok) throw Object.assign(new Error(text), { status: answer.status });
    return text;
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const operation = String(request.headers["x-amz-target"] ?? "").replace(/^.*\./, "");
    const fate = operation === "" ? "answered" : fateOf(operation);
    if (fate === "lost") return response.destroy();
    response.setHeader("content-type", "application/x-amz-json-1.0");
    try {
      const text = await answerTo(request, operation, Buffer.concat(chunks));
      return fate === "unanswered" ? response.destroy() : response.end(text);
    } catch (error) {
      response.statusCode = error instanceof Error && "status" in error ? Number(error.status) : 500;
      return response.end(error instanceof Error ? error.message : String(error));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    recovered,
    tags,
    /** Keeps what the table has now as what it had at a moment. */
    keep: async (at: string): Promise<readonly WireItem[]> => {
      const items = await wireItems(emulator, emulator.tableName);
      moments.set(Date.parse(at) / 1000, items);
      return items;
    },
    stop: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
