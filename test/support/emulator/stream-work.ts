import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBRecord } from "aws-lambda";
import { inject, vi } from "vitest";
import { eventPattern, type Pattern } from "../../../infra/local/streams/event-pattern.ts";
import { type Assembly, readAssembly } from "../../../infra/local/template/assembly.ts";
import type { TestApi } from "./api.ts";
import { publishing } from "./publishing.ts";
import { readStream } from "./raw-table.ts";

const { handler: route } = await import("../../../functions/events/route.ts");
const { handler: watch } = await import("../../../functions/margin/watch.ts");

/** The filters of the synthesized template by which a function reads its stream. */
function filtersOf({ resources }: Assembly, functionName: string): readonly Pattern[] {
  const mappings = resources.filter(
    ({ type, properties }) =>
      type === "AWS::Lambda::EventSourceMapping" && String(properties["FunctionName"]).endsWith(functionName),
  );
  const filters = mappings.flatMap(({ properties }) => {
    const { Filters: found } = properties["FilterCriteria"] as { Filters: { Pattern: string }[] };
    return found.map(({ Pattern: text }) => eventPattern(text));
  });
  if (filters.length === 0) throw new Error(`${functionName} reads no stream.`);
  return filters;
}

/** A function behind a stream, and how far it has been handed what the stream holds. */
class Reader {
  private readonly stream: { readonly endpoint: string; readonly streamArn: string };
  private readonly handler: typeof route;
  private readonly filters: readonly Pattern[];
  private last: string | undefined;

  constructor(stream: Reader["stream"], filters: readonly Pattern[], handler: typeof route) {
    this.stream = stream;
    this.handler = handler;
    this.filters = filters;
  }

  /** New records in its stream that pass its filters. */
  async next(): Promise<readonly DynamoDBRecord[]> {
    const fresh = await readStream(this.stream, this.last);
    this.last = fresh.at(-1)?.dynamodb.SequenceNumber ?? this.last;
    return fresh.filter((record) => this.filters.some((matches) => matches(record))) as unknown as DynamoDBRecord[];
  }

  /** Hands records over; returns the sequence numbers of those that come again. */
  async handle(records: readonly DynamoDBRecord[]): Promise<string[]> {
    const { batchItemFailures: failed } = await this.handler({ Records: [...records] });
    return failed.map(({ itemIdentifier }) => itemIdentifier);
  }
}

/** The functions behind both streams, called with exactly the records that the template's filters let through. */
export async function streamWork({ emulator, queues }: TestApi) {
  const { client, endpoint, streamArn, volatileTableName } = emulator;
  const { Table: volatile } = await client.send(new DescribeTableCommand({ TableName: volatileTableName }));
  const assembly = readAssembly(inject("assemblyDir"));
  const router = new Reader({ endpoint, streamArn }, filtersOf(assembly, "-route"), route);
  const volatileStream = { endpoint, streamArn: volatile?.LatestStreamArn ?? "" };
  const watcher = new Reader(volatileStream, filtersOf(assembly, "-watch"), watch);
  const { publishSent } = publishing({ queues });
  /**
   * Hands over what is new in a stream, and what fails once more, as a stream does: a call can take too long on a busy
   * machine. Why a record fails is logged.
   */
  const handOver = async (reader: Reader): Promise<void> => {
    const records = await reader.next();
    const failed = new Set(await reader.handle(records));
    if (failed.size === 0) return;
    const again = await reader.handle(records.filter(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? "")));
    if (again.length > 0) throw new Error(`${again.length} records come again.`);
  };
  return {
    /** Hands over what is new in both streams; throws when a record comes a third time, or a message again. */
    deliver: async (): Promise<void> => {
      const { POWERTOOLS_LOG_LEVEL: level } = process.env;
      vi.stubEnv("POWERTOOLS_LOG_LEVEL", "ERROR");
      try {
        for (const reader of [router, watcher]) await handOver(reader);
      } finally {
        vi.stubEnv("POWERTOOLS_LOG_LEVEL", level);
      }
      const again = await publishSent();
      if (again.length > 0) throw new Error(`${again.length} messages come again.`);
    },
    /** The new records of the main table that the router gets, not handed over. */
    routed: () => router.next(),
    route: (records: readonly DynamoDBRecord[]) => router.handle(records),
    /** Publishes what the router has sent; returns how many messages come again. */
    publishSent: async (): Promise<number> => (await publishSent()).length,
  };
}
