import { fileURLToPath } from "node:url";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import { draftApplication } from "../../../shared/domain/access/application.ts";
import { draftOperator } from "../../../shared/domain/access/operator.ts";
import { draftTenant } from "../../../shared/domain/access/tenant.ts";
import type { Handler } from "../../../shared/http/endpoint.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import { applications, operators, uniques } from "../../../shared/table/entities.ts";
import { judge } from "../rules/description.ts";
import { type Emulator, functionEnvironment, startEmulator } from "./emulator.ts";
import { answerBytes, quotas } from "./item-size.ts";
import { type QueueEndpoint, startQueueEndpoint } from "./queue-endpoint.ts";
import { lambdaContext, proxyEvent, type RequestParts, type TestCaller } from "./request.ts";
import { type SecretsManager, startSecretsManager } from "./secrets-manager.ts";
import { type WatchedEndpoint, watchEndpoint } from "./watched-endpoint.ts";

/** An answer of a function with its body parsed. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the assertions, not by the compiler.
  readonly body: any;
}

/** The real handlers in front of a real emulator, called as API Gateway calls them. */
export interface TestApi {
  readonly emulator: Emulator;
  /** The way that the handlers' calls take to the emulator. Throws when the API was started without it. */
  readonly watched: WatchedEndpoint;
  readonly secretsManager: SecretsManager;
  /** Where messages of deliveries go. */
  readonly queues: QueueEndpoint;
  readonly call: (
    caller: TestCaller | undefined,
    method: string,
    address: string,
    parts?: RequestParts,
  ) => Promise<TestAnswer>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts an emulator, sets the environment of the functions, and only then loads a handler when it is first called: the
 * clients of the AWS SDK read the environment when they are made.
 * @param parts what the tests of the file use: the `stream` of the main table, which makes each write cost more, and
 *   the `watched` way to the tables, a server that each call passes through
 */
export async function startApi(...parts: readonly ("stream" | "watched")[]): Promise<TestApi> {
  const emulator = await startEmulator(parts.includes("stream"));
  const watched = parts.includes("watched") ? await watchEndpoint(emulator.endpoint) : undefined;
  const secretsManager = await startSecretsManager();
  const queues = await startQueueEndpoint();
  Object.assign(process.env, functionEnvironment(emulator), secretsManager.environment, queues.environment, {
    AWS_ENDPOINT_URL_DYNAMODB: watched?.endpoint ?? emulator.endpoint,
  });
  const handlers = new Map<string, Promise<Handler>>();
  const handlerOf = (file: string) => {
    const known = handlers.get(file) ?? loadHandler(file);
    handlers.set(file, known);
    return known;
  };
  const tenants = new Map<string, Promise<void>>();
  const tenantOf = (caller: TestCaller) => {
    const known = tenants.get(caller.tenant_id) ?? putTenant(emulator, caller.tenant_id);
    tenants.set(caller.tenant_id, known);
    return known;
  };
  const people = new Map<string, Promise<void>>();
  const callerOf = (caller: TestCaller) => {
    const { operator, tenant_id, application_id } = caller;
    const id = operator?.id ?? application_id;
    const put = () =>
      operator === undefined ? putApplication(emulator, caller) : putOperator(emulator, tenant_id, operator);
    const known = people.get(id) ?? put();
    people.set(id, known);
    return known;
  };
  return {
    emulator,
    get watched() {
      if (watched === undefined) throw new Error("This API was started without the watched way to its tables.");
      return watched;
    },
    secretsManager,
    queues,
    call: async (caller, method, address, parts) => {
      if (caller !== undefined) await Promise.all([tenantOf(caller), callerOf(caller)]);
      const { row, event } = proxyEvent(caller, method, address, parts);
      const handler = await handlerOf(row.file);
      const sent = seenRequest(method, address, event);
      const result = await handler(event, lambdaContext(parts?.timeoutMs));
      const bytes = answerBytes(result);
      if (bytes > quotas.answer_bytes) throw new Error(`${method} ${address}: an answer of ${bytes} bytes`);
      const faults = judge({ ...sent, ...seenAnswer(result) });
      if (faults.length > 0) throw new Error(`The document does not allow what was answered:\n${faults.join("\n")}`);
      return answerOf(result);
    },
    stop: async () => {
      await watched?.stop();
      await secretsManager.stop();
      await queues.stop();
      await emulator.stop();
    },
  };
}

/** First step of the provisioning function for a brokerage; past the watched way, so that no test counts it. */
async function putTenant(emulator: Emulator, id: string): Promise<void> {
  const tenant = { pk: id, sk: "TENANT", et: "TENANT", ...draftTenant(id, new Date(0).toISOString()) };
  await emulator.client.send(new PutItemCommand({ TableName: emulator.tableName, Item: marshall(tenant) }));
}

/**
 * The application that a caller is, unless the test has made it: who has no item cannot have got a token. It is in no
 * list, so that a brokerage has the applications alone that its test makes.
 */
export async function putApplication(
  { client, tableName: TableName }: Emulator,
  { tenant_id, application_id: id, client_id }: TestCaller,
): Promise<void> {
  const request = { tenant_id, environment: "sandbox", name: "Test", scopes, allowed_ips: [] } as const;
  const draws = { id, client_id, secret_sha256: "", api_key_seed: "", now: new Date(0).toISOString() };
  const application = { ...draftApplication(request, draws), api_key_id: "key", wake_at: null };
  const Item = marshall({ ...applications.key(tenant_id, id), et: applications.et, ...application });
  await putOnce(client, { TableName, Item });
}

/** The operator that a caller is, unless the test has put its own: who has no item cannot have signed in. */
async function putOperator(
  { client, tableName: TableName }: Emulator,
  tenant: string,
  { id, name, role }: NonNullable<TestCaller["operator"]>,
): Promise<void> {
  const email = `${id}@example.com`;
  const now = new Date(0).toISOString();
  const draft = draftOperator({ email, name, role }, { id, tenant_id: tenant, audit_key: "", now });
  const signedIn = { ...draft, status: "active", wake_at: null } as const;
  const keys = { ...operators.key(tenant, id), ...operators.indexesOf(signedIn) };
  const operator = { ...keys, et: operators.et, ...signedIn };
  const claim = { ...uniques.key(tenant, "operator_email", email), et: uniques.et, owner_id: id };
  if (!(await putOnce(client, { TableName, Item: marshall(operator) }))) return;
  await client.send(new PutItemCommand({ TableName, Item: marshall(claim) }));
}

/** Puts an item unless it is there; whether it was put. */
async function putOnce(
  client: Emulator["client"],
  input: ConstructorParameters<typeof PutItemCommand>[0],
): Promise<boolean> {
  try {
    await client.send(new PutItemCommand({ ...input, ConditionExpression: "attribute_not_exists(pk)" }));
    return true;
  } catch (error) {
    if ((error as Error).name === "ConditionalCheckFailedException") return false;
    throw error;
  }
}

async function loadHandler(file: string): Promise<Handler> {
  const path = fileURLToPath(new URL(`../../../functions/${file}.ts`, import.meta.url));
  const module = (await import(/* @vite-ignore */ path)) as { readonly handler: Handler };
  return module.handler;
}

/** The request, before the pipeline changes its headers. */
function seenRequest(method: string, address: string, event: APIGatewayProxyEvent) {
  const query = Object.entries(event.multiValueQueryStringParameters ?? {});
  return {
    method,
    path: address.split("?")[0] ?? "",
    query: query.flatMap(([name, values]) => (values ?? []).map((value) => [name, value] as const)),
    request_headers: Object.entries(event.headers).map(([name, value]) => [name, value ?? ""] as const),
    request_body: Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8").toString(),
  };
}

function seenAnswer({ statusCode: status, headers, body }: APIGatewayProxyResult) {
  return {
    status,
    headers: Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)] as const),
    body,
  };
}

function answerOf(result: APIGatewayProxyResult): TestAnswer {
  const isTable = String(result.headers?.["Content-Type"]).startsWith("text/csv");
  return {
    status: result.statusCode,
    headers: result.headers as Record<string, string>,
    text: result.body,
    body: result.body === "" || isTable ? undefined : JSON.parse(result.body),
  };
}
