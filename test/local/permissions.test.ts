import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type DeniedCall, startCloud } from "../../infra/local/cloud.ts";
import { type Access, Permissions } from "../../infra/local/iam/permissions.ts";
import { readAssembly } from "../../infra/local/template/assembly.ts";
import {
  callerCode,
  onTable,
  startTestCloud,
  type TestCloud,
  type TestStack,
  table,
  tableArn,
  temporaryFolder,
  writeAssembly,
} from "./fixture.ts";

const dueIndex = { "Fn::Join": ["", [tableArn, "/index/due"]] };
const stack: TestStack = {
  resources: { Main: table },
  functions: {
    writer: {
      code: callerCode,
      statements: [
        onTable("Put", ["PutItem"]),
        onTable("Update", ["UpdateItem"]),
        onTable("Read", ["BatchGetItem"], ["brk_*", "GLOBAL|*"]),
        onTable("Due", ["Query"], ["DUE|*"], dueIndex),
        {
          Sid: "Keep",
          Effect: "Deny",
          Action: ["dynamodb:UpdateItem", "dynamodb:DeleteItem"],
          Resource: tableArn,
          Condition: { "ForAnyValue:StringLike": { "dynamodb:LeadingKeys": ["*|LED"] } },
        },
      ],
    },
    checker: { code: callerCode, statements: [onTable("Check", ["ConditionCheckItem"]), onTable("Put", ["PutItem"])] },
    nobody: { code: callerCode },
  },
};

let test: TestCloud;
const denied: DeniedCall[] = [];
const TableName = "test-Main";
const key = (pk: string, sk = "1") => ({ pk: { S: pk }, sk: { S: sk } });
const put = (pk: string) => ({ Put: { TableName, Item: key(pk) } });
const update = (pk: string) => ({ Update: { TableName, Key: key(pk), UpdateExpression: "ADD n :n", ...one } });
const one = { ExpressionAttributeValues: { ":n": { N: "1" } } };
const check = (pk: string) => ({
  ConditionCheck: { TableName, Key: key(pk), ConditionExpression: "attribute_not_exists(pk)" },
});
const byDue = {
  TableName,
  IndexName: "due",
  KeyConditionExpression: "#p = :p AND due_sk < :s",
  ExpressionAttributeNames: { "#p": "due_pk" },
};

beforeAll(async () => {
  test = await startTestCloud(stack, { onDenied: (call) => denied.push(call) });
});
afterAll(() => test.stop());

describe("a call is checked against the policies of the function's role", () => {
  const query = (pk: string) => ({ ...byDue, ExpressionAttributeValues: { ":p": { S: pk }, ":s": { S: "z" } } });
  const reads = (...keys: string[]) => ({ RequestItems: { [TableName]: { Keys: keys.map((pk) => key(pk)) } } });
  it.each<[string, string, string, unknown, "allowed" | string]>([
    ["writer", "puts in its tenant", "PutItem", { TableName, Item: key("brk_1") }, "allowed"],
    ["writer", "puts elsewhere", "PutItem", { TableName, Item: key("GLOBAL|X") }, "dynamodb:PutItem"],
    ["writer", "puts by the table's ARN", "PutItem", { TableName: arn(), Item: key("brk_1") }, "allowed"],
    ["writer", "reads where it may", "BatchGetItem", reads("brk_1", "GLOBAL|X"), "allowed"],
    ["writer", "reads one key too many", "BatchGetItem", reads("brk_1", "X"), "dynamodb:BatchGetItem"],
    ["writer", "queries its index", "Query", query("DUE|1"), "allowed"],
    ["writer", "queries another partition of it", "Query", query("brk_1"), "dynamodb:Query"],
    ["writer", "queries the table", "Query", { ...queryTable("brk_1") }, "dynamodb:Query"],
    ["writer", "scans", "Scan", { TableName }, "dynamodb:Scan"],
    ["writer", "deletes", "DeleteItem", { TableName, Key: key("brk_1") }, "dynamodb:DeleteItem"],
    ["nobody", "puts", "PutItem", { TableName, Item: key("brk_1") }, "dynamodb:PutItem"],
    [
      "writer",
      "puts and updates together",
      "TransactWriteItems",
      { TransactItems: [put("brk_1"), update("brk_2")] },
      "allowed",
    ],
    [
      "writer",
      "checks in a transaction",
      "TransactWriteItems",
      { TransactItems: [put("brk_1"), check("brk_3")] },
      "dynamodb:ConditionCheckItem",
    ],
    [
      "checker",
      "checks in a transaction",
      "TransactWriteItems",
      { TransactItems: [put("brk_4"), check("brk_5")] },
      "allowed",
    ],
    [
      "checker",
      "updates in a transaction",
      "TransactWriteItems",
      { TransactItems: [update("brk_4")] },
      "dynamodb:UpdateItem",
    ],
    [
      "writer",
      "has one foreign member",
      "TransactWriteItems",
      { TransactItems: [put("brk_1"), put("X")] },
      "dynamodb:PutItem",
    ],
    [
      "writer",
      "updates the ledger",
      "TransactWriteItems",
      { TransactItems: [put("brk_1|LED"), update("brk_1|LED")] },
      "dynamodb:UpdateItem",
    ],
    ["writer", "appends to the ledger", "TransactWriteItems", { TransactItems: [put("brk_2|LED")] }, "allowed"],
  ])("%s %s", async (name, _, operation, body, expected) => {
    denied.length = 0;
    const answer = await test.dynamodb(name, operation, body);
    if (expected === "allowed") {
      expect(answer).toMatchObject({ status: 200 });
      return;
    }
    expect(answer).toMatchObject({ status: 400, type: "AccessDeniedException" });
    const message = String(answer.body["message"]);
    const user = `arn:aws:sts::000000000000:assumed-role/test-${name}Role/${name}`;
    expect(message).toContain(`User: ${user} is not authorized to perform: ${expected} on resource: ${arn()}`);
    expect(message).toMatch(
      /because no identity-based policy allows|with an explicit deny in an identity-based policy/,
    );
    expect(denied).toMatchObject([{ functionName: name, action: expected }]);
  });

  function arn(): string {
    return "arn:aws:dynamodb:eu-west-1:000000000000:table/test-Main";
  }

  function queryTable(pk: string) {
    return { TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": { S: pk } } };
  }

  it("and a call with unknown credentials is refused", async () => {
    const headers = {
      authorization: "AWS4-HMAC-SHA256 Credential=AKIAOTHER/x",
      "x-amz-target": "DynamoDB_20120810.PutItem",
    };
    const body = JSON.stringify({ TableName, Item: key("brk_1") });
    const response = await fetch(test.cloud.endpoint, { method: "POST", headers, body });
    expect([response.status, await response.json()]).toMatchObject([403, { __type: "UnrecognizedClientException" }]);
  });

  it("and which statement allowed it is remembered", async () => {
    await test.dynamodb("writer", "PutItem", { TableName, Item: key("brk_1") });
    expect(test.cloud.grantsUsed()).toContainEqual({
      function: "writer",
      action: "dynamodb:PutItem",
      resource: "arn:aws:dynamodb:eu-west-1:000000000000:table/test-Main",
      statement: "Put",
    });
    expect(test.cloud.unusedGrants().map(({ statement }) => statement)).not.toContain("Put");
  });
});

describe("decisions are kept by what they depend on", () => {
  function permissions(statements: Record<string, unknown>[]) {
    const folder = temporaryFolder();
    try {
      writeAssembly(folder.path, { resources: { Main: table }, functions: { f: { code: "", statements } } });
      const assembly = readAssembly(folder.path);
      return new Permissions(assembly.resources, assembly);
    } finally {
      folder.remove();
    }
  }
  const role = "arn:aws:iam::000000000000:role/test-fRole";
  const resource = "arn:aws:dynamodb:eu-west-1:000000000000:table/test-Main";
  const decide = async (checked: Permissions, ...leading_keys: string[]) =>
    (await checked.decide(role, "f", { action: "dynamodb:PutItem", resource, leading_keys })).allowed;

  it("so other keys of the same shape are not simulated again, and those of another shape are", async () => {
    const checked = permissions([onTable("Put", ["PutItem"])]);
    expect([await decide(checked, "brk_1"), await decide(checked, "brk_2", "brk_3")]).toEqual([true, true]);
    expect(checked.simulated).toBe(1);
    expect([await decide(checked, "brk_1", "X"), await decide(checked, "Y", "brk_9")]).toEqual([false, false]);
    expect(checked.simulated).toBe(2);
  });

  it("and not at all when a policy variable makes two keys of one shape different", async () => {
    const checked = permissions([onTable("Put", ["PutItem"], ["${aws:PrincipalAccount}"])]);
    expect([await decide(checked, "000000000001"), await decide(checked, "brk_1")]).toEqual([false, false]);
    expect(checked.simulated).toBe(2);
  });

  it("a condition on tags is decided for API keys, and stops the runner for anything else", () => {
    const onTags = { Condition: { StringEquals: { "aws:ResourceTag/stage": "test" } } };
    const ofKeys = { Effect: "Allow", Action: "apigateway:DELETE", Resource: "*", ...onTags };
    expect(() => permissions([ofKeys])).not.toThrow();
    expect(() => permissions([{ ...onTable("Put", ["PutItem"]), ...onTags }])).toThrow(/aws:ResourceTag/);
  });

  it("a condition on something that has no value here stops the runner", () => {
    const statement = { ...onTable("Put", ["PutItem"]), Condition: { StringEquals: { "aws:SourceVpc": "vpc-1" } } };
    expect(() => permissions([statement])).toThrow(/test\/fRole.*aws:SourceVpc/);
  });
});

describe("the role of provision", () => {
  const role = "brokerage-sandbox-provision";
  let ofSandbox: Permissions;
  let arn = "";
  beforeAll(() => {
    const { resources, ...placement } = readAssembly(inject("assemblyDir"));
    ofSandbox = new Permissions(resources, placement);
    const lambda = resources.find(({ properties }) => properties["FunctionName"] === role);
    arn = String(lambda?.properties["Role"]);
  });
  const at = (path: string) => `arn:aws:apigateway:eu-west-1::${path}`;
  const allowed = async (method: string, path: string, context: Access["context"]) =>
    (await ofSandbox.decide(arn, role, { action: `apigateway:${method}`, resource: at(path), context })).allowed;
  const tagsOf = (id: string) => `/tags/${encodeURIComponent(at("/apikeys/"))}${id}`;
  const asked = (tags: Readonly<Record<string, string>>): Access["context"] => ({
    ...Object.fromEntries(Object.entries(tags).map(([name, value]) => [`aws:RequestTag/${name}`, value])),
    "aws:TagKeys": Object.keys(tags),
  });

  it.each([
    ["without a tag", {}],
    ["of another stage", { "aws:ResourceTag/brokerage:stage": "production" }],
    ["with another tag", { "aws:ResourceTag/team": "sandbox" }],
  ])("deletes no API key %s", async (_, context) => {
    expect(await allowed("DELETE", "/apikeys/abc123", context)).toBe(false);
    expect(await allowed("PATCH", "/apikeys/abc123", context)).toBe(false);
    expect(await allowed("DELETE", "/apikeys/abc123", { "aws:ResourceTag/brokerage:stage": "sandbox" })).toBe(true);
  });

  it("makes API keys with its tag only, and gives the tag to none that is there already", async () => {
    const own = { "brokerage:stage": "sandbox" };
    expect(await allowed("POST", "/apikeys", asked(own))).toBe(true);
    expect(await allowed("PUT", tagsOf("*"), asked(own))).toBe(true);
    expect(await allowed("POST", "/apikeys", asked({}))).toBe(false);
    expect(await allowed("POST", "/apikeys", asked({ "brokerage:stage": "production" }))).toBe(false);
    expect(await allowed("POST", "/apikeys", asked({ ...own, other: "1" }))).toBe(false);
    expect(await allowed("PUT", tagsOf("abc123"), asked(own))).toBe(false);
    expect(await allowed("DELETE", tagsOf("abc123"), { "aws:TagKeys": ["brokerage:stage"] })).toBe(false);
  });
});

describe("the gateway", () => {
  it("stops the runner when its role may not invoke a function", async () => {
    const folder = temporaryFolder();
    try {
      cpSync(inject("assemblyDir"), folder.path, { recursive: true });
      const file = join(folder.path, "brokerage-sandbox.template.json");
      const text = readFileSync(file, "utf8");
      const other = text.replaceAll(":function:brokerage-sandbox-*", ":function:brokerage-sandbox-get-*");
      expect(other).not.toBe(text);
      writeFileSync(file, other);
      const options = { assemblyDir: folder.path, dataDir: join(folder.path, "data"), port: 0 };
      await expect(startCloud(options)).rejects.toThrow(/role may not invoke .*:function:brokerage-sandbox-/);
    } finally {
      folder.remove();
    }
  });
});
