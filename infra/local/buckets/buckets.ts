import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import { writePrivately } from "../state-file.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

/** An object of S3: the headers that it answers with, and the bytes. */
export interface StoredObject {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Bucket {
  readonly arn: string;
  /** Whether an object is locked from its upload on, which S3 wants a checksum for. */
  readonly locks: boolean;
  readonly folder: string;
}

/** File systems take names of 255 bytes; the draft of a file has a longer name. */
const maxNameCharacters = 200;

/**
 * The buckets of the template: each object is a file of the data folder, with its headers in its first line. Of a
 * versioned bucket the newest version of each object is kept alone, so an object can be replaced here and not deleted.
 */
export class Buckets {
  private readonly byName = new Map<string, Bucket>();

  constructor(resources: readonly Resource[], dataDir: string) {
    for (const { type, path, physical_id, properties, attributes } of resources) {
      if (type !== "AWS::S3::Bucket") continue;
      const { ObjectLockEnabled: lock, ObjectLockConfiguration: rule } = properties;
      const locks = isRecord(rule) && rule["Rule"] !== undefined;
      if (locks && lock !== true)
        throw new AssemblyError(path, "a bucket locks objects only where ObjectLockEnabled is true");
      const folder = join(dataDir, "buckets", physical_id);
      mkdirSync(folder, { recursive: true });
      this.byName.set(physical_id, { arn: attributes["Arn"] ?? "", locks, folder });
    }
  }

  /** A bucket by its name. Throws the AwsError of S3 for an unknown one. */
  bucket(name: string): Bucket {
    const found = this.byName.get(name);
    if (found !== undefined) return found;
    throw new AwsError(404, "NoSuchBucket", "The specified bucket does not exist");
  }

  /** An object; undefined when there is none. */
  get(bucket: string, key: string): StoredObject | undefined {
    const file = this.fileOf(bucket, key);
    if (file === undefined || !existsSync(file)) return undefined;
    const bytes = readFileSync(file);
    const end = bytes.indexOf("\n");
    return { headers: JSON.parse(bytes.subarray(0, end).toString()), body: bytes.subarray(end + 1) };
  }

  /** Stores an object in the place of one of the same key. */
  put(bucket: string, key: string, body: Uint8Array, headers: Readonly<Record<string, string>>): StoredObject {
    const file = this.fileOf(bucket, key);
    if (file === undefined) throw unknown(`the key ${key}`);
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const kept = { "content-type": "application/octet-stream", ...headers, etag };
    const all = { ...kept, "last-modified": new Date().toUTCString() };
    writePrivately(file, Buffer.concat([Buffer.from(`${JSON.stringify(all)}\n`), body]));
    return { headers: all, body: Buffer.from(body) };
  }

  /** Keys that begin with a prefix, in order. */
  keys(bucket: string, prefix: string): string[] {
    // A name that is no encoded key is that of a draft.
    const names = readdirSync(this.bucket(bucket).folder).filter((name) => !name.includes("+"));
    return names
      .map(decodeURIComponent)
      .filter((key) => key.startsWith(prefix))
      .toSorted((a, b) => (a < b ? -1 : 1));
  }

  /** The file of an object; undefined for a key that no file system takes. */
  private fileOf(bucket: string, key: string): string | undefined {
    const name = encodeURIComponent(key);
    const { folder } = this.bucket(bucket);
    return /^\.{0,2}$/.test(name) || name.length > maxNameCharacters ? undefined : join(folder, name);
  }
}

/** The error for what this runner does not imitate. */
export function unknown(what: string): AwsError {
  return new AwsError(501, "NotImplemented", `The local runner does not know ${what} of S3.`);
}
