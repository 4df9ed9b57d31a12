import type { IncomingMessage } from "node:http";
import type { AwsError } from "../aws-error.ts";
import type { Incoming, Plan, Reply } from "../aws-plan.ts";
import type { Buckets } from "./buckets.ts";

/** How a request to S3 is done. Throws the AwsErrors of S3. */
export function bucketPlan(buckets: Buckets, request: Incoming): Plan {
  const operation = buckets.read(request);
  const [{ resource } = { resource: "" }] = operation.access;
  const mayKnow = { action: "s3:ListBucket", resource: resource.split("/")[0] ?? "" };
  return {
    service: "s3",
    action: operation.name,
    access: operation.access,
    ...(operation.key !== "" && { mayKnow }),
    body: { Bucket: operation.bucket, Key: operation.key },
    do: async () => {
      const { status, headers, body } = await buckets.call(operation, request);
      const { connection: _, "transfer-encoding": __, ...kept } = headers;
      return { status, headers: kept as Record<string, string>, body };
    },
  };
}

/** Whether a request is signed for S3, which no header and no path of its own names. */
export function isForBuckets({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["authorization"]?.includes("/s3/aws4_request") === true;
}

/** The answer of S3 to a request that failed. */
export function bucketError(error: AwsError): Reply {
  return { status: error.status, headers: { "content-type": "application/xml" }, body: errorDocument(error) };
}

function errorDocument({ type, message }: AwsError): string {
  const content = `<Code>${escaped(type)}</Code><Message>${escaped(message)}</Message>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${content}</Error>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
