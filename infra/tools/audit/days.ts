import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { GetObjectCommand, ListObjectsV2Command, S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { isDay } from "../../../shared/calendar.ts";
import { type BucketHistory, bucketHistory } from "./history.ts";

/** Where an export lies. */
export interface ExportSource {
  /** Versions in a bucket that keeps them; absent where only the objects are kept. */
  readonly history?: BucketHistory;
  /** Name in messages. */
  readonly name: string;
  /** Keys that begin with a prefix, sorted by their characters. */
  keys(prefix: string): AsyncIterable<string>;
  read(key: string): Promise<Uint8Array>;
}

/** The objects of one day of a brokerage. */
export interface DayObjects {
  readonly brokerage: string;
  readonly day: string;
  /** Numbers of its parts, rising. */
  readonly parts: readonly number[];
  readonly hasManifest: boolean;
}

/** An object that no day has, and the brokerage that it lies with: the first word of its key. */
export interface StrangeObject {
  readonly brokerage: string;
  readonly strange: string;
}

/** An export in a bucket. */
export function bucketSource(bucket: string, config: S3ClientConfig): ExportSource {
  const client = new S3Client(config);
  return {
    name: `the bucket ${bucket}`,
    history: bucketHistory(client, bucket),
    async *keys(prefix) {
      let token: string | undefined;
      do {
        const input = { Bucket: bucket, Prefix: prefix, ...(token !== undefined && { ContinuationToken: token }) };
        const { Contents: found = [], NextContinuationToken: next } = await client.send(
          new ListObjectsV2Command(input),
        );
        for (const { Key: key = "" } of found) yield key;
        token = next;
      } while (token !== undefined);
    },
    async read(key) {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return body === undefined ? new Uint8Array() : body.transformToByteArray();
    },
  };
}

/** An export that was copied into a folder. */
export function folderSource(folder: string): ExportSource {
  return {
    name: `the folder ${folder}`,
    async *keys(prefix) {
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const keys = files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join("/"));
      yield* keys.filter((key) => key.startsWith(prefix)).toSorted((a, b) => (a < b ? -1 : 1));
    },
    read: async (key) => readFileSync(join(folder, ...key.split("/"))),
  };
}

const keyForm = /^(brk_[0-9A-HJKMNP-TV-Z]{26})\/(\d{4}-\d{2}-\d{2})\/(?:(\d{6})\.ndjson\.gz|manifest\.json)$/;

/**
 * The days of an export, by brokerage and in their order, each once. Between them comes what is not the object of a
 * calendar day.
 */
export async function* daysOf(source: ExportSource, prefix: string): AsyncGenerator<DayObjects | StrangeObject> {
  let open: { brokerage: string; day: string; parts: number[]; hasManifest: boolean } | undefined;
  for await (const key of source.keys(prefix)) {
    const [, brokerage = "", day = "", part] = keyForm.exec(key) ?? [];
    if (!isDay(day)) {
      yield { brokerage: key.split("/")[0] ?? "", strange: key };
      continue;
    }
    if (open?.brokerage !== brokerage || open.day !== day) {
      if (open !== undefined) yield open;
      open = { brokerage, day, parts: [], hasManifest: false };
    }
    if (part === undefined) open.hasManifest = true;
    else open.parts.push(Number(part));
  }
  if (open !== undefined) yield open;
}
