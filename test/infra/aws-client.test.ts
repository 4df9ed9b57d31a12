import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, startEmulator } from "../support/emulator/emulator.ts";
import { type FaultProxy, startFaultProxy } from "../support/emulator/fault-proxy.ts";
import { isSignedBy } from "../support/stack/request-signature.ts";
import { selfSigned } from "../support/stack/self-signed.ts";
import { type Case, cases, credentials, put, type Settings, type Stage, within } from "./aws-client-cases.ts";
import { bothClients } from "./clients/both-clients.ts";
import type * as Clients from "./fixtures/clients.ts";

const clients = [
  ...(["APIGatewayClient", "CloudWatchLogsClient", "CognitoIdentityProviderClient", "DynamoDBClient"] as const),
  ...(["SecretsManagerClient", "SQSClient"] as const),
];

describe("the SDK on its diet does what the published one does", () => {
  const certificate = selfSigned();
  let emulator: Emulator;
  let plain: FaultProxy;
  let secure: FaultProxy;
  let refused: string;
  let published: typeof Clients;
  let slim: typeof Clients;

  beforeAll(async () => {
    Object.assign(process.env, credentials, { AWS_REGION: "eu-west-1" });
    ({ published, slim } = await bothClients("aws-client"));
    emulator = await startEmulator();
    plain = await startFaultProxy(emulator.endpoint);
    secure = await startFaultProxy(emulator.endpoint, certificate);
    refused = await closedEndpoint();
    const stage = stageOf(slim, plain.endpoint, {});
    plain.begin([]);
    await put(stage, "plain", { a: { S: "b" }, n: { N: "1" } });
    await put(stage, "unicode", { text: { S: "ä€𝒳" } });
    for (const sk of ["a", "b", "c"]) {
      const { sdk, client, table } = stage;
      await client.send(new sdk.PutItemCommand({ TableName: table, Item: { pk: { S: "pages" }, sk: { S: sk } } }));
    }
    stage.client.destroy();
  });

  afterAll(async () => {
    await Promise.all([plain.stop(), secure.stop(), emulator.stop()]);
  });

  function stageOf(sdk: typeof Clients, endpoint: string, changed: Partial<Settings>, requestTimeout = 4_000): Stage {
    const settings = {
      region: "eu-west-1",
      maxAttempts: 3,
      requestHandler: {
        connectionTimeout: 1000,
        requestTimeout,
        throwOnRequestTimeout: true,
        httpsAgent: { ca: certificate.cert },
      },
      ...changed,
      endpoint: changed.endpoint === "refused" ? refused : endpoint,
    };
    return { sdk, settings, client: new sdk.DynamoDBClient(settings), table: emulator.tableName };
  }

  /** Puts one SDK through one case: what came of it, and what went over the wire. */
  async function observed(sdk: typeof Clients, { faults = [], run, tls, settings = {} }: Case) {
    const proxy = tls === true ? secure : plain;
    // A silence is waited for; where none is planted a busy machine must not make one.
    const stage = stageOf(sdk, proxy.endpoint, settings, faults.includes("silence") ? 400 : undefined);
    proxy.begin(faults);
    const outcome = await run(stage).then(
      (value) => ({ value: comparable(value) }),
      (error: unknown) => ({ error: comparable(error) }),
    );
    stage.client.destroy();
    const requests = proxy.seen();
    return {
      outcome,
      requests: requests.map(({ method, path, headers, body, connection }) => ({
        method,
        path,
        connection,
        headers: withoutChance(headers),
        body: parsed(body.toString().replace(uuid, "uuid")),
      })),
      unsigned: requests.filter((request) => !isSignedBy(credentials.AWS_SECRET_ACCESS_KEY, request)).length,
    };
  }

  it.each(Object.entries(cases))("%s", { timeout: 20_000 }, async (_name, each) => {
    const expected = await observed(published, each);
    const found = await observed(slim, each);
    expect(found).toEqual(expected);
    expect(found.unsigned).toBe(0);
  });

  it.each([
    ["AWS_RETRY_MODE", "adaptive"],
    ["AWS_DEFAULTS_MODE", "in-region"],
    ["AWS_ENABLE_DEFAULT_SOCKET_TIMEOUT_2026", "true"],
  ])("says what is left out when %s=%s asks for it", async (name, value) => {
    const made = within({ [name]: value }, async () => new slim.DynamoDBClient({ region: "eu-west-1" }));
    await expect(made).rejects.toThrow(`${name}=${value} is not in this bundle.`);
  });

  it.each([
    [{ requestTimeout: 100 }, "A requestTimeout without throwOnRequestTimeout is not in this bundle."],
    [{ socketTimeout: 400 }, "The setting requestHandler.socketTimeout is not in this bundle."],
    [{ httpAgent: {} }, "The setting requestHandler.httpAgent is not in this bundle."],
  ])("refuses a handler of requests with %j, which it would not honour", (requestHandler, message) => {
    expect(() => new slim.DynamoDBClient({ region: "eu-west-1", requestHandler })).toThrow(message);
  });

  it("refuses an empty name in an address, which would be the address of all resources", async () => {
    const gateway = new slim.APIGatewayClient({ region: "eu-west-1", endpoint: refused });
    const deleted = gateway.send(new slim.DeleteApiKeyCommand({ apiKey: "" }));
    await expect(deleted).rejects.toThrow("No value provided for input HTTP label: apiKey.");
  });

  it.each(["us-east-1", "us-west-2", "eu-west-1", "eu-central-2", "ap-southeast-5", "sa-east-1", "me-central-1"])(
    "calls every service under its own name in %s",
    (region) => {
      for (const name of clients) {
        const address = (sdk: typeof Clients) => {
          const { config } = new sdk[name]({ region });
          const parameters = { Region: region, UseFIPS: false, UseDualStack: false };
          return String((config as Resolving).endpointProvider(parameters, {}).url);
        };
        expect(address(slim)).toBe(address(published));
      }
    },
  );
});

interface Resolving {
  readonly endpointProvider: (parameters: object, context: object) => { readonly url: URL };
}

/** A body without the order of its members, which has no meaning. */
function parsed(body: string): unknown {
  return body === "" ? "" : JSON.parse(body);
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

/**
 * Headers without what differs from request to request, and without the user agent, which is the slim client's own. The
 * hash of the body differs where the SDK made up a token in it; that it is right the signature says.
 */
function withoutChance(headers: Readonly<Record<string, string>>): Record<string, string> {
  const {
    "user-agent": _agent,
    "x-amz-user-agent": _short,
    "x-amz-date": _date,
    "x-amz-content-sha256": _hash,
    ...kept
  } = headers;
  const authorization = (headers["authorization"] ?? "").replace(/\d{8}|Signature=.*/g, "");
  return { ...kept, host: "", authorization, "amz-sdk-invocation-id": "", "amz-sdk-request": attempt(headers) };
}

/** The attempt of a request; the time until which it is worth trying differs. */
function attempt(headers: Readonly<Record<string, string>>): string {
  return (headers["amz-sdk-request"] ?? "").replace(/ttl=[^;]+/, "ttl");
}

/** A value or an error with every member that does not differ from request to request. */
function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Set) return { set: [...value] };
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? `${value}n` : value;
  const error = value instanceof Error ? { name: value.name, message: value.message, cause: value.cause } : {};
  const members = Object.entries({ ...value, ...error });
  return Object.fromEntries(
    members.filter(([name]) => !chanceMembers.has(name)).map(([name, member]) => [name, comparable(member)]),
  );
}

/** Members that tell of one attempt: how long it waited, on which port it was, what the whole answer was. */
const chanceMembers = new Set(["totalRetryDelay", "port", "localPort", "$response", "stack"]);

/** An address at which no server listens. */
async function closedEndpoint(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}
