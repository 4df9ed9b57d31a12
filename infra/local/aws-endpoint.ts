import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AwsError, accessDenied } from "./aws-error.ts";
import type { Incoming, Plan, Reply, Service } from "./aws-plan.ts";
import type { Buckets } from "./buckets/buckets.ts";
import { bucketError, bucketPlan, isForBuckets } from "./buckets/plan.ts";
import { checkQuerySignature, credentialIn } from "./buckets/query-signature.ts";
import type { DynamoEndpoint } from "./dynamodb/endpoint.ts";
import { FunctionCrash, FunctionTimeout } from "./functions/environment.ts";
import type { FunctionDefinition, Functions } from "./functions/functions.ts";
import type { ApiKeys } from "./gateway/api-keys.ts";
import type { Access, Permissions } from "./iam/permissions.ts";
import type { RequestLogs } from "./logs/request-logs.ts";
import type { PoolAdmin } from "./pool/admin.ts";
import type { Queues } from "./queues/queues.ts";
import { readBody } from "./request-body.ts";
import { type Secrets, secretOperations } from "./secrets/secrets.ts";
import { connectionPlan, isForConnections } from "./socket/plan.ts";
import type { LocalSockets } from "./socket/server.ts";
import type { Placement } from "./template/assembly.ts";
import { isRecord } from "./template/intrinsics.ts";

/** A call of a function, as a test sees it before it is done and after it was done but before the function knows. */
export interface AwsCall {
  readonly phase: "before" | "after";
  readonly functionName: string;
  readonly service: Service;
  /** `TransactWriteItems`, or method and path for API Gateway. */
  readonly action: string;
  /** Number of the call in the function's request, from 0. */
  readonly index: number;
  readonly body: unknown;
  /** Answer of the service, after the call. */
  readonly answer?: string;
  /** Kills the function's process, as a crash would. */
  kill(): void;
}

/** A call that was refused: the function, and the action and resource that its role does not allow. */
export interface DeniedCall extends Access {
  readonly functionName: string;
}

/** Parts of the runner behind the endpoint. */
export interface AwsEndpointOptions extends Placement {
  readonly permissions: Permissions;
  readonly dynamodb: DynamoEndpoint;
  readonly secrets: Secrets;
  readonly apiKeys: ApiKeys;
  readonly queues: Queues;
  readonly buckets: Buckets;
  readonly logs: RequestLogs;
  /** Control plane of the user pool, where the template has one. */
  readonly pool: PoolAdmin | undefined;
  /** Connections of the WebSocket API, where the template has one. */
  readonly sockets: LocalSockets | undefined;
  /** Given late, since functions need the endpoint's address. */
  readonly functions: () => Functions;
  readonly onCall?: ((call: AwsCall) => void | Promise<void>) | undefined;
  /** Told about each call that a role does not allow. */
  readonly onDenied?: ((denied: DeniedCall) => void) | undefined;
}

interface Caller {
  readonly definition: FunctionDefinition;
  readonly index: number;
  kill(): void;
}

const maxBodyBytes = 41 * 1_048_576;

/**
 * The one address that functions reach AWS at. Knows the function by its access key, refuses what its role in the
 * template does not allow, and passes the rest on.
 */
export class AwsEndpoint {
  private readonly options: AwsEndpointOptions;
  private readonly server: Server;
  private callers: ReadonlyMap<string, FunctionDefinition> | undefined;
  /** Drawn for this run: what is started by it gets access keys that are made from it. */
  private readonly runKey = randomBytes(32);
  private host = "";

  constructor(options: AwsEndpointOptions) {
    this.options = options;
    this.server = createServer((request, response) => {
      this.handle(request, response).catch((error: unknown) => response.destroy(asError(error)));
    });
  }

  /** Listens on a free port of the loopback and returns the origin. */
  async start(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = this.server.address() as AddressInfo;
    this.host = `127.0.0.1:${port}`;
    return `http://${this.host}`;
  }

  /** Secret access key of this run: what signs and checks addresses. */
  get secretKey(): string {
    return createHmac("sha256", this.runKey).update("secret").digest("hex");
  }

  /**
   * Access key id of this run, which tells the endpoint who calls: of a function by its ARN, or of the `operator`, the
   * person who runs all this. That one may invoke functions and use buckets, as an operator with rights in AWS may.
   */
  accessKeyOf(holder: string): string {
    const digest = createHmac("sha256", this.runKey).update(holder).digest("hex");
    return `AKIALOCAL${digest.slice(0, 32).toUpperCase()}`;
  }

  /** Stops listening and drops what is open. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID().replaceAll("-", "");
    const json = request.headers["x-amz-target"] !== undefined;
    const forBuckets = isForBuckets(request);
    const failed = (error: unknown) => (forBuckets ? bucketError(awsError(error)) : errorReply(error, json));
    const reply = await this.reply(request).catch(failed);
    const type = json ? "application/x-amz-json-1.0" : "application/json";
    response.writeHead(reply.status, { "content-type": type, "x-amzn-requestid": requestId, ...reply.headers });
    response.end(reply.body);
  }

  private async reply(request: IncomingMessage): Promise<Reply> {
    const { host, origin } = request.headers;
    const incoming = await readRequest(request);
    const isSignedAddress = credentialIn(incoming.url) !== undefined;
    if (isSignedAddress) checkQuerySignature(incoming, this.secretKey, Date.now());
    // A page in the person's browser reaches the loopback too, and a name of its own may lead there. An address that is
    // signed is for any holder of it.
    if (host !== this.host || (origin !== undefined && !isSignedAddress)) {
      throw new AwsError(403, "AccessDeniedException", "The request comes from a page, or was sent to another host.");
    }
    const caller = this.callerOf(incoming);
    const plan = this.plan(incoming);
    if (caller === undefined) {
      const isOperator = accessKeyIn(incoming) === this.accessKeyOf("operator");
      if (isOperator && (plan.service === "lambda" || plan.service === "s3")) return plan.do();
      throw new AwsError(403, "UnrecognizedClientException", "The security token included in the request is invalid.");
    }
    await this.check(caller.definition, plan, plan.access);
    await this.tell("before", caller, plan);
    const reply = await plan.do();
    // S3 refuses those who may not list a bucket what is not in it, so that they learn nothing.
    if (reply.status === 404 && plan.mayKnow) await this.check(caller.definition, plan, [plan.mayKnow]);
    await this.tell("after", caller, plan, reply);
    return reply;
  }

  /** The function that calls; undefined for anybody else. */
  private callerOf(incoming: Incoming): Caller | undefined {
    const { headers } = incoming;
    const functions = this.options.functions();
    this.callers ??= new Map(
      functions.definitions.map((definition) => [this.accessKeyOf(definition.arn), definition] as const),
    );
    const definition = this.callers.get(accessKeyIn(incoming));
    if (definition === undefined) return undefined;
    const environment = functions.environmentOf(headers["x-amz-security-token"] ?? "");
    const index = environment?.calls ?? 0;
    if (environment !== undefined) environment.calls += 1;
    return { definition, index, kill: () => environment?.kill() };
  }

  private async check({ name, role_arn }: FunctionDefinition, { service }: Plan, access: readonly Access[]) {
    for (const one of access) {
      const decision = await this.options.permissions.decide(role_arn, name, one);
      if (decision.allowed) continue;
      this.options.onDenied?.({ functionName: name, ...one });
      throw accessDenied(service, this.options.permissions.refusal(role_arn, name, one, decision));
    }
  }

  /** Lets a test look on, which may kill the caller: a dead function makes no call. */
  private async tell(phase: AwsCall["phase"], caller: Caller, plan: Plan, reply?: Reply): Promise<void> {
    const { onCall } = this.options;
    if (onCall === undefined) return;
    const { definition, index } = caller;
    const { service, action, body } = plan;
    const answer = reply === undefined ? {} : { answer: reply.body.toString() };
    let killed = false;
    const kill = (): void => {
      killed = true;
      caller.kill();
    };
    await onCall({ phase, functionName: definition.name, service, action, index, body, ...answer, kill });
    if (killed) throw new AwsError(500, "InternalServerError", "The function was killed.");
  }

  /** Understands a call by its target header or its path. */
  private plan(incoming: Incoming): Plan {
    if (isForBuckets(incoming)) return bucketPlan(this.options.buckets, incoming);
    const [prefix = "", operation = ""] = (incoming.headers["x-amz-target"] ?? "").split(".");
    if (prefix.startsWith("DynamoDB_")) return this.dynamodbPlan(operation, incoming);
    if (prefix === "secretsmanager") return this.secretsPlan(operation, incoming);
    if (prefix === "AmazonSQS") return this.queuePlan(operation, incoming);
    if (prefix === "Logs_20140328") return logsPlan(this.options.logs, operation, incoming);
    const { pool, sockets } = this.options;
    if (sockets !== undefined && isForConnections(incoming.url.pathname)) return connectionPlan(sockets, incoming);
    if (prefix === "AWSCognitoIdentityProviderService" && pool !== undefined)
      return poolPlan(pool, operation, incoming);
    const { pathname } = incoming.url;
    if (pathname.startsWith("/2015-03-31/functions/")) return this.lambdaPlan(incoming);
    if (/^\/(?:apikeys|usageplans)(?:\/|$)/.test(pathname)) return this.gatewayPlan(incoming);
    throw new AwsError(
      501,
      "NotImplemented",
      `The local runner does not know ${prefix || incoming.method} ${pathname}.`,
    );
  }

  private dynamodbPlan(operation: string, { body, headers, text }: Incoming): Plan {
    const values = isRecord(body) ? body : {};
    const request = this.options.dynamodb.read(operation, values);
    const { "x-amz-target": target = "", "x-amz-date": date = "", authorization = "" } = headers;
    const kept = { "x-amz-target": target, "x-amz-date": date, authorization };
    const type = headers["content-type"] ?? "application/x-amz-json-1.0";
    const sent = { headers: { ...kept, "content-type": type }, text };
    return {
      service: "dynamodb",
      action: operation,
      access: request.access,
      body,
      do: async () => {
        const reply = await this.options.dynamodb.call(operation, values, request, sent);
        return { status: reply.status, body: reply.body };
      },
    };
  }

  private secretsPlan(operation: string, { body }: Incoming): Plan {
    const known = secretOperations.find((one) => one === operation);
    if (known === undefined) {
      throw new AwsError(501, "NotImplemented", `The local runner does not know secretsmanager:${operation}.`);
    }
    const values = isRecord(body) ? body : {};
    const resource = this.options.secrets.arnOf(values["SecretId"]);
    return {
      service: "secretsmanager",
      action: operation,
      access: [{ action: `secretsmanager:${operation}`, resource }],
      body,
      do: () => ({ status: 200, body: JSON.stringify(this.options.secrets.call(known, values)) }),
    };
  }

  private queuePlan(operation: string, { body, headers }: Incoming): Plan {
    const { queues } = this.options;
    const values = isRecord(body) ? body : {};
    // The actions of single messages cover their batches (AWS docs: SQS API permissions).
    const action = `sqs:${operation.replace(/Batch$/, "")}`;
    const access = [{ action, resource: queues.arnOf(values["QueueUrl"]) }];
    const trace = headers["x-amzn-trace-id"];
    return {
      service: "sqs",
      action: operation,
      access,
      body,
      do: async () => ({ status: 200, body: JSON.stringify(await queues.call(operation, values, trace)) }),
    };
  }

  private gatewayPlan({ method, url, body }: Incoming): Plan {
    const { pathname: path, searchParams: query } = url;
    const { apiKeys, region } = this.options;
    const request = { method, path, query, body };
    return {
      service: "apigateway",
      action: `${method} ${path}`,
      access: apiKeys.accessOf(request, `arn:aws:apigateway:${region}::`),
      body,
      do: () => {
        const reply = apiKeys.call(request);
        return { status: reply.status, body: reply.body === undefined ? "" : JSON.stringify(reply.body) };
      },
    };
  }

  private lambdaPlan({ method, url, headers, body }: Incoming): Plan {
    const [, , , name = "", verb] = url.pathname.split("/");
    const functions = this.options.functions();
    const definition = functions.find(decodeURIComponent(name));
    if (method !== "POST" || verb !== "invocations") {
      throw new AwsError(501, "NotImplemented", `The local runner does not know ${method} ${url.pathname} of Lambda.`);
    }
    if (definition === undefined) {
      throw new AwsError(404, "ResourceNotFoundException", `Function not found: ${decodeURIComponent(name)}`);
    }
    const type = headers["x-amz-invocation-type"] ?? "RequestResponse";
    return {
      service: "lambda",
      action: "Invoke",
      access: [{ action: "lambda:InvokeFunction", resource: definition.arn }],
      body,
      do: () => (type === "RequestResponse" ? invoke(functions, definition, body) : start(functions, definition, body)),
    };
  }
}

function accessKeyIn({ headers, url }: Incoming): string {
  const signed = credentialIn(url)?.split("/")[0];
  return signed ?? /Credential=([^/]+)\//.exec(headers["authorization"] ?? "")?.[1] ?? "";
}

function poolPlan(pool: PoolAdmin, operation: string, { body }: Incoming): Plan {
  const values = isRecord(body) ? body : {};
  const resource = pool.arnOf(values["UserPoolId"]);
  return {
    service: "cognito-idp",
    action: operation,
    access: [{ action: `cognito-idp:${operation}`, resource }],
    body,
    do: () => ({ status: 200, body: JSON.stringify(pool.call(operation, values)) }),
  };
}

function logsPlan(logs: RequestLogs, operation: string, { body }: Incoming): Plan {
  if (operation !== "FilterLogEvents") {
    throw new AwsError(501, "NotImplemented", `The local runner does not know logs:${operation}.`);
  }
  const values = isRecord(body) ? body : {};
  return {
    service: "logs",
    action: operation,
    access: [{ action: `logs:${operation}`, resource: logs.arnOf(values["logGroupName"]) }],
    body,
    do: () => ({ status: 200, body: JSON.stringify(logs.filter(values)) }),
  };
}

async function invoke(functions: Functions, { arn }: FunctionDefinition, event: unknown): Promise<Reply> {
  const failed = { "x-amz-function-error": "Unhandled" };
  const executed = { "x-amz-executed-version": "$LATEST" };
  try {
    const { payload, functionError } = await functions.invoke(arn, event);
    const headers = { ...executed, ...(functionError !== undefined && failed) };
    return { status: 200, headers, body: JSON.stringify(payload ?? null) };
  } catch (error) {
    if (!(error instanceof FunctionCrash) && !(error instanceof FunctionTimeout)) throw error;
    const errorType = error instanceof FunctionCrash ? "Runtime.ExitError" : "Sandbox.Timedout";
    const body = JSON.stringify({ errorType, errorMessage: error.message });
    return { status: 200, headers: { ...executed, ...failed }, body };
  }
}

/** An asynchronous invocation is acknowledged before it runs; what comes of it shows in the function's log. */
function start(functions: Functions, { arn }: FunctionDefinition, event: unknown): Reply {
  functions.invoke(arn, event).catch(() => undefined);
  return { status: 202, body: "" };
}

async function readRequest(request: IncomingMessage): Promise<Incoming> {
  const sent = await readBody(request, maxBodyBytes);
  if (sent === undefined) throw new AwsError(413, "RequestTooLargeException", "The request is too large.");
  const text = isForBuckets(request) ? "" : sent.toString();
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
  return {
    method: request.method ?? "GET",
    url: new URL(request.url ?? "/", "http://127.0.0.1"),
    headers: Object.fromEntries(headers),
    bytes: sent,
    text,
    // A message to a connection is any text.
    body: isForConnections(request.url ?? "/") ? undefined : parse(text),
  };
}

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new AwsError(400, "SerializationException", "The body is no JSON.");
  }
}

/** JSON services read the type from the body, REST services from a header. */
function errorReply(error: unknown, json: boolean): Reply {
  const { status, type, message, extra } = awsError(error);
  const body = JSON.stringify({ ...(json && { __type: type }), message, Message: message, ...extra });
  return { status, headers: { "x-amzn-errortype": type }, body };
}

/** The error of a service, or a failure of this runner: functions see an error of the service, a person sees why. */
function awsError(error: unknown): AwsError {
  if (error instanceof AwsError) return error;
  const { message, stack } = asError(error);
  process.stderr.write(`The local AWS endpoint failed: ${stack ?? message}\n`);
  return new AwsError(500, "InternalServerError", message);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
