import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { type GatewayHost, startGateway } from "../../../infra/local/gateway/index.ts";
import type { Resource } from "../../../infra/local/gateway/properties.ts";

/** A function of the host: gets the event, returns the payload; what it throws becomes a function error. */
export type Handler = (event: Event) => unknown;

/** The parts of an event that the tests look at. */
export interface Event {
  readonly [name: string]: unknown;
  readonly headers: Record<string, string>;
  readonly multiValueHeaders: Record<string, string[]>;
  readonly requestContext: Record<string, unknown>;
}

/** A host whose functions run in this process, with a clock that stands until it is moved. */
export interface TestHost extends GatewayHost {
  readonly functions: Map<string, Handler>;
  readonly events: Map<string, Event[]>;
  readonly keys: Map<string, { id: string; enabled: boolean; usage_plan_ids: string[] }>;
  clockMs: number;
}

const account = "111122223333";

/** ARN of a function by its name. */
function arnOf(name: string): string {
  return `arn:aws:lambda:eu-central-1:${account}:function:${name}`;
}

function uriOf(name: string): string {
  return `arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/${arnOf(name)}/invocations`;
}

/** A host with the given functions. */
export function testHost(functions: Record<string, Handler> = {}): TestHost {
  const host: TestHost = {
    functions: new Map(Object.entries(functions)),
    events: new Map(),
    keys: new Map(),
    clockMs: Date.UTC(2026, 3, 9, 12, 34, 56, 789),
    async invoke(functionArn, event) {
      const name = functionArn.split(":").at(-1) ?? "";
      const handler = host.functions.get(name);
      if (handler === undefined) throw new Error(`there is no function ${functionArn}`);
      // Events travel as JSON, so what JSON drops must not be missed.
      const copy: Event = JSON.parse(JSON.stringify(event));
      host.events.set(name, [...(host.events.get(name) ?? []), copy]);
      try {
        const payload: unknown = JSON.parse(JSON.stringify((await handler(copy)) ?? null));
        return { payload };
      } catch (cause) {
        if (cause instanceof ProcessDied) throw cause;
        const message = cause instanceof Error ? cause.message : String(cause);
        return { payload: { errorType: "Error", errorMessage: message, trace: [] }, functionError: "Unhandled" };
      }
    },
    findApiKey: (value) => host.keys.get(value),
    now: () => host.clockMs,
  };
  return host;
}

/** Thrown by a handler to stand for the end of its process. */
export class ProcessDied extends Error {}

/** Events that a function got so far. */
export function eventsOf(host: TestHost, name: string): Event[] {
  return host.events.get(name) ?? [];
}

/** A resource of a hand-written template. */
export function resource(id: string, kind: string, properties: Record<string, unknown> = {}): Resource {
  return { path: `stack/${id}`, type: `AWS::ApiGateway::${kind}`, physical_id: id, properties };
}

/** An AWS_PROXY integration with a function. */
export function proxyTo(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    Type: "AWS_PROXY",
    IntegrationHttpMethod: "POST",
    Uri: uriOf(name),
    Credentials: `arn:aws:iam::${account}:role/invoker`,
    ...more,
  };
}

/** A method of `api`. */
export interface MethodSpec {
  readonly integration: Record<string, unknown>;
  readonly authorizer?: string;
  readonly key?: boolean;
  readonly responses?: readonly Record<string, unknown>[];
}

/** A REST API of stage v2 with the methods given as `GET /path`; `extra` resources are added as they are. */
export function api(methods: Record<string, MethodSpec>, extra: readonly Resource[] = []): Resource[] {
  const resources: Resource[] = [];
  const idOf = (path: string): string => {
    if (path === "/") return "api-root";
    const id = `resource${path}`;
    if (resources.some(({ physical_id }) => physical_id === id)) return id;
    const cut = path.lastIndexOf("/");
    const ParentId = idOf(cut === 0 ? "/" : path.slice(0, cut));
    resources.push(resource(id, "Resource", { RestApiId: "api", ParentId, PathPart: path.slice(cut + 1) }));
    return id;
  };
  const built = Object.entries(methods).map(([name, spec]) => {
    const [HttpMethod = "", path = ""] = name.split(" ");
    return resource(`method ${name}`, "Method", {
      RestApiId: "api",
      ResourceId: idOf(path),
      HttpMethod,
      AuthorizationType: spec.authorizer === undefined ? "NONE" : "CUSTOM",
      ...(spec.authorizer === undefined ? {} : { AuthorizerId: spec.authorizer }),
      ...(spec.key === true ? { ApiKeyRequired: true } : {}),
      ...(spec.responses === undefined ? {} : { MethodResponses: spec.responses }),
      Integration: spec.integration,
    });
  });
  const has = (kind: string) => extra.some(({ type }) => type === `AWS::ApiGateway::${kind}`);
  return [
    ...(has("RestApi") ? [] : [resource("api", "RestApi", { Name: "brokerage", ApiKeySourceType: "AUTHORIZER" })]),
    ...(has("Stage")
      ? []
      : [resource("v2", "Stage", { RestApiId: "api", StageName: "v2", DeploymentId: "deployment" })]),
    resource("deployment", "Deployment", { RestApiId: "api" }),
    ...resources,
    ...built,
    ...extra,
  ];
}

/** A REQUEST authorizer on the function `authorize`, looking at the Authorization header. */
export function authorizer(more: Record<string, unknown> = {}): Resource {
  return resource("authorizer", "Authorizer", {
    RestApiId: "api",
    Name: "tokens",
    Type: "REQUEST",
    AuthorizerUri: uriOf("authorize"),
    AuthorizerCredentials: `arn:aws:iam::${account}:role/invoker`,
    IdentitySource: "method.request.header.Authorization",
    AuthorizerResultTtlInSeconds: 60,
    ...more,
  });
}

/** Answer of an authorizer that lets a caller do something. */
export function policy(effect: string, on: string | string[], more: Record<string, unknown> = {}) {
  const Statement = [{ Action: "execute-api:Invoke", Effect: effect, Resource: on }];
  return { principalId: "app_1", policyDocument: { Version: "2012-10-17", Statement }, ...more };
}

/** An answer of the gateway, headers as they stood on the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: [name: string, value: string][];
  readonly body: string;
  readonly bytes: Buffer;
  /** The body as JSON. */
  json(): Record<string, unknown>;
  /** The value of a header that must be there once. */
  header(name: string): string | undefined;
}

/** A request. A list of headers may hold a name twice. */
export interface Question {
  readonly method?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
}

/** Sends a request without touching its path or headers. */
export function ask(origin: string, path: string, question: Question = {}): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  const headers = (question.headers ?? []).flat();
  const length = question.body === undefined ? [] : ["Content-Length", String(Buffer.byteLength(question.body))];
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        path,
        method: question.method ?? "GET",
        headers: ["Host", "api.test", ...headers, ...length, "Connection", "close"],
      },
      (message) => {
        const chunks: Buffer[] = [];
        message.on("data", (chunk: Buffer) => chunks.push(chunk));
        message.on("end", () => {
          const raw = message.rawHeaders;
          const list = raw.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : []));
          const bytes = Buffer.concat(chunks);
          const body = bytes.toString();
          resolve({
            status: message.statusCode ?? 0,
            headers: list,
            body,
            bytes,
            json: () => JSON.parse(body),
            header: (name) => list.find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1],
          });
        });
        message.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(question.body);
  });
}

/** Writes bytes to the gateway and resolves with everything that it sends until it closes the connection. */
export function wire(origin: string, text: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let received = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
  });
}

/** Starts a gateway, lets the test use it, and stops it whatever happens. */
export async function withGateway(
  resources: readonly Resource[],
  host: GatewayHost,
  use: (origin: string, log: readonly string[]) => Promise<void>,
): Promise<void> {
  const log: string[] = [];
  const gateway = await startGateway(resources, host, { port: 0, log: (line) => log.push(line) });
  try {
    await use(gateway.origin, log);
  } finally {
    await gateway.stop();
  }
}
