import { createHmac } from "node:crypto";
import { sha256 } from "./digest.ts";
import { env } from "./env.ts";

/** A request to S3 that any holder of its address may make. */
export interface AddressedRequest {
  readonly method: "GET" | "PUT";
  readonly bucket: string;
  /** Letters, digits and `-._~` between slashes: encoded it is the same. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Headers that must be sent exactly so, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An address with the signature of the function's role in its query (AWS Signature Version 4). It is good for so many
 * seconds, and no longer than the session of the role; for no other method, object, name of the file or header.
 * @throws Error where the process has no credentials
 */
export function signedAddress(request: AddressedRequest, { at, seconds }: { at: Date; seconds: number }): string {
  const { id, secret, token, region, endpoint } = env.signer;
  const { method, bucket, key, query = {}, headers = {} } = request;
  // A bucket has a host of its own on AWS, the regional one; under an address that is configured it is in the path.
  const base = new URL(endpoint ?? `https://${bucket}.s3.${region}.amazonaws.com`);
  const path = `${endpoint === undefined ? "" : `/${bucket}`}/${key}`;
  const moment = at.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const scope = `${moment.slice(0, 8)}/${region}/s3/aws4_request`;
  const signed = Object.entries({ ...headers, host: base.host }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(";");
  const parameters = {
    ...query,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD",
    "X-Amz-Credential": `${id}/${scope}`,
    "X-Amz-Date": moment,
    "X-Amz-Expires": String(seconds),
    ...(token === undefined ? {} : { "X-Amz-Security-Token": token }),
    "X-Amz-SignedHeaders": names,
  };
  const pairs = Object.entries(parameters).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  const lines = signed.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, " ")}`);
  const canonical = [method, path, pairs.toSorted().join("&"), ...lines, "", names, "UNSIGNED-PAYLOAD"].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", moment, scope, sha256(canonical)].join("\n");
  const signingKey = scope
    .split("/")
    .reduce<string | Buffer>((secretOf, part) => createHmac("sha256", secretOf).update(part).digest(), `AWS4${secret}`);
  const signature = createHmac("sha256", signingKey).update(toSign).digest("hex");
  return `${base.origin}${path}?${[...pairs, `X-Amz-Signature=${signature}`].toSorted().join("&")}`;
}

/** A part of an address: all but letters, digits and `-._~` is encoded (RFC 3986 2.3). */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
