import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { describe, expect, it, vi } from "vitest";
import { AwsError } from "../../infra/local/aws-error.ts";
import { checkQuerySignature } from "../../infra/local/buckets/query-signature.ts";
import { type AddressedRequest, signedAddress } from "../../shared/runtime/signed-address.ts";

const signer = { id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token: "a/session+token=" };
const at = new Date("2026-11-29T01:02:03.000Z");
const bucket = "brokerage-exports-1a2b";
const key = "brk_01JD0000000000000000000007/job_01JD000000000000000000000N/001-01JD000000000000000000000P";

function withCredentials<T>(token: string | undefined, endpoint: string | undefined, work: () => T): T {
  vi.stubEnv("AWS_ACCESS_KEY_ID", signer.id);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", signer.secret);
  vi.stubEnv("AWS_SESSION_TOKEN", token);
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ENDPOINT_URL_S3", endpoint);
  vi.stubEnv("AWS_ENDPOINT_URL", undefined);
  try {
    return work();
  } finally {
    vi.unstubAllEnvs();
  }
}

/** Address that the published SDK signs for the same request. */
async function published(request: AddressedRequest, seconds: number, token: string | undefined, endpoint?: string) {
  const credentials = { accessKeyId: signer.id, secretAccessKey: signer.secret, sessionToken: token };
  const config = { region: "eu-west-1", credentials: credentials as never, forcePathStyle: endpoint !== undefined };
  const client = new S3Client({
    ...config,
    ...(endpoint !== undefined && { endpoint }),
    responseChecksumValidation: "WHEN_REQUIRED",
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
  const { method, query = {}, headers = {} } = request;
  const input = {
    ...{ Bucket: bucket, Key: key, ResponseContentDisposition: query["response-content-disposition"] },
    ...{ ContentType: headers["content-type"], IfNoneMatch: headers["if-none-match"] },
  };
  const { GetObjectCommand } = await import("@aws-sdk/client-s3");
  const names = new Set(Object.keys(headers));
  const options = { expiresIn: seconds, signingDate: at, signableHeaders: names, unhoistableHeaders: names };
  return method === "GET"
    ? getSignedUrl(client, new GetObjectCommand(input), options)
    : getSignedUrl(client, new PutObjectCommand(input), options);
}

const disposition = 'attachment; filename="transactions-20261129-001.csv.gz"';
const get: AddressedRequest = {
  ...{ method: "GET", bucket, key },
  query: { "x-id": "GetObject", "response-content-disposition": disposition },
};
const put: AddressedRequest = {
  ...{ method: "PUT", bucket, key, query: { "x-id": "PutObject" } },
  headers: { "content-type": "image/jpeg", "if-none-match": "*" },
};

describe("an address that is signed", () => {
  it.each([
    ["a file to read", get, signer.token, undefined],
    ["a file to read, by keys without a session", get, undefined, undefined],
    ["a file to read, at an address that is configured", get, signer.token, "http://127.0.0.1:4566"],
    ["a file to put, with headers", put, signer.token, undefined],
  ])("is for %s byte for byte what the published SDK signs", async (_name, request, token, endpoint) => {
    const own = withCredentials(token, endpoint, () => signedAddress(request, { at, seconds: 300 }));
    expect(own).toBe(await published(request, 300, token, endpoint));
  });

  const url = () => new URL(withCredentials(signer.token, undefined, () => signedAddress(put, { at, seconds: 300 })));
  const sent = (more: object = {}, of = url()) => ({
    ...{ method: "PUT", url: of },
    headers: { host: of.host, "content-type": "image/jpeg", "if-none-match": "*" },
    ...more,
  });
  const verdict = (request: ReturnType<typeof sent>, seconds = 0) => {
    try {
      checkQuerySignature(request, signer.secret, at.getTime() + seconds * 1000);
      return "taken";
    } catch (error) {
      return error instanceof AwsError ? error.type : String(error);
    }
  };
  const changed = (change: (url: URL) => void) => {
    const other = url();
    change(other);
    return sent({ headers: sent().headers }, other);
  };

  it("is good for its request until it ends, and for no other", () => {
    expect(verdict(sent())).toBe("taken");
    expect(verdict(sent(), 300)).toBe("taken");
    expect(verdict(sent(), 301)).toBe("AccessDenied");
    expect(verdict(sent({ method: "GET" }))).toBe("SignatureDoesNotMatch");
    const headers = { ...sent().headers };
    expect(verdict(sent({ headers: { ...headers, "content-type": "text/html" } }))).toBe("SignatureDoesNotMatch");
    expect(verdict(sent({ headers: { ...headers, "x-amz-acl": "public-read" } }))).toBe("AccessDenied");
    expect(verdict(changed((other) => (other.pathname += "x")))).toBe("SignatureDoesNotMatch");
    expect(verdict(changed((other) => other.searchParams.set("X-Amz-Expires", "301")))).toBe("SignatureDoesNotMatch");
    expect(verdict(changed((other) => other.searchParams.set("X-Amz-Expires", "700000")))).toBe(
      "AuthorizationQueryParametersError",
    );
    expect(verdict(changed((other) => other.searchParams.append("response-content-type", "text/html")))).toBe(
      "SignatureDoesNotMatch",
    );
  });
});
