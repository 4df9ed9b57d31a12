import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { AwsError } from "../aws-error.ts";
import type { Incoming } from "../aws-plan.ts";

/** Parameters of a signature in a query, by their names in lower case: they change nothing of the request itself. */
export const signingParameters: ReadonlySet<string> = new Set([
  ...["x-amz-algorithm", "x-amz-content-sha256", "x-amz-credential", "x-amz-date", "x-amz-expires"],
  ...["x-amz-security-token", "x-amz-signature", "x-amz-signedheaders"],
]);

/** A week (AWS docs: Signature Version 4, query parameters). */
const longestSeconds = 604_800;

/** The access key and the scope that a query names: `key/20261129/eu-west-1/s3/aws4_request`; undefined without one. */
export function credentialIn({ searchParams }: Pick<URL, "searchParams">): string | undefined {
  return searchParams.get("X-Amz-Credential") ?? undefined;
}

/**
 * Refuses a request whose query has no valid signature by this secret, as S3 does: one that was changed, that has come
 * too late, or that has a header of the service which was not signed.
 * @throws AwsError
 */
export function checkQuerySignature(
  request: Pick<Incoming, "method" | "url" | "headers">,
  secret: string,
  now: number,
) {
  const { method, url, headers } = request;
  const asked = (name: string) => url.searchParams.get(name) ?? "";
  const [moment, expires] = [asked("X-Amz-Date"), Number(asked("X-Amz-Expires"))];
  const [, ...scope] = (credentialIn(url) ?? "").split("/");
  const signed = asked("X-Amz-SignedHeaders").split(";");
  const began = Date.parse(moment.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const isWhole =
    asked("X-Amz-Algorithm") === "AWS4-HMAC-SHA256" &&
    scope.length === 4 &&
    scope[0] === moment.slice(0, 8) &&
    scope[2] === "s3" &&
    Number.isInteger(expires) &&
    expires >= 1 &&
    expires <= longestSeconds &&
    !Number.isNaN(began) &&
    signed.includes("host");
  if (!isWhole) {
    throw new AwsError(400, "AuthorizationQueryParametersError", "The parameters of the signature are not valid.");
  }
  if (now > began + expires * 1000) throw new AwsError(403, "AccessDenied", "Request has expired");
  const unsigned = Object.keys(headers).find((name) => name.startsWith("x-amz-") && !signed.includes(name));
  if (unsigned !== undefined) {
    const text = `There were headers present in the request which were not signed: ${unsigned}`;
    throw new AwsError(403, "AccessDenied", text);
  }
  const sent = url.search.slice(1).split("&");
  const query = sent.filter((pair) => !pair.startsWith("X-Amz-Signature=")).toSorted();
  const lines = signed.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/\s+/g, " ")}`);
  const content = asked("X-Amz-Content-Sha256") || "UNSIGNED-PAYLOAD";
  const canonical = [method, url.pathname, query.join("&"), ...lines, "", signed.join(";"), content].join("\n");
  const hashed = createHash("sha256").update(canonical).digest("hex");
  const text = ["AWS4-HMAC-SHA256", moment, scope.join("/"), hashed].join("\n");
  const key = scope.reduce<string | Buffer>((one, part) => hmac(one, part), `AWS4${secret}`);
  const given = Buffer.from(asked("X-Amz-Signature"), "hex");
  const wanted = hmac(key, text);
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
  const detail = "The request signature we calculated does not match the signature you provided.";
  throw new AwsError(403, "SignatureDoesNotMatch", detail);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
