import { createHash } from "node:crypto";
import { AwsError } from "../aws-error.ts";
import type { Emulator } from "../emulator/emulator.ts";
import type { RawReply } from "../forward.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { type ObjectOperation, type ObjectRequest, objectOperation, unknown } from "./operations.ts";

/** What the buckets need. */
export interface BucketsOptions {
  readonly resources: readonly Resource[];
  /** Where the objects are kept. */
  readonly emulator: Emulator;
}

interface Bucket {
  readonly arn: string;
  readonly versioned: boolean;
  /** Whether an object is locked from its upload on, which S3 wants a checksum for. */
  readonly locks: boolean;
}

/** The server takes no larger object: 11 MiB, its own bound. AWS takes 5 GiB by one request. */
const maxObjectBytes = 11 * 1_048_576;
/** Headers of a request that the server reads. */
const forwarded = ["content-type", "content-encoding", "cache-control", "content-disposition", "range", "if-match"];

/**
 * The buckets of the template, on the server of queues and buckets, which keeps them from run to run. Of a versioned
 * bucket the newest version of each object is kept alone, so an object can be replaced here and not deleted.
 */
export class Buckets {
  private readonly emulator: Emulator;
  private readonly byName = new Map<string, Bucket>();
  /** The last write of each object that is under way: a conditional write looks and writes in two steps. */
  private readonly writes = new Map<string, Promise<unknown>>();

  constructor({ resources, emulator }: BucketsOptions) {
    this.emulator = emulator;
    for (const { type, path, physical_id, properties, attributes } of resources) {
      if (type === "AWS::S3::Bucket") this.byName.set(physical_id, bucketOf(path, properties, attributes["Arn"] ?? ""));
    }
  }

  /** Makes the buckets on the server, which it starts where the template has any. */
  async start(): Promise<void> {
    if (this.byName.size === 0) return;
    await this.emulator.start();
    for (const name of this.names) {
      const { status, body } = await this.forward("PUT", `/${name}`, {}, "");
      if (status !== 200) throw new Error(`The bucket ${name} cannot be made: ${body.toString()}`);
    }
  }

  /** Names of the buckets. */
  get names(): string[] {
    return [...this.byName.keys()];
  }

  /** Understands a request. Throws the AwsErrors of S3, and one for what is not known here. */
  read(request: ObjectRequest): ObjectOperation {
    return objectOperation(request, (bucket) => this.bucket(bucket).arn);
  }

  /** Does an allowed operation. Throws the AwsErrors of S3 for an object that it would not take. */
  async call(operation: ObjectOperation, request: ObjectRequest): Promise<RawReply> {
    const { name, bucket, key } = operation;
    const { method, url, headers } = request;
    if (name === "DeleteObject" && this.bucket(bucket).versioned) throw unknown("DeleteObject on a versioned bucket");
    const isUpload = name === "PutObject";
    if (isUpload) refuseUpload(this.bucket(bucket), request);
    const kept = Object.entries(headers).filter(([header]) => isKept(header, isUpload));
    const send = () => this.forward(method, `${url.pathname}${url.search}`, Object.fromEntries(kept), request.bytes);
    if (!isUpload) return send();
    const isNew = headers["if-none-match"] === "*";
    return this.inTurn(`${bucket}/${key}`, async () => {
      if (isNew && (await this.forward("HEAD", url.pathname, {}, "")).status === 200) throw preconditionFailed();
      return send();
    });
  }

  /** Bytes of an object; undefined when there is none. */
  async get(bucket: string, key: string): Promise<RawReply | undefined> {
    this.bucket(bucket);
    const reply = await this.forward("GET", pathOf(bucket, key), {}, "");
    return reply.status === 200 ? reply : undefined;
  }

  /** Stores an object for the runner itself, as a deployment does. */
  async put(bucket: string, key: string, body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<void> {
    this.bucket(bucket);
    const reply = await this.forward("PUT", pathOf(bucket, key), headers, body);
    if (reply.status !== 200) throw new Error(`The object ${key} cannot be stored: ${reply.body.toString()}`);
  }

  private bucket(name: string): Bucket {
    const found = this.byName.get(name);
    if (found !== undefined) return found;
    throw new AwsError(404, "NoSuchBucket", "The specified bucket does not exist");
  }

  private async forward(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | string,
  ): Promise<RawReply> {
    const { forwarder } = await this.emulator.server();
    return forwarder.send(method, path, { "content-type": "application/octet-stream", ...headers }, body);
  }

  /** Does the writes of one object one after the other. */
  private async inTurn<T>(object: string, write: () => Promise<T>): Promise<T> {
    const before = this.writes.get(object);
    const turn = Promise.resolve(before)
      .catch(() => undefined)
      .then(write);
    this.writes.set(object, turn);
    try {
      return await turn;
    } finally {
      if (this.writes.get(object) === turn) this.writes.delete(object);
    }
  }
}

function bucketOf(path: string, properties: Readonly<Record<string, unknown>>, arn: string): Bucket {
  const { VersioningConfiguration: versioning, ObjectLockEnabled: lock, ObjectLockConfiguration: rule } = properties;
  const versioned = isRecord(versioning) && versioning["Status"] === "Enabled";
  const locks = isRecord(rule) && rule["Rule"] !== undefined;
  if (locks && lock !== true)
    throw new AssemblyError(path, "a bucket locks objects only where ObjectLockEnabled is true");
  return { arn, versioned: versioned || lock === true, locks };
}

function isKept(header: string, isUpload: boolean): boolean {
  if (forwarded.includes(header) || header.startsWith("x-amz-meta-")) return true;
  return isUpload ? header.startsWith("x-amz-checksum-") : header === "if-none-match";
}

/** Throws what S3 answers to a body that is not what its headers say, and to one without a checksum under a lock. */
function refuseUpload({ locks }: Bucket, { headers, bytes }: ObjectRequest): void {
  if (bytes.length > maxObjectBytes) throw unknown(`an object of ${bytes.length} bytes`);
  if (headers["if-match"] !== undefined) throw unknown("the header if-match of PutObject");
  const digest = createHash("sha256").update(bytes).digest();
  const content = headers["x-amz-content-sha256"] ?? "";
  if (/^[0-9a-f]{64}$/.test(content) && content !== digest.toString("hex")) {
    const text = "The provided 'x-amz-content-sha256' header does not match what was computed.";
    throw new AwsError(400, "XAmzContentSHA256Mismatch", text);
  }
  const checksum = headers["x-amz-checksum-sha256"];
  if (checksum !== undefined && checksum !== digest.toString("base64")) {
    throw new AwsError(400, "BadDigest", "The SHA256 you specified did not match the calculated checksum.");
  }
  const isChecked = headers["content-md5"] !== undefined || Object.keys(headers).some(isChecksum);
  if (!locks || isChecked) return;
  const text =
    "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters";
  throw new AwsError(400, "InvalidRequest", text);
}

function isChecksum(header: string): boolean {
  return header.startsWith("x-amz-checksum-") || header === "x-amz-trailer";
}

function preconditionFailed(): AwsError {
  const text = "At least one of the pre-conditions you specified did not hold";
  return new AwsError(412, "PreconditionFailed", text);
}

function pathOf(bucket: string, key: string): string {
  return `/${[bucket, ...key.split("/")].map(encodeURIComponent).join("/")}`;
}
