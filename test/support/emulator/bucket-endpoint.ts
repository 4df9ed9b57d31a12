import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsError } from "../../../infra/local/aws-error.ts";
import { Buckets } from "../../../infra/local/buckets/buckets.ts";
import { bucketError, bucketPlan } from "../../../infra/local/buckets/plan.ts";
import { checkQuerySignature, credentialIn } from "../../../infra/local/buckets/query-signature.ts";

/** Act of a test on a call to the bucket: nothing, a refusal before it is done, or the answer lost. */
export type BucketInterference = undefined | "refuse" | "lose_answer";

/** The buckets of the audit's days and of exports on a server, as the local runner keeps them. */
export interface BucketEndpoint {
  /** Address, credentials, and the names of the buckets: what the functions find in their environment. */
  readonly environment: Record<string, string>;
  /** The bucket of the audit's days. */
  readonly bucket: string;
  /** Objects of the bucket of exports by their keys. */
  readonly exported: () => ReadonlyMap<string, Buffer>;
  /** Asked about every call before it goes on. */
  interfere: (operation: string, key: string) => BucketInterference | Promise<BucketInterference>;
  readonly stop: () => Promise<void>;
}

const bucket = "audit-days";
const exportBucket = "exports";
const signer = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test", AWS_REGION: "eu-west-1" };
const locked = {
  ObjectLockEnabled: true,
  VersioningConfiguration: { Status: "Enabled" },
  ObjectLockConfiguration: {
    ObjectLockEnabled: "Enabled",
    Rule: { DefaultRetention: { Mode: "COMPLIANCE", Days: 1 } },
  },
};

/**
 * Starts a server with a bucket that locks its objects and one that does not; its environment is what the clients of S3
 * read.
 */
export async function startBucketEndpoint(): Promise<BucketEndpoint> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-bucket-"));
  const resourceOf = (name: string, properties: object) => ({
    ...{ type: "AWS::S3::Bucket", path: name, physical_id: name, properties: { ...properties } },
    attributes: { Arn: `arn:aws:s3:::${name}` },
  });
  const buckets = new Buckets([resourceOf(bucket, locked), resourceOf(exportBucket, {})], dataDir);
  const state: Pick<BucketEndpoint, "interfere"> = { interfere: () => undefined };
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await request.toArray());
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
    const { method = "GET", url = "/" } = request;
    const incoming = { method, url: new URL(url, "http://127.0.0.1"), headers: Object.fromEntries(headers), bytes };
    if (credentialIn(incoming.url) !== undefined) {
      checkQuerySignature(incoming, signer.AWS_SECRET_ACCESS_KEY, Date.now());
    }
    const plan = bucketPlan(buckets, { ...incoming, text: "", body: undefined });
    const wanted = await state.interfere(plan.action, String(Object(plan.body).Key));
    if (wanted === "refuse") throw new AwsError(403, "AccessDenied", "Access Denied");
    const reply = await plan.do();
    if (wanted === "lose_answer") throw new AwsError(403, "AccessDenied", "The answer was lost.");
    response.writeHead(reply.status, reply.headers).end(reply.body);
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const reply = bucketError(error instanceof AwsError ? error : new AwsError(500, "InternalError", String(error)));
      response.writeHead(reply.status, reply.headers).end(reply.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return Object.assign(state, {
    bucket,
    environment: {
      ...{ AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AUDIT_BUCKET_NAME: bucket },
      ...{ EXPORT_BUCKET_NAME: exportBucket, ...signer },
    },
    exported: () => {
      const keys = buckets.keys(exportBucket, "");
      return new Map(keys.map((key) => [key, buckets.get(exportBucket, key)?.body ?? Buffer.alloc(0)]));
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(dataDir, { recursive: true, force: true });
    },
  });
}
