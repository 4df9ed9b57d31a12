import type { Answer } from "./http-handler.ts";
import { Command, type JsonClient } from "./json-client.ts";
import type { Data } from "./json-protocol.ts";

type Service = ConstructorParameters<typeof JsonClient>[0];

interface RestFacts {
  readonly id: string;
  readonly host: string;
  readonly protocol: unknown;
  /** The host that an input is sent to. */
  readonly hostOf?: (input: Data, host: string) => string;
}

/** A service that speaks no JSON protocol, in the form of those that do, with their version and retries. */
export function restService(facts: RestFacts): Service {
  const retries = { query: false, attempts: 3, delay_ms: 50, errors: [Error, { retryable: [], codes: {} }] };
  return { ...facts, ...retries, version: "3.1162.0" } as unknown as Service;
}

/** The error of a service for a call that failed, in the form of the published clients. */
export function restError(answer: Answer, name: unknown, message: unknown, $metadata: Data): Error {
  const error = new Error(String(message ?? "UnknownError"));
  error.name = String(name ?? "Unknown");
  Object.defineProperty(error, "$response", { value: answer });
  return Object.assign(error, { $fault: answer.statusCode < 500 ? "client" : "server", $metadata });
}

/**
 * The metadata of an answer whose body is read and not used.
 * @throws the error that a service with REST JSON answered, by the name that it gives it
 */
export async function restMetadata(answer: Answer): Promise<Data> {
  const text = Buffer.concat(await answer.body.toArray()).toString();
  const { statusCode: httpStatusCode, headers } = answer;
  const $metadata = { httpStatusCode, requestId: headers["x-amzn-requestid"] };
  if (httpStatusCode < 300) return $metadata;
  const data: Data = text.startsWith("{") ? JSON.parse(text) : {};
  const [name = ""] = String(headers["x-amzn-errortype"] ?? data["__type"] ?? "Unknown").split(":");
  throw restError(answer, name.split("#").at(-1), data["message"] ?? data["Message"], $metadata);
}

/** A command of a service whose operations have a name alone. */
export abstract class RestCommand<Input extends Data> extends Command {
  readonly input: Data;
  readonly plugins = () => [];

  constructor(input: Input) {
    super();
    this.input = input;
  }
}
