import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { rateMs } from "../../infra/local/schedules/schedules.ts";
import { eventually } from "../support/wait.ts";
import { startTestCloud, type TemplateResource, type TestCloud, type TestStack, temporaryFolder } from "./fixture.ts";

const notes = temporaryFolder();
let test: TestCloud | undefined;
afterEach(async () => {
  await test?.stop();
  test = undefined;
});
afterAll(notes.remove);

/** Code of a function that writes its events down, one on a line. */
const noting = (file: string, more = "") => `
  import { appendFileSync } from "node:fs";
  ${more}
  export const handler = async (event) => {
    appendFileSync(${JSON.stringify(join(notes.path, file))}, JSON.stringify(event) + "\\n");
    ${more === "" ? "" : "await step(event);"}
  };`;

/** The events in a file. Text behind the last end of a line, all of a new file too, is still being written. */
function noted(file: string): Record<string, unknown>[] {
  const path = join(notes.path, file);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

const invoker = (allowed: boolean): TemplateResource => ({
  Type: "AWS::IAM::Role",
  Properties: {
    AssumeRolePolicyDocument: {},
    Policies: [
      {
        PolicyName: "p",
        PolicyDocument: {
          Version: "2012-10-17",
          Statement: [
            {
              Effect: allowed ? "Allow" : "Deny",
              Action: "lambda:InvokeFunction",
              Resource: { "Fn::GetAtt": ["workerFunction", "Arn"] },
            },
          ],
        },
      },
    ],
  },
});

function scheduled(file: string, more: Record<string, unknown> = {}, allowed = true): TestStack {
  return {
    resources: {
      Invoker: invoker(allowed),
      Every: {
        Type: "AWS::Scheduler::Schedule",
        Properties: {
          Name: "every",
          ScheduleExpression: "rate(5 minutes)",
          FlexibleTimeWindow: { Mode: "OFF" },
          Target: {
            Arn: { "Fn::GetAtt": ["workerFunction", "Arn"] },
            RoleArn: { "Fn::GetAtt": ["Invoker", "Arn"] },
            Input: '{"action":"sweep"}',
          },
          ...more,
        },
      },
    },
    functions: { worker: { code: noting(file) } },
  };
}

describe("a schedule", () => {
  it("invokes its function at once with its input, and then at its rate over the time scale", async () => {
    const started = Date.now();
    test = await startTestCloud(scheduled("scaled"), { timeScale: 1000 });
    const events = await eventually(() => (noted("scaled").length >= 3 ? noted("scaled") : undefined));
    expect(events.slice(0, 3)).toEqual([{ action: "sweep" }, { action: "sweep" }, { action: "sweep" }]);
    expect(Date.now() - started).toBeGreaterThanOrEqual(600);
  });

  it("waits for its rate where the runner does not begin with a turn", async () => {
    const startMs = Date.now();
    test = await startTestCloud(scheduled("later"), { timeScale: 1000, schedulesAtStart: false });
    await eventually(() => noted("later").length > 0 || undefined);
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(1000);
  });

  it("does nothing when it is disabled", async () => {
    test = await startTestCloud(scheduled("disabled", { State: "DISABLED" }), { timeScale: 1000 });
    await test.cloud.invoke("worker", { by: "hand" });
    expect(noted("disabled")).toEqual([{ by: "hand" }]);
  });

  it.each<[string, TestStack, RegExp]>([
    ["an expression", scheduled("x", { ScheduleExpression: "cron(0 1 * * ? *)" }), /test\/Every.*cron/],
    ["a time window", scheduled("x", { FlexibleTimeWindow: { Mode: "FLEXIBLE" } }), /test\/Every.*time window/],
    ["a role without the right", scheduled("x", {}, false), /test\/Every.*may not invoke worker/],
  ])("that has %s which the runner does not understand stops it", async (_, stack, message) => {
    await expect(startTestCloud(stack)).rejects.toThrow(message);
  });

  it.each([
    ["rate(1 minute)", 60_000],
    ["rate(5 minutes)", 300_000],
    ["rate(2 hours)", 7_200_000],
    ["rate(1 day)", 86_400_000],
  ])("%s is %d ms", (expression, ms) => {
    expect(rateMs(expression, "test")).toBe(ms);
  });
});

/** The steps of a rotation as Secrets Manager's own templates do them. */
const rotating = `
  const { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: id, AWS_SESSION_TOKEN: token } = process.env;
  async function secrets(operation, body) {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "x-amz-target": "secretsmanager." + operation,
        "x-amz-security-token": token,
        authorization: "AWS4-HMAC-SHA256 Credential=" + id + "/x",
      },
      body: JSON.stringify(body),
    });
    return response.json();
  }
  let failures = Number(process.env.FAILURES ?? 0);
  async function step({ Step, SecretId, ClientRequestToken }) {
    const { VersionIdsToStages: stages, RotationEnabled } = await secrets("DescribeSecret", { SecretId });
    if (!RotationEnabled || !stages[ClientRequestToken].includes("AWSPENDING")) throw new Error("not announced");
    if (Step === "createSecret") {
      const pending = { SecretId, VersionId: ClientRequestToken, VersionStage: "AWSPENDING" };
      const there = await secrets("GetSecretValue", pending);
      if (there.__type !== "ResourceNotFoundException") return;
      await secrets("PutSecretValue", {
        SecretId, ClientRequestToken, SecretString: "made-" + Object.keys(stages).length, VersionStages: ["AWSPENDING"],
      });
    }
    if (Step === "testSecret" && (failures -= 1) >= 0) throw new Error("not yet");
    if (Step !== "finishSecret") return;
    const from = Object.keys(stages).find((version) => stages[version].includes("AWSCURRENT"));
    await secrets("UpdateSecretVersionStage", {
      SecretId, VersionStage: "AWSCURRENT", MoveToVersionId: ClientRequestToken, RemoveFromVersionId: from,
    });
  }`;

function rotated(file: string, options: { permitted?: boolean; failures?: number; days?: number } = {}): TestStack {
  const { permitted = true, failures = 0, days = 90 } = options;
  const functionRef = { Ref: "rotatorFunction" };
  const permission = {
    Permission: {
      Type: "AWS::Lambda::Permission",
      Properties: {
        Action: "lambda:InvokeFunction",
        FunctionName: functionRef,
        Principal: "secretsmanager.amazonaws.com",
        SourceArn: { Ref: "Key" },
      },
    },
  };
  return {
    resources: {
      Key: { Type: "AWS::SecretsManager::Secret", Properties: { Name: "key", SecretString: "first" } },
      Rotation: {
        Type: "AWS::SecretsManager::RotationSchedule",
        Properties: {
          SecretId: { Ref: "Key" },
          RotationLambdaARN: { "Fn::GetAtt": ["rotatorFunction", "Arn"] },
          RotationRules: { AutomaticallyAfterDays: days },
        },
      },
      ...(permitted && permission),
    },
    functions: {
      rotator: {
        code: noting(file, rotating),
        statements: [{ Effect: "Allow", Action: "secretsmanager:*", Resource: { Ref: "Key" } }],
        environment: { FAILURES: String(failures) },
      },
    },
  };
}

const stepsOf = (file: string) => noted(file).map(({ Step }) => Step);
const fourSteps = ["createSecret", "setSecret", "testSecret", "finishSecret"];

function secretFile(folder: string): {
  versions: { secret_string: string; stages: string[] }[];
  last_rotated_ms: number | null;
} {
  return JSON.parse(readFileSync(join(folder, "secrets.json"), "utf8")).secrets[0];
}

describe("the rotation of a secret", () => {
  it("happens at creation by four steps, and not again at the next start", async () => {
    test = await startTestCloud(rotated("once"));
    const { dataDir } = test;
    await eventually(() => secretFile(dataDir).last_rotated_ms ?? undefined);
    expect(stepsOf("once")).toEqual(fourSteps);
    expect(new Set(noted("once").map(({ ClientRequestToken: token }) => token)).size).toBe(1);
    expect(secretFile(dataDir).versions).toMatchObject([
      { secret_string: "first", stages: ["AWSPREVIOUS"] },
      { stages: ["AWSPENDING", "AWSCURRENT"] },
    ]);
    await test.restart();
    await test.cloud.invoke("rotator", { Step: "none", SecretId: "key", ClientRequestToken: "x" });
    expect(stepsOf("once")).toEqual([...fourSteps, "none"]);
  });

  it("is tried again from its first step, with the same version, when a step fails", async () => {
    test = await startTestCloud(rotated("again", { failures: 1 }));
    const { dataDir } = test;
    await eventually(() => secretFile(dataDir).last_rotated_ms ?? undefined);
    expect(stepsOf("again")).toEqual([...fourSteps.slice(0, 3), ...fourSteps]);
    expect(secretFile(dataDir).versions).toHaveLength(2);
  });

  it("comes again after its days over the time scale", async () => {
    test = await startTestCloud(rotated("daily", { days: 1 }), { timeScale: 100_000 });
    await eventually(() => (stepsOf("daily").length >= 8 ? true : undefined));
    expect(stepsOf("daily").slice(0, 8)).toEqual([...fourSteps, ...fourSteps]);
  });

  it("stops the runner when Secrets Manager has no permission to invoke the function", async () => {
    await expect(startTestCloud(rotated("x", { permitted: false }))).rejects.toThrow(
      /test\/Rotation.*no permission.*rotator/,
    );
  });
});
