import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cloud, type CloudOptions, startCloud } from "../../infra/local/cloud.ts";

type Properties = Record<string, unknown>;

/** A resource as a template holds it. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Properties;
  readonly Condition?: string;
}

/** A function of a template written by hand. */
export interface TestFunction {
  /** Text of `index.mjs`. */
  readonly code: string;
  readonly statements?: readonly Properties[];
  readonly timeout?: number;
  readonly environment?: Properties;
  /** Further properties of the function in the template. */
  readonly properties?: Properties;
}

/** A template written by hand. */
export interface TestStack {
  readonly resources?: Record<string, TemplateResource>;
  readonly functions?: Record<string, TestFunction>;
  readonly parameters?: Properties;
  readonly conditions?: Properties;
  readonly outputs?: Properties;
  /** Nested templates by file name; a stack resource names the file as the last part of its TemplateURL. */
  readonly nested?: Record<string, Properties>;
}

/** Makes a folder that `remove` takes away. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "brokerage-local-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Writes a cloud assembly with one stack, `test`, into a folder. */
export function writeAssembly(folder: string, stack: TestStack): void {
  const files: Record<string, unknown> = {};
  const asset = (key: string, path: string) => {
    files[key] = { source: { path }, destinations: { here: { bucketName: "assets", objectKey: key } } };
  };
  const resources: Record<string, unknown> = { ...stack.resources };
  for (const [name, definition] of Object.entries(stack.functions ?? {})) {
    mkdirSync(join(folder, `asset.${name}`), { recursive: true });
    writeFileSync(join(folder, `asset.${name}`, "index.mjs"), definition.code);
    asset(`${name}.zip`, `asset.${name}`);
    Object.assign(resources, functionResources(name, definition));
  }
  for (const [name, template] of Object.entries(stack.nested ?? {})) {
    writeFileSync(join(folder, name), JSON.stringify(template));
    asset(name, name);
  }
  const template = {
    Resources: resources,
    ...(stack.parameters && { Parameters: stack.parameters }),
    ...(stack.conditions && { Conditions: stack.conditions }),
    ...(stack.outputs && { Outputs: stack.outputs }),
  };
  const manifest = {
    artifacts: {
      test: { type: "aws:cloudformation:stack", properties: { templateFile: "test.template.json" } },
      "test.assets": { type: "cdk:asset-manifest", properties: { file: "test.assets.json" } },
    },
  };
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "test.template.json"), JSON.stringify(template));
  writeFileSync(join(folder, "test.assets.json"), JSON.stringify({ files }));
}

function functionResources(name: string, definition: TestFunction) {
  const { statements = [], timeout = 10, environment = {}, properties = {} } = definition;
  const policy = { PolicyName: "function", PolicyDocument: { Version: "2012-10-17", Statement: statements } };
  return {
    [`${name}Role`]: {
      Type: "AWS::IAM::Role",
      Properties: { AssumeRolePolicyDocument: {}, ...(statements.length > 0 && { Policies: [policy] }) },
    },
    [`${name}Function`]: {
      Type: "AWS::Lambda::Function",
      Properties: {
        FunctionName: name,
        Handler: "index.handler",
        Runtime: "nodejs24.x",
        Role: { "Fn::GetAtt": [`${name}Role`, "Arn"] },
        Code: { S3Bucket: "assets", S3Key: `${name}.zip` },
        Timeout: timeout,
        MemorySize: 256,
        Environment: { Variables: environment },
        ...properties,
      },
    },
  };
}

/** A table with `pk` and `sk`, an index `due`, a stream and a time to live. */
export const table: TemplateResource = {
  Type: "AWS::DynamoDB::GlobalTable",
  Properties: {
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    AttributeDefinitions: ["pk", "sk", "due_pk", "due_sk"].map((AttributeName) => ({
      AttributeName,
      AttributeType: "S",
    })),
    BillingMode: "PAY_PER_REQUEST",
    GlobalSecondaryIndexes: [
      {
        IndexName: "due",
        KeySchema: [
          { AttributeName: "due_pk", KeyType: "HASH" },
          { AttributeName: "due_sk", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
    StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
    TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
  },
};

/** ARN of a table in the template. */
export const tableArn = { "Fn::GetAtt": ["Main", "Arn"] };

/** A statement that allows actions on the table for some partition keys. */
export function onTable(sid: string, actions: string[], keys: string[] = ["brk_*"], resource: unknown = tableArn) {
  return {
    Sid: sid,
    Effect: "Allow",
    Action: actions.map((action) => `dynamodb:${action}`),
    Resource: resource,
    Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": keys } },
  };
}

/**
 * Code of a function that makes the calls which its event lists, all at once, and returns their answers. The endpoint
 * checks who calls and no signature, so the calls need no SDK.
 */
export const callerCode = `
const { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: id, AWS_SESSION_TOKEN: token } = process.env;
async function call({ target, method = "POST", path = "/", body }) {
  const response = await fetch(endpoint + path, {
    method,
    headers: {
      "content-type": "application/x-amz-json-1.0",
      ...(target && { "x-amz-target": target }),
      "x-amz-date": "20200101T000000Z",
      "x-amz-security-token": token,
      authorization: "AWS4-HMAC-SHA256 Credential=" + id + "/20200101/x/y/aws4_request, SignedHeaders=h, Signature=x",
    },
    ...(method !== "GET" && body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get("x-amzn-errortype");
  return { status: response.status, type, body: text === "" ? null : JSON.parse(text) };
}
export const handler = (event) => Promise.all(event.calls.map(call));
`;

/** A call for the function above. */
export interface TestCall {
  readonly target?: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
}

/** An answer that it returns. */
export interface TestAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly body: Record<string, unknown>;
}

/** A running template written by hand, in folders of its own. */
export interface TestCloud {
  readonly cloud: Cloud;
  readonly dataDir: string;
  /** Lets a function make calls. */
  calls(functionName: string, calls: readonly TestCall[]): Promise<TestAnswer[]>;
  /** Lets a function make one DynamoDB call. */
  dynamodb(functionName: string, operation: string, body: unknown): Promise<TestAnswer>;
  /** Stops it and starts it again on the same data. */
  restart(options?: Partial<CloudOptions>): Promise<void>;
  stop(): Promise<void>;
}

/** Writes and starts a template. */
export async function startTestCloud(stack: TestStack, options: Partial<CloudOptions> = {}): Promise<TestCloud> {
  const folder = temporaryFolder();
  const assemblyDir = join(folder.path, "assembly");
  const dataDir = join(folder.path, "data");
  mkdirSync(assemblyDir);
  writeAssembly(assemblyDir, stack);
  const start = (more: Partial<CloudOptions>) => startCloud({ assemblyDir, dataDir, port: 0, ...more });
  let cloud = await start(options).catch((error: unknown) => {
    folder.remove();
    throw error;
  });
  const calls = async (functionName: string, list: readonly TestCall[]): Promise<TestAnswer[]> => {
    const { payload, functionError } = await cloud.invoke(functionName, { calls: list });
    if (functionError !== undefined) throw new Error(JSON.stringify(payload));
    return payload as TestAnswer[];
  };
  return {
    get cloud() {
      return cloud;
    },
    dataDir,
    calls,
    async dynamodb(functionName, operation, body) {
      const [answer] = await calls(functionName, [{ target: `DynamoDB_20120810.${operation}`, body }]);
      if (answer === undefined) throw new Error("The function made no call.");
      return answer;
    },
    async restart(more = {}) {
      await cloud.stop();
      cloud = await start({ ...options, ...more });
    },
    async stop() {
      await cloud.stop();
      folder.remove();
    },
  };
}

/** Whether a process exists. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
