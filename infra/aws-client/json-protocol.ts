import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { decorateServiceException } from "@smithy/core/client";
import type { Answer } from "./http-handler.ts";
import type { ErrorFacts, HttpFacts, MemberPath, OperationFacts } from "./json-operations.ts";
import { encoded } from "./request-signature.ts";

/** An object as JSON has it. */
export type Data = Record<string, unknown>;
type Headers = Answer["headers"];

/** The error class of the client and what is known of its errors; the stand-in of the schemas says so. */
export type ErrorRegistries = readonly [ErrorClass, ErrorFacts];

interface ServiceProtocol {
  /** Prefix of operations; none where each has an address of its own. */
  readonly target?: string;
  readonly json?: string;
  readonly query: boolean;
  readonly errors: ErrorRegistries;
}

type ErrorClass = new (options: { readonly name: string; readonly $fault: "client" | "server" }) => Error & Data;

interface Operation {
  readonly name: string;
  readonly traits: OperationFacts;
}

/** Message of an operation with its input. */
export interface Message {
  readonly method: string;
  /** Below the address of the service. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/**
 * AWS JSON 1.0 and 1.1, and AWS REST JSON as API Gateway speaks it. Replaces the published protocol, which compares
 * every member of a request and of an answer with its schema: 45 KB, and most of the time of the first list in an
 * environment. The services that functions call send everything but binary values, timestamps and idempotency tokens as
 * plain JSON; for those three each operation carries what its schema says (`json-operations.ts`).
 */
export class JsonProtocol {
  readonly #service: ServiceProtocol;

  constructor(service: ServiceProtocol) {
    this.#service = service;
  }

  /** The message of an operation. @throws Error when its request can hold what this protocol does not carry */
  request({ name, traits }: Operation, input: Data): Message {
    const { tokens, unsupported, http } = traits;
    if (unsupported) throw new Error(`${name} is not in this bundle.`);
    if (http !== undefined) return addressed(http, input);
    const body: Data = { ...input };
    for (const token of tokens) body[token] ??= randomUUID();
    const { json, target, query } = this.#service;
    const headers: Record<string, string> = {
      "content-type": `application/x-amz-json-${json}`,
      "x-amz-target": `${target}.${name}`,
    };
    if (query) headers["x-amzn-query-mode"] = "true";
    return { method: "POST", path: "/", query: {}, headers, body: jsonOf(body) };
  }

  /** The answer to an operation. @throws the error that the service answered, with what it tells of it */
  async read(operation: Operation, answer: Answer): Promise<Data> {
    try {
      return this.#read(operation, answer, await textOf(answer.body));
    } catch (error) {
      throw withAnswer(error as Error, answer);
    }
  }

  #read({ traits }: Operation, answer: Answer, text: string): Data {
    const data: Data = text === "" ? {} : JSON.parse(text);
    const $metadata = metadataOf(answer.headers, answer.statusCode);
    const failed = answer.statusCode >= 300;
    const { dates, blobs, attributes, http } = traits;
    // Names and values of attributes are quoted, so this text stands only where a binary value is.
    if ((attributes || failed) && /"BS?"\s*:/.test(text)) readBinary(data);
    if (failed) throw this.#errorOf(answer, data, $metadata);
    for (const [name, own] of Object.entries(http?.names ?? {})) {
      if (data[name] !== undefined) data[own] = data[name];
      delete data[name];
    }
    for (const path of dates) replaceAt(data, path, (seconds) => new Date(Number(seconds) * 1000));
    for (const path of blobs) replaceAt(data, path, fromBase64);
    for (const name in data) if (data[name] === null) delete data[name];
    return { ...data, $metadata };
  }

  #errorOf(answer: Answer, data: Data, $metadata: Data): Error {
    const {
      query,
      errors: [Base, { retryable, codes }],
    } = this.#service;
    if (query) addQueryError(data, answer.headers["x-amzn-query-error"]);
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

/** A request of AWS REST JSON: members in its path and its parameters, the others in its body. */
function addressed({ method, path, query: names, body: hasBody }: HttpFacts, input: Data): Message {
  const rest: Data = { ...input };
  const query: Record<string, string> = {};
  for (const [member, name] of Object.entries(names)) {
    if (rest[member] !== undefined && rest[member] !== null) query[name] = String(rest[member]);
    delete rest[member];
  }
  const named = path.replace(/\{(\w+)\}/g, (_, member: string) => {
    const value = rest[member];
    delete rest[member];
    // Without it the address would be that of another resource.
    if (typeof value !== "string" || value === "")
      throw new Error(`No value provided for input HTTP label: ${member}.`);
    return encoded(value);
  });
  const headers: Record<string, string> = { accept: "application/json" };
  if (!hasBody) return { method, path: named, query, headers };
  headers["content-type"] = "application/json";
  return { method, path: named, query, headers, body: jsonOf(rest) };
}

function jsonOf(data: Data): string {
  return JSON.stringify(sendable(data));
}

/**
 * A value without bytes and nulls: bytes travel as base64, and what is null is not sent. Only what holds one of them is
 * copied: a replacer of JSON.stringify, which is called for each member, takes longer than all the rest.
 */
function sendable(value: unknown): unknown {
  if (typeof value !== "object") return value;
  if (value === null) return undefined;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  let copy: Data | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name as keyof typeof value] as unknown;
    if (typeof member !== "object") continue;
    const sent = sendable(member);
    if (sent === member) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Data;
    copy[name] = sent;
  }
  return copy ?? value;
}

function textOf(body: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    body.on("data", (chunk: Buffer) => chunks.push(chunk));
    body.on("error", reject);
    body.on("end", () => resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()));
  });
}

/** An error with the answer that caused it, and a hint on how to see the answer where the service named no error. */
function withAnswer(error: Error, answer: Answer): Error {
  Object.defineProperty(error, "$response", { value: answer });
  if ("$metadata" in error) return error;
  const hint =
    "Deserialization error: to see the raw response, inspect the hidden field {error}.$response on this object.";
  error.message += `\n  ${hint}`;
  const header = (pattern: RegExp) => Object.entries(answer.headers).find(([name]) => pattern.test(name))?.[1];
  const $metadata = {
    httpStatusCode: answer.statusCode,
    requestId: header(/^x-[\w-]+-request-?id$/),
    extendedRequestId: header(/^x-[\w-]+-id-2$/),
    cfId: header(/^x-[\w-]+-cf-id$/),
  };
  return Object.assign(error, { $metadata });
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

/** Adds the code and the fault of the query protocol, which SQS sends in a header. */
function addQueryError(data: Data, header: string | undefined): void {
  const { message, Message = message, __type, ...details } = data;
  if (header === undefined) {
    data["Error"] = { Code: undefined, Type: undefined, Message: data["Message"] };
    return;
  }
  const [Code, Type] = header.split(";");
  Object.assign(data, { Code, Type, Error: { Code, Type, ...details, Message } });
}

function errorCode(headers: Headers, data: Data, query: boolean): string {
  const inData = Object.entries(data).find(([name]) => name.toLowerCase() === "code")?.[1];
  const inHeader = headers["x-amzn-errortype"];
  const type = data["__type"];
  const [code] = (query ? [inData, inHeader, type] : [type, inData, inHeader]).filter((each) => each !== undefined);
  const [plain = ""] = String(code ?? "Unknown").split(/[,:]/);
  return plain.split("#")[1] ?? plain;
}
