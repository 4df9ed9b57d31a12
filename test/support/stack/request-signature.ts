import { createHash, createHmac } from "node:crypto";

/** A request as it came over the wire. */
export interface SignedRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Whether a request bears the signature that AWS would compute of it (AWS Signature Version 4). Written from its
 * description alone, so that it agrees with a client only when both are right.
 */
export function isSignedBy(secret: string, { method, path, headers, body }: SignedRequest): boolean {
  const given = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    headers["authorization"] ?? "",
  );
  if (given === null) return false;
  const [, , scope = "", names = "", signature] = given;
  const [address = "", query = ""] = path.split("?");
  const canonical = [
    method,
    // Every service but S3 encodes the path once more.
    address.split("/").map(encode).join("/"),
    query.split("&").filter(Boolean).sort().map(withValue).join("&"),
    ...names.split(";").map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    names,
    createHash("sha256").update(body).digest("hex"),
  ].join("\n");
  const hashed = createHash("sha256").update(canonical).digest("hex");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashed].join("\n");
  let key: Buffer | string = `AWS4${secret}`;
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  return createHmac("sha256", key).update(text).digest("hex") === signature;
}

function withValue(parameter: string): string {
  return parameter.includes("=") ? parameter : `${parameter}=`;
}

function encode(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
