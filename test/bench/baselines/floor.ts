import { createHash, createHmac } from "node:crypto";
import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Cost of one call to DynamoDB without any library: signed by hand (AWS Signature Version 4), sent by Node. */
export async function handler(): Promise<{ statusCode: number; body: string }> {
  const endpoint = new URL(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const body = JSON.stringify({
    TableName: process.env["TABLE_NAME"],
    Key: { pk: { S: "bench" }, sk: { S: "bench" } },
  });
  const at = new Date().toISOString().replace(/[-:]|\.\d{3}/g, "");
  const headers: Record<string, string> = {
    "content-type": "application/x-amz-json-1.0",
    host: endpoint.host,
    "x-amz-date": at,
    "x-amz-target": "DynamoDB_20120810.GetItem",
  };
  const names = Object.keys(headers).join(";");
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}`);
  const canonical = ["POST", "/", "", ...lines, "", names, sha256(body)].join("\n");
  const scope = `${at.slice(0, 8)}/${process.env["AWS_REGION"]}/dynamodb/aws4_request`;
  let key: Buffer | string = `AWS4${process.env["AWS_SECRET_ACCESS_KEY"]}`;
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  const text = `AWS4-HMAC-SHA256\n${at}\n${scope}\n${sha256(canonical)}`;
  const signature = createHmac("sha256", key).update(text).digest("hex");
  const credential = `${process.env["AWS_ACCESS_KEY_ID"]}/${scope}`;
  headers["authorization"] =
    `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return new Promise((resolve, reject) => {
    const outgoing = request(endpoint, { method: "POST", headers, agent }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () =>
        resolve({ statusCode: incoming.statusCode ?? 500, body: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
