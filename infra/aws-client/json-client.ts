import { release } from "node:os";
import { retryMiddleware, StandardRetryStrategy } from "@smithy/core/retry";
import { type Answer, HttpHandler, type HttpRequest } from "./http-handler.ts";
import type { OperationFacts } from "./json-operations.ts";
import { type Data, type ErrorRegistries, JsonProtocol, type Message } from "./json-protocol.ts";
import { regionalEndpoint } from "./regional-endpoint.ts";
import { type Credentials, signed } from "./request-signature.ts";

/** The service that a client calls, and how it calls it. */
export interface Service {
  /** Its name in variables of the environment and in user agents: `Secrets Manager`. */
  readonly id: string;
  /** First label of its host names, and its name in signatures. */
  readonly host: string;
  /** Prefix of operations; none where each has an address of its own. */
  readonly target?: string;
  /** Version of AWS JSON. */
  readonly json?: "1.0" | "1.1";
  /** Whether errors also bear the codes of the older query protocol. */
  readonly query: boolean;
  /** Tries of a request, and what the first pause between two is about. */
  readonly attempts: number;
  readonly delay_ms: number;
  /** Version of the client that this one stands in for. */
  readonly version: string;
  readonly errors: ErrorRegistries;
  /** The hash that the service returns of a message. */
  readonly md5?: unknown;
  /** How a service talks that does not speak JSON. */
  readonly protocol?: Protocol;
  /** The host of what a request is about, where it has one of its own below that of the service. */
  readonly hostOf?: (input: Data, host: string) => string;
}

/** Makes the requests of a service and reads its answers. */
interface Protocol {
  /** `isConfigured`: the address is one that the client or the environment sets, so nothing has a host of its own. */
  readonly request: (operation: Operation, input: Data, address: { readonly isConfigured: boolean }) => Message;
  readonly read: (operation: Operation, answer: Answer) => Promise<Data>;
}

type Provided<T> = T | (() => T | Promise<T>);

/** Settings of a client; the rest of the SDK's settings is refused. */
interface Settings {
  readonly region?: Provided<string>;
  readonly endpoint?: Provided<string | URL>;
  readonly credentials?: Provided<Credentials>;
  readonly maxAttempts?: Provided<number>;
  readonly requestHandler?: Parameters<typeof HttpHandler.create>[0];
}

/** A client's settings as it uses them. `translateConfig` is set by a client of documents. */
interface Config extends Omit<Settings, "requestHandler" | "credentials"> {
  readonly credentials: () => Promise<Credentials>;
  readonly requestHandler: HttpHandler;
  readonly endpointProvider: ReturnType<typeof regionalEndpoint>;
  readonly md5: unknown;
  /** How far the clock of the service is ahead of this one, in milliseconds. */
  systemClockOffset: number;
  translateConfig?: object;
}

/** Options of a call besides its command. */
interface CallOptions {
  readonly abortSignal?: AbortSignal;
  readonly requestTimeout?: number;
}

interface Operation {
  readonly name: string;
  readonly traits: OperationFacts;
}

interface Call {
  readonly input: Data;
  readonly request?: HttpRequest;
}

interface Done {
  readonly response: Answer;
  readonly output: Data;
}

type Handler = (call: Call) => Promise<Done>;
type Middleware = (next: Handler, context: object) => Handler;

interface Plugin {
  readonly applyToStack: (stack: { readonly add: (middleware: Middleware, at: { step?: string }) => void }) => void;
}

type PluginsOf = (...given: unknown[]) => readonly Plugin[];

/** An operation with its input, as {@link command} makes its class. */
export abstract class Command {
  abstract readonly input: Data;
  abstract readonly operation: Operation;
  abstract readonly plugins: PluginsOf;
}

/** A command in which another one stands, whose values are converted on their way. */
interface Translated {
  readonly clientCommand: Command;
  readonly marshalled: (config: Config) => Data;
  readonly unmarshalled: (output: Data, config: Config) => Data;
}

/** Takes the place of what makes the classes of commands. The schema is that of `json-operations.ts`. */
export function command(_endpoint: unknown, plugins: PluginsOf, _name: string, schema: readonly unknown[]) {
  const [, , name, traits] = schema as readonly [unknown, unknown, string, OperationFacts];
  return class extends Command {
    readonly input: Data;
    readonly operation = { name, traits };
    readonly plugins = plugins;

    constructor(input: Data = {}) {
      super();
      this.input = input;
    }
  };
}

/**
 * Takes the place of a client, whose settings pass through ten functions and each of whose calls through a stack of
 * sixteen middlewares that is put together anew: half of what is bundled, and a third of what a first call costs. Here
 * a call is made, signed, sent, read and tried again in a row, by the SDK's own retries. Left out: callbacks, settings
 * in files, defaults modes, adaptive retries, retries and signers of one's own, extensions, logs.
 */
export class JsonClient {
  readonly config: Config;
  readonly #service: Service;
  readonly #protocol: Protocol;
  readonly #agent: string;
  #retries: { readonly attempts: number; readonly strategy: StandardRetryStrategy } | undefined;

  constructor(service: Service, settings: Settings = {}) {
    const unknown = Object.keys(settings).find((name) => !known.has(name));
    if (unknown !== undefined) throw new Error(`The setting ${unknown} is not in this bundle.`);
    for (const [name, only] of Object.entries(usualModes)) {
      if ((process.env[name] || only) !== only) throw new Error(`${name}=${process.env[name]} is not in this bundle.`);
    }
    this.#service = service;
    this.#protocol = service.protocol ?? new JsonProtocol(service);
    this.#agent = userAgent(service);
    this.config = {
      ...settings,
      credentials: credentialsOf(settings),
      requestHandler: HttpHandler.create(settings.requestHandler),
      endpointProvider: regionalEndpoint(service.host),
      md5: service.md5,
      systemClockOffset: 0,
    };
  }

  /**
   * Sends a command and resolves with its answer.
   * @throws the service's error, Node's for a connection that fails, `AbortError` or `TimeoutError`
   */
  async send(command: Command | Translated, options: CallOptions = {}): Promise<Data> {
    if (typeof options === "function") throw new Error("Callbacks are not in this bundle.");
    const { config } = this;
    const translated = "clientCommand" in command ? command : undefined;
    const { input, operation, plugins } = translated?.clientCommand ?? (command as Command);
    const context = { __smithy_context: options };
    const middlewares: Middleware[] = [];
    for (const plugin of plugins(undefined, undefined, config, options)) {
      plugin.applyToStack({
        add: (middleware, { step }) => {
          if (step !== "initialize") throw new Error(`A plugin of the step ${step} is not in this bundle.`);
          middlewares.push(middleware);
        },
      });
    }
    const call: Handler = (each) => this.#call(operation, translated?.marshalled(config) ?? each.input, context);
    const { output } = await middlewares.reduceRight((next, around) => around(next, context), call)({ input });
    return translated?.unmarshalled(output, config) ?? output;
  }

  /** Closes the connections that are kept. */
  destroy(): void {
    this.config.requestHandler.destroy();
  }

  async #call(operation: Operation, input: Data, context: { __smithy_context: CallOptions }): Promise<Done> {
    const region = await this.#region();
    const credentials = await this.config.credentials();
    const { url, isConfigured } = await this.#address(region, input);
    const message = this.#protocol.request(operation, input, { isConfigured });
    const request: HttpRequest = {
      ...message,
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port !== "" && { port: Number(url.port) }),
      path: url.pathname.replace(/\/$/, "") + message.path,
      headers: { ...message.headers, ...this.#commonHeaders(url, message.body) },
    };
    const attempt: Handler = async ({ request: tried = request }) => {
      const [before, sentAt] = [this.config.systemClockOffset, Date.now()];
      const scope = { region, service: this.#service.host, at: new Date(sentAt + before) };
      const sent = { ...tried, headers: signed(tried, credentials, scope) };
      try {
        const response = await this.config.requestHandler.handle(sent, context.__smithy_context);
        const output = await this.#protocol.read(operation, response);
        this.#compareClocks(response, sentAt);
        return { response, output };
      } catch (error) {
        this.#explainByClock(error as ServiceError, before, sentAt);
        throw error;
      }
    };
    const { attempts, strategy } = await this.#triedAgain();
    const options = { retryStrategy: async () => strategy, maxAttempts: async () => attempts };
    return (retryMiddleware as Retry)(options)(attempt, context)({ input, request });
  }

  #commonHeaders({ host }: URL, body: Message["body"]): Record<string, string> {
    const { AWS_LAMBDA_FUNCTION_NAME: functionName, _X_AMZN_TRACE_ID: trace } = process.env;
    return {
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
      host,
      "user-agent": this.#agent,
      "x-amz-user-agent": `aws-sdk-js/${this.#service.version}`,
      ...(functionName && trace && { "X-Amzn-Trace-Id": trace }),
    };
  }

  /** @throws Error when there is none, or one that is no part of a host name */
  async #region(): Promise<string> {
    const region = (await provided(this.config.region)) ?? process.env["AWS_REGION"];
    if (!region) throw new Error("Region is missing");
    if (/^(?!-)[a-z0-9-]{1,63}(?<!-)$/i.test(region)) return region;
    throw new Error(`Region not accepted: region="${region}" is not a valid hostname component.`);
  }

  /** The address that the client or the environment sets, a queue's own, or the service's in this region. */
  async #address(region: string, input: Data): Promise<{ readonly url: URL; readonly isConfigured: boolean }> {
    const { env } = process;
    const given = await provided(this.config.endpoint);
    const variable = `AWS_ENDPOINT_URL_${this.#service.id.replace(/ /g, "_").toUpperCase()}`;
    const configured =
      env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] !== "true" && (env[variable] || env["AWS_ENDPOINT_URL"]);
    const { url } = this.config.endpointProvider({
      Region: region,
      UseFIPS: env["AWS_USE_FIPS_ENDPOINT"] === "true",
      UseDualStack: env["AWS_USE_DUALSTACK_ENDPOINT"] === "true",
      ...((given ?? (configured || undefined)) !== undefined && { Endpoint: String(given ?? configured) }),
    });
    const isConfigured = given !== undefined || Boolean(configured);
    const { hostOf } = this.#service;
    if (hostOf !== undefined && !isConfigured) url.host = hostOf(input, url.host);
    const queue = given === undefined ? input["QueueUrl"] : undefined;
    return { url: typeof queue === "string" ? new URL(new URL(queue).origin) : url, isConfigured };
  }

  async #triedAgain() {
    if (this.#retries === undefined) {
      const { attempts, delay_ms: baseDelay } = this.#service;
      const inEnvironment = Number.parseInt(process.env["AWS_MAX_ATTEMPTS"] ?? "", 10);
      const usual = Number.isNaN(inEnvironment) ? attempts : inEnvironment;
      const maxAttempts = (await provided(this.config.maxAttempts)) ?? usual;
      this.#retries ??= { attempts: maxAttempts, strategy: new StandardRetryStrategy({ maxAttempts, baseDelay }) };
    }
    return this.#retries;
  }

  #compareClocks({ headers }: Answer, sentAt: number): void {
    const at = Date.parse(headers["date"] ?? "");
    const now = Date.now();
    if (Number.isNaN(at) || headers["age"] !== undefined || now - sentAt > maxAge_ms) return;
    this.config.systemClockOffset = at - now;
  }

  /** An error of a request whose signature was of another time is worth another try with the service's. */
  #explainByClock(error: ServiceError, before: number, sentAt: number): void {
    const response = error.$response;
    if (response?.headers["date"] === undefined) return;
    this.#compareClocks(response, sentAt);
    const { systemClockOffset: offset } = this.config;
    if (Math.abs(offset) < skew_ms || offset === before || error.$metadata === undefined) return;
    error.$metadata["clockSkewCorrected"] = true;
  }
}

interface ServiceError extends Error {
  readonly $response?: Answer;
  readonly $metadata?: Data;
}

type Retry = (options: object) => (next: Handler, context: object) => Handler;

const known = new Set(["region", "endpoint", "credentials", "maxAttempts", "requestHandler"]);

/** Variables of the environment by which the SDK would choose other retries and other times to wait. */
const usualModes = {
  AWS_RETRY_MODE: "standard",
  AWS_DEFAULTS_MODE: "legacy",
  AWS_ENABLE_DEFAULT_SOCKET_TIMEOUT_2026: "false",
} as const;

/** Clocks may differ by as much before a signature is refused, and an answer may take as long to tell the time. */
const [skew_ms, maxAge_ms] = [240_000, 900_000];

async function provided<T>(given: Provided<T> | undefined): Promise<T | undefined> {
  return typeof given === "function" ? (given as () => T | Promise<T>)() : given;
}

/** Those of the client, asked for each time, or those of the environment, which are read once. */
function credentialsOf({ credentials: given }: Settings): () => Promise<Credentials> {
  if (given !== undefined) return async () => (await provided(given)) as Credentials;
  let own: Credentials | undefined;
  return async () => {
    own ??= environmentCredentials();
    return own;
  };
}

/** Credentials of a function's role: the only place where one gets them. @throws Error when there are none */
function environmentCredentials(): Credentials {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error("The environment holds no AWS credentials.");
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** Caller as AWS sees it; letters that a product may not have become hyphens (RFC 9110 10.1.5). */
function userAgent({ id, version }: Service): string {
  const { AWS_EXECUTION_ENV: where } = process.env;
  const words = [`aws-sdk-js/${version}`, "ua/2.1", `os/${process.platform}#${release()}`, "lang/js"];
  words.push(`md/nodejs#${process.versions.node}`, `api/${id.replace(/ /g, "_").toLowerCase()}#${version}`);
  if (where) words.push(`exec-env/${where}`);
  return words.map((word) => word.replace(/[^!$%&'*+\-./^_`|~\d\w#]/g, "-")).join(" ");
}
