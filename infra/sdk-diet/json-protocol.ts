import { randomUUID } from "node:crypto";
import { decorateServiceException } from "@smithy/core/client";
import { HttpRequest } from "@smithy/core/transport";
import type { ErrorFacts, MemberPath, OperationFacts } from "./json-operations.ts";

type Data = Record<string, unknown>;
type Headers = Record<string, string | undefined>;

interface Settings {
  readonly serviceTarget: string;
  readonly awsQueryCompatible?: boolean;
  /** The error class of the client and what is known of its errors; the stand-in of the schemas says so. */
  readonly errorTypeRegistries: readonly [ErrorClass, ErrorFacts];
}

type ErrorClass = new (options: { readonly name: string; readonly $fault: "client" | "server" }) => Error & Data;

interface Operation {
  readonly name: string;
  readonly traits: OperationFacts;
}

interface Answer {
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Surroundings {
  readonly endpoint: () => Promise<Endpoint>;
  readonly streamCollector: (stream: unknown) => Promise<Uint8Array>;
}

interface Endpoint {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Record<string, string>;
}

/**
 * Takes the place of the protocol that goes through every request and answer member by member, comparing it with its
 * schema: 45 KB, and most of what the first list of an environment costs. The services that functions call speak plain
 * JSON (AWS JSON 1.0 and 1.1), in which but binary values, moments and tokens are what they are in the program; for
 * those each operation brings what its schema says (`json-operations.ts`).
 */
class JsonProtocol {
  readonly #settings: Settings;
  readonly #version: string;

  constructor(settings: Settings, version: string) {
    this.#settings = settings;
    this.#version = version;
  }

  setSerdeContext(): void {}

  /** The request of an operation. @throws Error when its request can hold what plain JSON does not carry */
  async serializeRequest(operation: Operation, input: Data | undefined, { endpoint }: Surroundings): Promise<unknown> {
    const { tokens, unspoken } = operation.traits;
    if (unspoken) throw new Error(`${operation.name} is not in this bundle.`);
    const body: Data = { ...input };
    for (const name of tokens) body[name] ??= randomUUID();
    const { protocol, hostname, port, path, query } = await endpoint();
    const headers: Record<string, string> = {
      "content-type": `application/x-amz-json-${this.#version}`,
      "x-amz-target": `${this.#settings.serviceTarget}.${operation.name}`,
    };
    if (this.#settings.awsQueryCompatible) headers["x-amzn-query-mode"] = "true";
    return new HttpRequest({
      method: "POST",
      protocol,
      hostname,
      ...(port === undefined ? {} : { port: Number(port) }),
      path: path.endsWith("/") ? path : `${path}/`,
      query: { ...query },
      headers,
      body: Buffer.from(JSON.stringify(body, written)),
    });
  }

  /** The answer to an operation. @throws the error that the service answered, with what it tells of it */
  async deserializeResponse(operation: Operation, surroundings: Surroundings, answer: Answer): Promise<Data> {
    const text = await textOf(answer, surroundings);
    const data: Data = text === "" ? {} : JSON.parse(text);
    const $metadata = metadataOf(answer.headers, answer.statusCode);
    const failed = answer.statusCode >= 300;
    const { dates, blobs, attributes } = operation.traits;
    // Names and values of attributes are quoted, so this text stands only where a binary value is.
    if ((attributes || failed) && /"B":"|"BS":\[/.test(text)) readBinary(data);
    if (failed) throw this.#errorOf(answer, data, $metadata);
    for (const path of dates) replaceAt(data, path, (seconds) => new Date(Number(seconds) * 1000));
    for (const path of blobs) replaceAt(data, path, fromBase64);
    for (const name in data) if (data[name] === null) delete data[name];
    return { ...data, $metadata };
  }

  #errorOf(answer: Answer, data: Data, $metadata: Data): Error {
    const [Base, { retryable, codes }] = this.#settings.errorTypeRegistries;
    const query = this.#settings.awsQueryCompatible === true;
    if (query) tellQueryError(data, answer.headers["x-amzn-query-error"]);
    const code = errorCode(answer.headers, data, query);
    const name = codes[code] ?? code;
    const $fault = answer.statusCode < 500 ? "client" : "server";
    const message = data["message"] ?? data["Message"] ?? "UnknownError";
    const error = Object.assign(new Base({ name, $fault }), { $metadata, message: String(message) });
    if (retryable.includes(name)) error["$retryable"] = {};
    if (query && $metadata["requestId"]) error["RequestId"] = $metadata["requestId"];
    return decorateServiceException(error as never, data);
  }
}

/** AWS JSON 1.0, which DynamoDB and SQS speak. */
export class AwsJson1_0Protocol extends JsonProtocol {
  constructor(settings: Settings) {
    super(settings, "1.0");
  }
}

/** AWS JSON 1.1, which Secrets Manager speaks. */
export class AwsJson1_1Protocol extends JsonProtocol {
  constructor(settings: Settings) {
    super(settings, "1.1");
  }
}

/** Bytes travel as base64; what is null is not sent. */
function written(_name: string, value: unknown): unknown {
  if (value === null) return undefined;
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

async function textOf({ body }: Answer, { streamCollector }: Surroundings): Promise<string> {
  if (body === undefined) return "";
  const bytes = body instanceof Uint8Array ? body : await streamCollector(body);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

function metadataOf(headers: Headers, httpStatusCode: number): Data {
  return {
    httpStatusCode,
    requestId: headers["x-amzn-requestid"] ?? headers["x-amzn-request-id"] ?? headers["x-amz-request-id"],
    extendedRequestId: headers["x-amz-id-2"],
    cfId: headers["x-amz-cf-id"],
  };
}

function fromBase64(text: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(String(text), "base64"));
}

/** Binary attribute values become bytes wherever they are. */
function readBinary(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const members = value as Data;
  for (const name in members) {
    const member = members[name];
    if (name === "B" && typeof member === "string") members[name] = fromBase64(member);
    else if (name === "BS" && Array.isArray(member)) members[name] = member.map(fromBase64);
    else readBinary(member);
  }
}

function replaceAt(value: unknown, [name, ...rest]: MemberPath, read: (value: unknown) => unknown): void {
  if (typeof value !== "object" || value === null || name === undefined) return;
  const members = value as Data;
  for (const key of name === "*" ? Object.keys(members) : [name]) {
    const member = members[key];
    if (rest.length > 0) replaceAt(member, rest, read);
    else if (member !== undefined && member !== null) members[key] = read(member);
  }
}

/** What a queue says in a header beside its answer: the code and the fault of the older protocol. */
function tellQueryError(data: Data, header: string | undefined): void {
  const { message, Message = message, __type, ...told } = data;
  if (header === undefined) {
    data["Error"] = { Code: undefined, Type: undefined, Message: data["Message"] };
    return;
  }
  const [Code, Type] = header.split(";");
  Object.assign(data, { Code, Type, Error: { Code, Type, ...told, Message } });
}

function errorCode(headers: Headers, data: Data, query: boolean): string {
  const inData = Object.entries(data).find(([name]) => name.toLowerCase() === "code")?.[1];
  const inHeader = headers["x-amzn-errortype"];
  const type = data["__type"];
  const [code] = (query ? [inData, inHeader, type] : [type, inData, inHeader]).filter((each) => each !== undefined);
  const [plain = ""] = String(code ?? "Unknown").split(/[,:]/);
  return plain.split("#")[1] ?? plain;
}
