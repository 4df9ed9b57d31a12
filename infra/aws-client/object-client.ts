import { createHash } from "node:crypto";
import type { Answer } from "./http-handler.ts";
import { type Command, JsonClient } from "./json-client.ts";
import type { Data } from "./json-protocol.ts";
import { RestCommand, restError, restService } from "./rest-client.ts";

/** Input of an operation on one object; the rest of the API of S3 is refused. */
interface ObjectInput extends Data {
  readonly Bucket: string;
  readonly Key: string;
  /** Content of an object that is put, whole. */
  readonly Body?: Uint8Array;
  readonly ContentType?: string;
  /** `*`: the object is put unless there is one of this key. */
  readonly IfNoneMatch?: "*";
}

/** The members of a request that travel as headers, by their names there. */
const headerOf: Readonly<Record<string, string>> = { ContentType: "content-type", IfNoneMatch: "if-none-match" };
/** Keys that mean the same encoded and as they are, so that the address that is signed is the one that is sent. */
const plainKey = /^[\w.~-]+(?:\/[\w.~-]+)*$/;

/** A bucket has a host of its own on AWS; under an address that is configured it is the first part of the path. */
const pathOf = (bucket: string, isOwnHost: boolean, key: string) => (isOwnHost ? `/${key}` : `/${bucket}/${key}`);

/** AWS REST XML, as far as one object is put or read. */
const protocol = {
  request({ name }: { readonly name: string }, input: Data, { isConfigured }: { readonly isConfigured: boolean }) {
    const { Bucket: bucket, Key: key, Body: body, ...rest } = input as ObjectInput;
    const unknown = Object.keys(rest).find((member) => headerOf[member] === undefined);
    if (unknown !== undefined) throw new Error(`The member ${unknown} of ${name} is not in this bundle.`);
    if (!plainKey.test(key)) throw new Error(`The key ${key} is not in this bundle.`);
    const path = pathOf(bucket, !isConfigured, key);
    if (name === "GetObject") return { method: "GET", path, query: { "x-id": name }, headers: {} };
    const headers: Record<string, string> = {};
    for (const [member, value] of Object.entries(rest)) headers[headerOf[member] ?? ""] = String(value);
    // A bucket that locks its objects takes none without a checksum.
    headers["x-amz-checksum-sha256"] = createHash("sha256")
      .update(body ?? "")
      .digest("base64");
    return { method: "PUT", path, query: { "x-id": name }, headers, body: body ?? new Uint8Array() };
  },

  /** The answer to an operation. @throws the error that S3 answered, by the name that it gives it */
  async read({ name }: { readonly name: string }, answer: Answer): Promise<Data> {
    const bytes = Buffer.concat(await answer.body.toArray());
    const { statusCode: httpStatusCode, headers } = answer;
    const $metadata = {
      httpStatusCode,
      requestId: headers["x-amz-request-id"],
      extendedRequestId: headers["x-amz-id-2"],
    };
    if (httpStatusCode >= 300) throw errorOf(answer, bytes.toString(), $metadata);
    if (name !== "GetObject") return { $metadata };
    return { Body: { transformToByteArray: async () => new Uint8Array(bytes) }, $metadata };
  },
};

function errorOf(answer: Answer, text: string, $metadata: Data): Error {
  const member = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  return restError(answer, member("Code"), member("Message"), $metadata);
}

const service = restService({
  id: "S3",
  host: "s3",
  protocol,
  hostOf: (input, host) => `${String(input["Bucket"])}.${host}`,
});

/**
 * Takes the place of the published client of S3, which is 420 KB in a bundle: it puts an object whole and reads one,
 * with the signatures, retries and errors of the other clients. Left out: everything else of S3.
 */
export class S3Client extends JsonClient {
  constructor(settings?: ConstructorParameters<typeof JsonClient>[1]) {
    super(service, settings);
  }
}

/** Puts an object. */
export class PutObjectCommand extends RestCommand<ObjectInput> {
  readonly operation = { name: "PutObject" } as Command["operation"];
}

/** Reads an object; `Body.transformToByteArray()` resolves with its content. */
export class GetObjectCommand extends RestCommand<ObjectInput> {
  readonly operation = { name: "GetObject" } as Command["operation"];
}
