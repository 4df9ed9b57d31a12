import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { getClient } from "../../../shared/routes/clients.ts";
import { routes } from "../../../shared/routes/index.ts";
import { keptStage, type NamedResource, type SynthesizedStage, synthesizeStage, writeHandlers } from "../assembly.ts";

/** A resource with its place, as text that differs whenever anything of it differs. */
const printed = ({ template, logicalId, resource }: NamedResource) =>
  [`${template} ${logicalId}`, JSON.stringify(resource)] as const;

describe("a deployment in which one function changed", () => {
  let handlers: string;
  let next: SynthesizedStage;
  beforeAll(async () => {
    handlers = await writeHandlers(mkdtempSync(join(tmpdir(), "one-changed-")), routes);
    appendFileSync(join(handlers, `${getClient.file}.ts`), '\nconsole.log("another version");\n');
    next = await synthesizeStage({ stage: "sandbox", functionsRoot: handlers, validate: false });
  });
  afterAll(async () => {
    await next?.remove();
    rmSync(handlers, { recursive: true, force: true });
  });

  test("changes this function and the stack that it is in, and nothing else", async () => {
    const before = new Map((await keptStage({ stage: "sandbox" })).resources.map(printed));
    const changed = next.resources.filter((each) => {
      const [place, text] = printed(each);
      return before.get(place) !== text;
    });
    expect(before.size).toBe(next.resources.length);
    const shown = changed.map(({ template, logicalId, type }) => [type, `${template} ${logicalId}`]);
    expect(shown).toEqual([
      ["AWS::CloudFormation::Stack", expect.stringMatching(/^brokerage-sandbox\.template\.json clients/)],
      ["AWS::Lambda::Function", expect.stringMatching(/clients.*\.nested\.template\.json GetClientFunction/)],
    ]);
  });
});

describe("what a first creation that failed leaves", () => {
  /** Names that only one resource of an account, of a region or of the world may have. */
  const uniqueNames = ["TableName", "BucketName", "QueueName", "TopicName", "FunctionName", "Name", "Domain"];

  test("of production obstructs no second one, and is what the runbook names", async () => {
    const { resources } = await keptStage({ stage: "production" });
    const left = resources.filter(({ resource }) => resource.DeletionPolicy === "Retain");
    expect(left.map(({ type }) => type).sort()).toEqual([
      ...["AWS::Cognito::UserPool", "AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::GlobalTable"],
      ...["AWS::S3::Bucket", "AWS::S3::Bucket", "AWS::S3::Bucket"],
    ]);
    for (const { properties } of left) {
      expect(Object.keys(properties).filter((name) => uniqueNames.includes(name))).toEqual([]);
    }
  });

  test("of the sandbox are the buckets of the audit and of exports alone", async () => {
    const { resources } = await keptStage({ stage: "sandbox" });
    const left = resources.filter(({ resource }) => resource.DeletionPolicy?.startsWith("Retain"));
    expect(left.map(({ type, properties }) => [type, properties["BucketName"]])).toEqual([
      ["AWS::S3::Bucket", undefined],
      ["AWS::S3::Bucket", undefined],
    ]);
  });
});
