import type { Database } from "../dynamodb/database.ts";
import { isRecord } from "../template/intrinsics.ts";
import type { StreamRecord } from "./streams.ts";

/** Records of a stream from a position on, in order, and the position after them. */
export interface StreamPage {
  readonly records: readonly StreamRecord[];
  readonly next: string;
  /** Whether there were no more when it was asked for; a page that was read before says nothing about what followed. */
  readonly isEnd: boolean;
}

const pageSize = 1000;
/** The server may end a page by its size, long before it has `pageSize` records. */
const shortPage = 100;
/** Enough for a reader that is a few batches behind to find what the others have read. */
const keptPages = 8;

/**
 * Reads a stream once for all of its readers: one that comes to a position which another has left gets the same page,
 * and those that wait at the end share one request. Records of a stream never change, so a page with records stays
 * what it was. Read again later it may be longer; its readers continue after the records that they got.
 */
export class StreamPages {
  private readonly database: Pick<Database, "call">;
  private readonly pages = new Map<string, StreamPage>();
  private readonly reading = new Map<string, Promise<StreamPage>>();

  constructor(database: Pick<Database, "call">) {
    this.database = database;
  }

  /** There may be new records: no reader joins a request on its way, which may be answered without them. */
  wake(): void {
    this.reading.clear();
  }

  /** The page at a position. Rejects with what the server says. */
  async read(position: string): Promise<StreamPage> {
    const known = this.pages.get(position) ?? this.reading.get(position);
    if (known !== undefined) return known;
    const reading = this.request(position);
    this.reading.set(position, reading);
    try {
      return await reading;
    } finally {
      if (this.reading.get(position) === reading) this.reading.delete(position);
    }
  }

  private async request(position: string): Promise<StreamPage> {
    const answer = await this.database.call(
      "GetRecords",
      { ShardIterator: position, Limit: pageSize },
      "DynamoDBStreams",
    );
    const { Records: found, NextShardIterator: next } = answer;
    const records = (Array.isArray(found) ? found : []).filter(isRecord) as unknown as readonly StreamRecord[];
    const page = { records, next: typeof next === "string" ? next : position };
    if (records.length > 0) this.keep(position, { ...page, isEnd: false });
    return { ...page, isEnd: records.length < shortPage };
  }

  private keep(position: string, page: StreamPage): void {
    this.pages.set(position, page);
    if (this.pages.size <= keptPages) return;
    const [oldest] = this.pages.keys();
    if (oldest !== undefined) this.pages.delete(oldest);
  }
}
