import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsError } from "../../../infra/local/aws-error.ts";
import { Buckets } from "../../../infra/local/buckets/buckets.ts";
import { bucketError, bucketPlan } from "../../../infra/local/buckets/plan.ts";

/** Act of a test on a call to the bucket: nothing, a refusal before it is done, or the answer lost. */
export type BucketInterference = undefined | "refuse" | "lose_answer";

/** The bucket of the audit's days on a server, as the local runner keeps it. */
export interface BucketEndpoint {
  /** Address, and the name of the bucket: what the function finds in its environment. */
  readonly environment: Record<string, string>;
  readonly bucket: string;
  /** Asked about every call before it goes on. */
  interfere: (operation: string, key: string) => BucketInterference;
  readonly stop: () => Promise<void>;
}

const bucket = "audit-days";
const locked = {
  ObjectLockEnabled: true,
  VersioningConfiguration: { Status: "Enabled" },
  ObjectLockConfiguration: {
    ObjectLockEnabled: "Enabled",
    Rule: { DefaultRetention: { Mode: "COMPLIANCE", Days: 1 } },
  },
};

/** Starts a server with one bucket that locks its objects, and sets what the clients of S3 read of the environment. */
export async function startBucketEndpoint(): Promise<BucketEndpoint> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-bucket-"));
  const attributes = { Arn: `arn:aws:s3:::${bucket}` };
  const resource = { type: "AWS::S3::Bucket", path: bucket, physical_id: bucket, properties: locked, attributes };
  const buckets = new Buckets([resource], dataDir);
  const state = { interfere: (_operation: string, _key: string): BucketInterference => undefined };
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await request.toArray());
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
    const { method = "GET", url = "/" } = request;
    const incoming = { method, url: new URL(url, "http://127.0.0.1"), headers: Object.fromEntries(headers), bytes };
    const plan = bucketPlan(buckets, { ...incoming, text: "", body: undefined });
    const wanted = state.interfere(plan.action, String(Object(plan.body).Key));
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
    environment: { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`, AUDIT_BUCKET_NAME: bucket },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(dataDir, { recursive: true, force: true });
    },
  });
}
