import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { Credentials } from "../../../infra/tools/api-call.ts";
import type { RotationStep } from "../../../shared/oauth/rotation.ts";
import type { TestAnswer, TestApi } from "../emulator/api.ts";
import { newCaller, type TestCaller } from "../emulator/request.ts";

/** An application with its secret, and the caller that made it. */
export interface OwnApplication {
  readonly id: string;
  readonly tenant_id: string;
  readonly credentials: Credentials;
  readonly admin: TestCaller;
}

/** The OAuth endpoints inside the test process, so that the test owns the clock. */
export interface TokenService {
  /** Runs a rotation of the signing key to its end, as Secrets Manager does. */
  readonly rotate: () => Promise<void>;
  /** An application whose API key is settled. */
  readonly application: (more?: object, admin?: TestCaller) => Promise<OwnApplication>;
  readonly post: (path: "/oauth/token" | "/oauth/revoke", fields: object, more?: PostOptions) => Promise<TestAnswer>;
  /** A token answer by client credentials. */
  readonly grant: (application: OwnApplication, more?: object) => Promise<TestAnswer>;
  readonly refresh: (application: OwnApplication, refresh_token: string, more?: object) => Promise<TestAnswer>;
  /** Whether the authorizer takes the token now. */
  readonly accepts: (token: string) => Promise<boolean>;
}

/** Where and how a request comes from. */
export interface PostOptions {
  readonly sourceIp?: string;
  readonly browserIp?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An attempt to get access, where a test does not care from where. */
export const someAttempt = { address: "198.51.100.7", user_agent: "tests", request_id: "test" };

const steps = ["createSecret", "setSecret", "testSecret", "finishSecret"] as const;

/** Makes the first signing key and returns the service. Requests come at the test's own time. */
export async function startTokenService(api: TestApi): Promise<TokenService> {
  const { rotate: run } = await import("../../../shared/oauth/rotation.ts");
  const { authorizeBearer } = await import("../../../shared/oauth/authorize.ts");
  const secretId = process.env["SIGNING_KEY_SECRET_ID"] ?? "";
  const { secrets } = api.secretsManager;
  const rotate = async () => {
    const version = secrets.startRotation(secrets.arnOf(secretId));
    for (const Step of steps) {
      const step: RotationStep = { Step, SecretId: secretId, ClientRequestToken: version };
      await run(step);
    }
    secrets.finishRotation(secrets.arnOf(secretId));
  };
  const post: TokenService["post"] = (path, fields, { headers = {}, ...more } = {}) =>
    api.call(undefined, "POST", path, {
      body: new URLSearchParams(fields as Record<string, string>).toString(),
      headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
      atMs: Date.now(),
      ...more,
    });
  const application = async (more: object = {}, admin: TestCaller = newCaller()) => {
    const body = { name: "Test", scopes: ["clients:read", "events:read"], ...more };
    const made = await api.call(admin, "POST", "/applications", { body });
    if (made.status !== 201) throw new Error(made.text);
    const { id, client_id, client_secret } = made.body;
    await settle(api, admin.tenant_id, id);
    return { id, tenant_id: admin.tenant_id, credentials: { client_id, client_secret }, admin };
  };
  await rotate();
  return {
    rotate,
    application,
    post,
    grant: ({ credentials }, more = {}) =>
      post("/oauth/token", { grant_type: "client_credentials", ...credentials, ...more }),
    refresh: ({ credentials }, refresh_token, more = {}) =>
      post("/oauth/token", { grant_type: "refresh_token", refresh_token, ...credentials, ...more }),
    accepts: async (token) => (await authorizeBearer([`Bearer ${token}`], someAttempt)) !== undefined,
  };
}

/** Write of provisioning when the gateway has made the key; there is no gateway here. */
async function settle(api: TestApi, tenant: string, id: string): Promise<void> {
  await api.emulator.client.send(
    new UpdateItemCommand({
      TableName: api.emulator.tableName,
      Key: { pk: { S: `${tenant}#${id}` }, sk: { S: "APP" } },
      UpdateExpression: "SET api_key_id = :id, wake_at = :none REMOVE due_pk, due_sk",
      ExpressionAttributeValues: { ":id": { S: "key" }, ":none": { NULL: true } },
    }),
  );
}
