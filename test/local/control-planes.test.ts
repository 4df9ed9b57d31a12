import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callerCode, startTestCloud, type TestCloud, type TestStack } from "./fixture.ts";

const secretArn = { Ref: "Key" };
/** Further right that API Gateway asks of a caller who makes a key with tags: its id is not known yet. */
const tagsOfNew = `/tags/${encodeURIComponent("arn:aws:apigateway:eu-west-1::/apikeys/")}\${*}`;
const ofPool = { UserPoolId: { Ref: "Pool" } };
/** The least of a pool that the runner knows. */
const userPool: TestStack["resources"] = {
  Pool: {
    Type: "AWS::Cognito::UserPool",
    Properties: {
      ...{ UserPoolTier: "ESSENTIALS", MfaConfiguration: "ON", EnabledMfas: ["SOFTWARE_TOKEN_MFA"] },
      ...{ UsernameAttributes: ["email"], UsernameConfiguration: { CaseSensitive: false } },
      ...{ AutoVerifiedAttributes: ["email"], AdminCreateUserConfig: { AllowAdminCreateUserOnly: true } },
      Policies: { PasswordPolicy: { MinimumLength: 12 } },
    },
  },
  Client: {
    Type: "AWS::Cognito::UserPoolClient",
    Properties: {
      ...ofPool,
      ...{ GenerateSecret: false, AllowedOAuthFlowsUserPoolClient: true, AllowedOAuthFlows: ["code"] },
      ...{ SupportedIdentityProviders: ["COGNITO"], PreventUserExistenceErrors: "ENABLED" },
      ...{ EnableTokenRevocation: true, IdTokenValidity: 5, AccessTokenValidity: 5, RefreshTokenValidity: 1 },
      TokenValidityUnits: { IdToken: "minutes", AccessToken: "minutes", RefreshToken: "hours" },
      RefreshTokenRotation: { Feature: "ENABLED", RetryGracePeriodSeconds: 0 },
    },
  },
  Domain: { Type: "AWS::Cognito::UserPoolDomain", Properties: { ...ofPool, Domain: "test", ManagedLoginVersion: 2 } },
  Branding: { Type: "AWS::Cognito::ManagedLoginBranding", Properties: { ...ofPool, ClientId: { Ref: "Client" } } },
};
const stack: TestStack = {
  resources: {
    Key: {
      Type: "AWS::SecretsManager::Secret",
      Properties: {
        Name: "test/key",
        GenerateSecretString: { SecretStringTemplate: '{"a":1}', GenerateStringKey: "b" },
      },
    },
    Api: { Type: "AWS::ApiGateway::RestApi", Properties: { Name: "test" } },
    Plan: { Type: "AWS::ApiGateway::UsagePlan", Properties: {} },
    Queue: { Type: "AWS::SQS::Queue", Properties: { QueueName: "work" } },
    Secure: queuePolicy("Queue", { Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    Closed: { Type: "AWS::SQS::Queue", Properties: { QueueName: "closed" } },
    Shut: queuePolicy("Closed", { Effect: "Deny" }),
    ...userPool,
  },
  functions: {
    keys: {
      code: callerCode,
      statements: [
        {
          Effect: "Allow",
          Action: "apigateway:POST",
          Resource: ["arn:aws:apigateway:eu-west-1::/apikeys", planKeys("")],
        },
        {
          Effect: "Allow",
          Action: ["apigateway:GET", "apigateway:DELETE"],
          Resource: ["arn:aws:apigateway:eu-west-1::/apikeys/*", planKeys("/*")],
        },
      ],
      environment: { PLAN: { Ref: "Plan" } },
    },
    tagged: {
      code: callerCode,
      statements: [
        {
          Effect: "Allow",
          Action: ["apigateway:POST", "apigateway:PUT"],
          Resource: ["arn:aws:apigateway:eu-west-1::/apikeys", `arn:aws:apigateway:eu-west-1::${tagsOfNew}`],
          Condition: { StringEquals: { "aws:RequestTag/stage": "test" } },
        },
        {
          Effect: "Allow",
          Action: "apigateway:DELETE",
          Resource: "arn:aws:apigateway:eu-west-1::/apikeys/*",
          Condition: { StringEquals: { "aws:ResourceTag/stage": "test" } },
        },
      ],
    },
    untagged: {
      code: callerCode,
      statements: [{ Effect: "Allow", Action: "apigateway:POST", Resource: "arn:aws:apigateway:eu-west-1::/apikeys" }],
    },
    secrets: {
      code: callerCode,
      statements: [{ Effect: "Allow", Action: ["secretsmanager:*"], Resource: secretArn }],
    },
    reader: {
      code: callerCode,
      statements: [{ Effect: "Allow", Action: ["secretsmanager:GetSecretValue"], Resource: secretArn }],
    },
    inviter: {
      code: callerCode,
      statements: [
        {
          Effect: "Allow",
          Action: ["cognito-idp:AdminCreateUser", "cognito-idp:AdminGetUser"],
          Resource: { "Fn::GetAtt": ["Pool", "Arn"] },
        },
      ],
    },
    sender: {
      code: callerCode,
      statements: [
        {
          Effect: "Allow",
          Action: ["sqs:SendMessage", "sqs:ReceiveMessage"],
          Resource: [{ "Fn::GetAtt": ["Queue", "Arn"] }, { "Fn::GetAtt": ["Closed", "Arn"] }],
        },
        {
          Effect: "Allow",
          Action: ["lambda:InvokeFunction"],
          Resource: { "Fn::GetAtt": ["thrower" + "Function", "Arn"] },
        },
      ],
    },
    thrower: { code: "export const handler = () => { throw new TypeError('no'); };" },
  },
};

function planKeys(end: string) {
  return { "Fn::Join": ["", ["arn:aws:apigateway:eu-west-1::/usageplans/", { Ref: "Plan" }, `/keys${end}`]] };
}

function queuePolicy(queue: string, statement: Record<string, unknown>) {
  const Resource = { "Fn::GetAtt": [queue, "Arn"] };
  const Statement = [{ Action: "sqs:*", Principal: { AWS: "*" }, Resource, ...statement }];
  return {
    Type: "AWS::SQS::QueuePolicy",
    Properties: { Queues: [{ Ref: queue }], PolicyDocument: { Version: "2012-10-17", Statement } },
  };
}

let test: TestCloud;
let plan = "";
beforeAll(async () => {
  test = await startTestCloud(stack);
  plan = test.cloud.assembly.resources.find(({ path }) => path === "test/Plan")?.physical_id ?? "";
});
afterAll(() => test.stop());

async function call(functionName: string, path: string, method: string, body?: unknown) {
  const [answer] = await test.calls(functionName, [{ path, method, body }]);
  return answer;
}

async function secret(functionName: string, operation: string, body: object) {
  const target = `secretsmanager.${operation}`;
  const [answer] = await test.calls(functionName, [{ target, body: { SecretId: "test/key", ...body } }]);
  return answer;
}

async function user(operation: string, body: object) {
  const target = `AWSCognitoIdentityProviderService.${operation}`;
  const pool = test.cloud.pool?.settings.id;
  const [answer] = await test.calls("inviter", [{ target, body: { UserPoolId: pool, ...body } }]);
  return answer;
}

describe("API keys", () => {
  it("are made, put into a plan, found by it, and taken away", async () => {
    const value = "v".repeat(24);
    const made = await call("keys", "/apikeys", "POST", { name: "app", enabled: true, value });
    expect(made).toMatchObject({ status: 201, body: { name: "app", enabled: true, value } });
    const id = String(made?.body["id"]);
    const added = await call("keys", `/usageplans/${plan}/keys`, "POST", { keyId: id, keyType: "API_KEY" });
    expect(added).toMatchObject({ status: 201, body: { id, type: "API_KEY", value } });
    const again = await call("keys", `/usageplans/${plan}/keys`, "POST", { keyId: id, keyType: "API_KEY" });
    expect(again).toMatchObject({ status: 409, type: "ConflictException" });
    const shown = await call("keys", `/apikeys/${id}`, "GET");
    expect(shown?.body).toMatchObject({ id, name: "app" });
    expect(shown?.body["value"]).toBeUndefined();
    expect((await call("keys", `/usageplans/${plan}/keys/${id}`, "GET"))?.status).toBe(200);
    expect((await call("keys", `/usageplans/${plan}/keys/${id}`, "DELETE"))?.status).toBe(202);
    expect((await call("keys", `/apikeys/${id}`, "DELETE"))?.status).toBe(202);
    expect(await call("keys", `/apikeys/${id}`, "DELETE")).toMatchObject({ status: 404, type: "NotFoundException" });
  });

  it("with tags are made and taken away only by who may do that with these tags", async () => {
    const tags = { stage: "test" };
    const made = await call("tagged", "/apikeys", "POST", { name: "own", tags });
    expect(made).toMatchObject({ status: 201, body: { tags } });
    expect((await call("tagged", "/apikeys", "POST", { name: "own" }))?.status).toBe(403);
    expect((await call("untagged", "/apikeys", "POST", { name: "foreign", tags }))?.status).toBe(403);
    const foreign = await call("untagged", "/apikeys", "POST", { name: "foreign" });
    expect((await call("tagged", `/apikeys/${foreign?.body["id"]}`, "DELETE"))?.status).toBe(403);
    expect((await call("tagged", `/apikeys/${made?.body["id"]}`, "DELETE"))?.status).toBe(202);
  });

  it("refuse what API Gateway refuses, and callers without permission", async () => {
    expect(await call("keys", "/apikeys", "POST", { value: "short" })).toMatchObject({ status: 400 });
    expect(await call("keys", "/usageplans/other/keys", "POST", {})).toMatchObject({ status: 403 });
    expect(await call("secrets", "/apikeys", "POST", {})).toMatchObject({ status: 403, type: "AccessDeniedException" });
  });
});

describe("secrets", () => {
  it("begin as the template says and keep their labels as Secrets Manager does", async () => {
    const first = await secret("secrets", "GetSecretValue", {});
    expect(JSON.parse(String(first?.body["SecretString"]))).toMatchObject({ a: 1, b: expect.any(String) });
    const pending = { ClientRequestToken: "t".repeat(32), SecretString: "second", VersionStages: ["AWSPENDING"] };
    expect((await secret("secrets", "PutSecretValue", pending))?.status).toBe(200);
    expect((await secret("secrets", "GetSecretValue", {}))?.body["SecretString"]).toBe(first?.body["SecretString"]);
    const staged = await secret("secrets", "GetSecretValue", { VersionStage: "AWSPENDING" });
    expect(staged?.body).toMatchObject({ SecretString: "second", VersionId: "t".repeat(32) });
    const move = { VersionStage: "AWSCURRENT", MoveToVersionId: "t".repeat(32) };
    expect((await secret("secrets", "UpdateSecretVersionStage", move))?.status).toBe(400);
    const from = { RemoveFromVersionId: first?.body["VersionId"] };
    expect((await secret("secrets", "UpdateSecretVersionStage", { ...move, ...from }))?.status).toBe(200);
    expect((await secret("reader", "GetSecretValue", {}))?.body["SecretString"]).toBe("second");
    const previous = await secret("reader", "GetSecretValue", { VersionStage: "AWSPREVIOUS" });
    expect(previous?.body["SecretString"]).toBe(first?.body["SecretString"]);
  });

  it("are refused to a role that may only read, and a version that is not there is not found", async () => {
    const put = await secret("reader", "PutSecretValue", { SecretString: "x" });
    expect(put).toMatchObject({ status: 400, type: "AccessDeniedException" });
    const lost = await secret("reader", "GetSecretValue", { VersionId: "u".repeat(32) });
    expect(lost).toMatchObject({ status: 400, type: "ResourceNotFoundException" });
  });
});

describe("queues", () => {
  const QueueUrl = "https://sqs.eu-west-1.amazonaws.com/000000000000/work";
  it("take messages for as long as SQS would hold them back, and not longer", async () => {
    const send = (body: object) =>
      test.calls("sender", [{ target: "AmazonSQS.SendMessage", body: { QueueUrl, ...body } }]);
    expect(await send({ MessageBody: "a", DelaySeconds: 900 })).toMatchObject([{ status: 200 }]);
    expect(await send({ MessageBody: "a", DelaySeconds: 901 })).toMatchObject([
      { status: 400, type: "InvalidParameterValue" },
    ]);
    expect(await send({ MessageBody: "now" })).toMatchObject([{ status: 200 }]);
    const [got] = await test.calls("sender", [{ target: "AmazonSQS.ReceiveMessage", body: { QueueUrl } }]);
    expect(got?.body["Messages"]).toMatchObject([{ Body: "now" }]);
  });
});

describe("users of the pool", () => {
  it("are made once and found by e-mail in any case, by the role that may", async () => {
    const Username = "ana@example.com";
    const verified = [{ Name: "email_verified", Value: "true" }];
    const made = await user("AdminCreateUser", { Username, UserAttributes: verified });
    const attributes = expect.arrayContaining([{ Name: "email_verified", Value: "true" }]);
    const state = { Enabled: true, UserStatus: "FORCE_CHANGE_PASSWORD" };
    expect(made).toMatchObject({ status: 200, body: { User: { ...state, Attributes: attributes } } });
    const sub = Object(made?.body["User"])["Username"];
    const again = await user("AdminCreateUser", { Username: "ANA@example.com" });
    expect(again).toMatchObject({ status: 400, type: "UsernameExistsException" });
    const found = await user("AdminGetUser", { Username: "Ana@Example.com" });
    expect(found?.body).toMatchObject({ Username: sub, ...state, UserAttributes: attributes });
    expect(await user("AdminGetUser", { Username: "eva@example.com" })).toMatchObject({
      status: 400,
      type: "UserNotFoundException",
    });
    expect(await user("AdminCreateUser", { Username: "ana" })).toMatchObject({ type: "InvalidParameterException" });
  });

  it("are refused without the right, in another pool, and for a member that the runner does not know", async () => {
    const Username = "ana@example.com";
    expect(await user("AdminDeleteUser", { Username })).toMatchObject({ status: 400, type: "AccessDeniedException" });
    const elsewhere = await user("AdminGetUser", { UserPoolId: "eu-west-1_other", Username });
    expect(elsewhere).toMatchObject({ status: 400, type: "ResourceNotFoundException" });
    expect(await user("AdminCreateUser", { Username, ForceAliasCreation: true })).toMatchObject({
      status: 501,
      body: { message: expect.stringContaining("ForceAliasCreation") },
    });
  });
});

describe("the policy of a queue", () => {
  it("holds beside the role's: what it denies is denied", async () => {
    const url = "https://sqs.eu-west-1.amazonaws.com/000000000000/closed";
    const body = { QueueUrl: url, MessageBody: "a" };
    const [answer] = await test.calls("sender", [{ target: "AmazonSQS.SendMessage", body }]);
    expect(answer).toMatchObject({ status: 403, type: "AccessDeniedException" });
    expect(answer?.body["message"]).toContain("with an explicit deny");
  });
});

describe("Lambda Invoke", () => {
  it("answers with the function's error, and only who may invoke it gets that far", async () => {
    const path = "/2015-03-31/functions/thrower/invocations";
    const answer = await call("sender", path, "POST", {});
    expect(answer).toMatchObject({ status: 200, body: { errorType: "TypeError", errorMessage: "no" } });
    expect(await call("keys", path, "POST", {})).toMatchObject({ status: 403, type: "AccessDeniedException" });
    const response = await fetch(`${test.cloud.endpoint}${path}`, { method: "POST", body: "{}", headers: operator() });
    expect(response.headers.get("x-amz-function-error")).toBe("Unhandled");
  });

  const operator = () => ({
    authorization: `AWS4-HMAC-SHA256 Credential=${test.cloud.accessKeyOf("operator")}/20200101/eu-west-1/lambda/x, x`,
  });

  it.each([
    ["without credentials", () => ({ authorization: "" }), "UnrecognizedClientException"],
    [
      "with an access key that another run had",
      () => ({
        authorization: "AWS4-HMAC-SHA256 Credential=AKIALOCALOPERATOR000/20200101/eu-west-1/lambda/aws4_request",
      }),
      "UnrecognizedClientException",
    ],
    ["of a page", () => ({ ...operator(), origin: "https://evil.example" }), "AccessDeniedException"],
    ["of a page without an origin", () => ({ ...operator(), origin: "null" }), "AccessDeniedException"],
    ["to a name that leads to the loopback", () => ({ ...operator(), host: "evil.example" }), "AccessDeniedException"],
    ["to the port under another name", () => ({ ...operator(), host: "localhost" }), "AccessDeniedException"],
  ])("%s is refused, whatever the function does", async (_, headersOf, type) => {
    const { port } = new URL(test.cloud.endpoint);
    const headers = headersOf();
    const [status, text] = await new Promise<[number | undefined, string]>((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port, path: "/2015-03-31/functions/thrower/invocations", method: "POST", headers },
        (response) => {
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("end", () => resolve([response.statusCode, Buffer.concat(parts).toString()]));
        },
      );
      sent.once("error", reject).end("{}");
    });
    expect([status, text]).toEqual([403, expect.not.stringContaining("TypeError")]);
    expect(text).toContain(type === "AccessDeniedException" ? "page, or was sent" : "security token");
  });

  it("a call that the runner does not know is an error that names it", async () => {
    const [answer] = await test.calls("secrets", [
      { target: "secretsmanager.DeleteSecret", body: { SecretId: "test/key" } },
    ]);
    expect(answer).toMatchObject({ status: 501, body: { message: expect.stringContaining("DeleteSecret") } });
  });
});

describe("a restart", () => {
  const value = "w".repeat(24);
  const [Username, token] = ["kept@example.com", "r".repeat(32)];
  let keyId = "";
  let before: unknown;
  let sub: unknown;

  /** All of it is made before one restart. */
  beforeAll(async () => {
    keyId = String((await call("keys", "/apikeys", "POST", { name: "kept", enabled: true, value }))?.body["id"]);
    await call("keys", `/usageplans/${plan}/keys`, "POST", { keyId, keyType: "API_KEY" });
    const { body } = (await secret("secrets", "GetSecretValue", {})) ?? {};
    before = body?.["SecretString"];
    const pending = { ClientRequestToken: token, SecretString: "kept", VersionStages: ["AWSPENDING"] };
    await secret("secrets", "PutSecretValue", pending);
    const move = { VersionStage: "AWSCURRENT", MoveToVersionId: token, RemoveFromVersionId: body?.["VersionId"] };
    await secret("secrets", "UpdateSecretVersionStage", move);
    sub = Object((await user("AdminCreateUser", { Username }))?.body["User"])["Username"];
    await test.restart();
  });

  it("leaves an API key in its plan, from which it can be taken away", async () => {
    expect((await call("keys", `/apikeys/${keyId}`, "GET"))?.body).toMatchObject({ id: keyId, name: "kept" });
    expect((await call("keys", `/usageplans/${plan}/keys/${keyId}`, "GET"))?.status).toBe(200);
    expect((await call("keys", `/usageplans/${plan}/keys/${keyId}`, "DELETE"))?.status).toBe(202);
    expect((await call("keys", `/apikeys/${keyId}`, "DELETE"))?.status).toBe(202);
  });

  it("leaves a secret its versions and their labels", async () => {
    expect((await secret("reader", "GetSecretValue", {}))?.body["SecretString"]).toBe("kept");
    const previous = await secret("reader", "GetSecretValue", { VersionStage: "AWSPREVIOUS" });
    expect(previous?.body["SecretString"]).toBe(before);
  });

  it("leaves a user of the pool", async () => {
    const found = await user("AdminGetUser", { Username });
    expect(found?.body).toMatchObject({ Username: sub, Enabled: true, UserStatus: "FORCE_CHANGE_PASSWORD" });
    expect(sub).toEqual(expect.any(String));
  });
});
