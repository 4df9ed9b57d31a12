import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { readAssembly } from "../../infra/local/template/assembly.ts";
import { type TestStack, temporaryFolder, writeAssembly } from "./fixture.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

function read(stack: TestStack) {
  writeAssembly(folder.path, stack);
  return readAssembly(folder.path);
}

const queue = (name: unknown) => ({ Type: "AWS::SQS::Queue", Properties: { QueueName: name } });

/** Name of a queue that a template gives by an expression. */
function resolved(expression: unknown, more: TestStack = {}): string | undefined {
  const { resources } = read({
    ...more,
    resources: { Other: queue("other"), Tested: queue(expression), ...more.resources },
  });
  return resources.find(({ path }) => path === "test/Tested")?.attributes["QueueName"];
}

describe("intrinsic functions resolve to what they are on AWS", () => {
  it.each([
    [{ "Fn::Join": ["-", ["a", { Ref: "AWS::Region" }]] }, "a-eu-west-1"],
    [{ "Fn::Sub": "x-${AWS::AccountId}-${Other.QueueName}-${!literal}" }, "x-000000000000-other-${literal}"],
    [{ "Fn::Sub": ["${own}-${AWS::Partition}", { own: "mine" }] }, "mine-aws"],
    [{ "Fn::Select": [1, { "Fn::Split": [",", "a,b,c"] }] }, "b"],
    [{ "Fn::GetAtt": ["Other", "Arn"] }, "arn:aws:sqs:eu-west-1:000000000000:other"],
    [{ Ref: "Other" }, "https://sqs.eu-west-1.amazonaws.com/000000000000/other"],
    [{ Ref: "Given" }, "by default"],
    [{ "Fn::If": ["Local", "here", "there"] }, "here"],
    [{ "Fn::If": ["Elsewhere", "here", { "Fn::Join": ["", ["th", "ere"]] }] }, "there"],
  ])("%j", (expression, expected) => {
    const more = {
      parameters: { Given: { Type: "String", Default: "by default" } },
      conditions: {
        Local: { "Fn::Equals": [{ Ref: "AWS::Region" }, "eu-west-1"] },
        Elsewhere: { "Fn::And": [{ Condition: "Local" }, { "Fn::Not": [{ Condition: "Local" }] }] },
      },
    };
    expect(resolved(expression, more)).toBe(expected);
  });

  it("a resource whose condition does not hold is not there, and AWS::NoValue takes a property away", () => {
    const { resources } = read({
      conditions: { Never: { "Fn::Equals": ["a", "b"] } },
      resources: {
        Gone: { ...queue("gone"), Condition: "Never" },
        Kept: { Type: "AWS::SQS::Queue", Properties: { QueueName: "kept", DelaySeconds: { Ref: "AWS::NoValue" } } },
      },
    });
    expect(resources.map(({ path }) => path)).toEqual(["test/Kept"]);
    expect(resources[0]?.properties).toEqual({ QueueName: "kept" });
  });
});

describe("nested stacks", () => {
  it("get their parameters, and their outputs come back", () => {
    const nested = {
      Parameters: { Region: { Type: "String" } },
      Resources: { Inner: queue({ "Fn::Join": ["-", ["inner", { Ref: "Region" }]] }) },
      Outputs: { InnerArn: { Value: { "Fn::GetAtt": ["Inner", "Arn"] } } },
    };
    const assembly = read({
      nested: { "inner.template.json": nested },
      resources: {
        Nested: {
          Type: "AWS::CloudFormation::Stack",
          Properties: {
            TemplateURL: { "Fn::Join": ["/", ["https://s3", "inner.template.json"]] },
            Parameters: { Region: { Ref: "AWS::Region" } },
          },
        },
      },
      outputs: { Arn: { Value: { "Fn::GetAtt": ["Nested", "Outputs.InnerArn"] } } },
    });
    expect(assembly.outputs).toEqual({ Arn: "arn:aws:sqs:eu-west-1:000000000000:inner-eu-west-1" });
    expect(assembly.resources.map(({ path }) => path)).toEqual(["test/Nested/Inner"]);
  });

  it("give roles of the same logical id different names", () => {
    const role = { Type: "AWS::IAM::Role", Properties: { AssumeRolePolicyDocument: {} } };
    const template = { Resources: { Role: role } };
    const stackOf = (file: string) => ({
      Type: "AWS::CloudFormation::Stack",
      Properties: { TemplateURL: `s3/${file}` },
    });
    const { resources } = read({
      nested: { "a.json": template, "b.json": template },
      resources: { Role: role, A: stackOf("a.json"), B: stackOf("b.json") },
    });
    expect(new Set(resources.map(({ physical_id }) => physical_id)).size).toBe(3);
  });
});

describe("what is not understood stops the runner and is named", () => {
  const stream = { Type: "AWS::Kinesis::Stream", Properties: {} };
  it.each<[string, TestStack, RegExp]>([
    ["a resource type", { resources: { Ticks: stream } }, /test\/Ticks.*AWS::Kinesis::Stream/],
    [
      "a property",
      { resources: { Q: { Type: "AWS::SQS::Queue", Properties: { KmsMasterKeyId: "k" } } } },
      /test\/Q.*KmsMasterKeyId.*AWS::SQS::Queue/,
    ],
    [
      "an intrinsic function",
      { resources: { Q: queue({ "Fn::ImportValue": "x" }) } },
      /test\/Q \(AWS::SQS::Queue\).*ImportValue/,
    ],
    ["a name", { resources: { Q: queue({ Ref: "Nobody" }) } }, /test\/Q.*Nobody/],
    [
      "an attribute",
      { resources: { Q: queue({ "Fn::GetAtt": ["Q2", "Url"] }), Q2: queue("b") } },
      /test\/Q.*Url of Q2/,
    ],
    ["a circle", { resources: { Q: queue({ Ref: "Q" }) } }, /test\/Q.*itself/],
    [
      "a parameter of the account",
      {
        parameters: { P: { Type: "AWS::SSM::Parameter::Value<String>", Default: "/a" } },
        resources: { Q: queue({ Ref: "P" }) },
      },
      /test\/Q.*P/,
    ],
    [
      "a condition",
      { conditions: { C: { "Fn::Contains": [] } }, resources: { Q: { ...queue("q"), Condition: "C" } } },
      /Contains/,
    ],
  ])("%s", (_, stack, message) => {
    expect(() => read(stack)).toThrow(message);
  });
});

describe("the synthesized stage", () => {
  it("is understood as a whole, and every function has its code", () => {
    const { resources, outputs } = readAssembly(inject("assemblyDir"));
    const functions = resources.filter(({ type }) => type === "AWS::Lambda::Function");
    expect(functions.length).toBeGreaterThan(10);
    expect(functions.every(({ asset }) => asset !== undefined)).toBe(true);
    expect(outputs["ApiUrl"]).toMatch(/^https:\/\/[a-z0-9]{10}\.execute-api\.eu-west-1\.amazonaws\.com\/v2$/);
    const named = resources.filter(({ type }) => type !== "AWS::SecretsManager::RotationSchedule");
    const ids = named.map(({ type, physical_id }) => `${type} ${physical_id}`);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
