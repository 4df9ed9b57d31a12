import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { settingsFile, settingsVariable } from "../../../infra/settings-file.ts";
import {
  parseSettings,
  readSettings,
  reservedConcurrency,
  SettingsError,
  type StageSettings,
  settingsWarnings,
  withSettings,
} from "../../../infra/stage-settings.ts";
import { functionName, stageConfig } from "../../../infra/stages.ts";
import { publishedUrls, tokenClaims } from "../../../shared/hosts.ts";
import document from "../../../shared/openapi/openapi.json" with { type: "json" };
import { stages } from "../../../shared/routes/route.ts";
import { machineNode } from "../../support/machine-node.ts";
import type { NamedResource, SynthesizedStage } from "../assembly.ts";
import { apiOf, certificateIn, namedConfig, namedStage } from "./named-stage.ts";

const example = new URL("../../../infra/stages.example.json", import.meta.url);

describe("settings of stages", () => {
  test("are read as the example has them", () => {
    const { sandbox, production } = parseSettings(readFileSync(example, "utf8"), "the example");
    expect(withSettings(stageConfig("sandbox"), sandbox ?? {})).toMatchObject({
      alarmEmails: ["operations@example.com"],
      tokenAudience: publishedUrls.sandbox,
    });
    const config = withSettings(stageConfig("production"), production ?? {});
    expect(config).toMatchObject({
      api: { domain: "api.example.com" },
      dashboard: { domain: "dashboard.example.com" },
      tokenIssuer: "https://api.example.com",
      tokenAudience: "https://api.example.com/v2",
      mailFrom: "no-reply@example.com",
      deliveries: { firstConcurrency: 35, unprovenConcurrency: 5, retryConcurrency: 10 },
      publishing: { concurrency: 20, streamShards: 16 },
      copyRegion: "eu-central-1",
    });
  });

  test("change nothing where they are empty", () => {
    for (const stage of stages) expect(withSettings(stageConfig(stage), {})).toEqual(stageConfig(stage));
  });

  test.each([
    ["{", /^s is not valid JSON: /],
    ["[]", "s must be an object with the members sandbox and production."],
    ['{"staging":{}}', 's has no stage "staging"; the stages are sandbox and production.'],
    ['{"sandbox":1}', "s: sandbox must be an object with settings."],
    ['{"sandbox":{"apI":{}}}', 's: sandbox has no setting "apI".'],
    [JSON.stringify({ sandbox: { api: {} } }), "s: sandbox.api.domain must be a domain name such as api.example.com."],
    [
      JSON.stringify({ sandbox: apiOf({ domain: "https://a.example.com" }) }),
      "s: sandbox.api.domain must be a domain name in lower case.",
    ],
    [
      JSON.stringify({ sandbox: apiOf({ certificate_arn: "arn:aws:iam::1:certificate/x" }) }),
      "s: sandbox.api.certificate_arn must be the ARN of a certificate in the region of the stage.",
    ],
    [
      JSON.stringify({
        sandbox: { dashboard: { domain: "d.example.com", certificate_arn: certificateIn("eu-west-1") } },
      }),
      "s: sandbox.dashboard.certificate_arn must be the ARN of a certificate in us-east-1.",
    ],
    ['{"sandbox":{"alarm_emails":"a@example.com"}}', "s: sandbox.alarm_emails must be a list of email addresses."],
    ['{"sandbox":{"alarm_emails":["a"]}}', "s: sandbox.alarm_emails.0 must be an email address."],
    ['{"sandbox":{"invitations_from":"a"}}', "s: sandbox.invitations_from must be an email address."],
    ['{"sandbox":{"monthly_budget_usd":0}}', "s: sandbox.monthly_budget_usd must be a whole number from 1 to 1000000."],
    [
      '{"sandbox":{"concurrency":{"retries":1}}}',
      "s: sandbox.concurrency.retries must be a whole number from 2 to 1000.",
    ],
    ['{"sandbox":{"concurrency":{"all":9}}}', 's: sandbox.concurrency has no setting "all".'],
    [
      '{"sandbox":{"sign_in_origins":["http://a.example.com"]}}',
      "s: sandbox.sign_in_origins.0 must be an origin with https and without a path, such as https://example.com.",
    ],
    ['{"sandbox":{"copy_region":"Frankfurt"}}', "s: sandbox.copy_region must be a region of AWS such as eu-central-1."],
    [
      '{"production":{"table_stream":"arn:aws:dynamodb:eu-west-1:123456789012:table/x"}}',
      "s: production.table_stream must be the ARN of the stream of a restored table.",
    ],
    ['{"sandbox":{"stream_shards":1.5}}', "s: sandbox.stream_shards must be a whole number from 1 to 10000."],
  ])("%s is refused with the place and what belongs there", (text, message) => {
    expect(() => parseSettings(text, "s")).toThrow(SettingsError);
    expect(() => parseSettings(text, "s")).toThrow(message);
  });

  test("come from the environment, or else from the untracked file", () => {
    const folder = mkdtempSync(join(tmpdir(), "settings-"));
    try {
      expect(readSettings("sandbox", folder, {})).toEqual({});
      writeFileSync(join(folder, settingsFile), '{"sandbox":{"monthly_budget_usd":7}}');
      expect(readSettings("sandbox", folder, {})).toEqual({ monthly_budget_usd: 7 });
      expect(readSettings("production", folder, {})).toEqual({});
      const env = { [settingsVariable]: '{"sandbox":{"monthly_budget_usd":8}}' };
      expect(readSettings("sandbox", folder, env)).toEqual({ monthly_budget_usd: 8 });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const ignored = readFileSync(new URL("../../../.gitignore", import.meta.url), "utf8").split("\n");
    expect(ignored).toContain(settingsFile);
  });

  test("warn where no alarm reaches a person", () => {
    expect(settingsWarnings(stageConfig("sandbox"))).toEqual([expect.stringContaining("alarm_emails of sandbox")]);
    const settings: StageSettings = { alarm_emails: ["a@example.com"] };
    expect(settingsWarnings(withSettings(stageConfig("sandbox"), settings))).toEqual([]);
  });

  test("a deployment with wrong settings ends with one sentence, before anything is built", async () => {
    const root = new URL("../../..", import.meta.url).pathname;
    const env = { ...process.env, [settingsVariable]: '{"sandbox":{"alarm_emails":[1]}}' };
    const outcome = await new Promise((resolve) => {
      const words = ["--import", "tsx", "infra/app.ts", "-c", "stage=sandbox"];
      execFile(machineNode, words, { cwd: root, env }, (error, stdout, stderr) =>
        resolve({ code: error?.code, stdout, stderr }),
      );
    });
    const stderr = `${settingsVariable}: sandbox.alarm_emails.0 must be an email address.\n`;
    expect(outcome).toEqual({ code: 1, stdout: "", stderr });
  });
});

describe("the address of a stage", () => {
  test("is the same in the OpenAPI document, in the tokens and in the configuration", () => {
    const named = Object.fromEntries(document.servers.map(({ url, description }) => [description.toLowerCase(), url]));
    expect(named).toEqual(publishedUrls);
    for (const stage of stages) {
      const { tokenIssuer: issuer, tokenAudience: audience } = stageConfig(stage);
      expect({ issuer, audience }).toEqual(tokenClaims(publishedUrls[stage]));
    }
  });
});

describe("a stage with settings", () => {
  let stage: SynthesizedStage;
  beforeAll(async () => {
    stage = await namedStage();
  });
  afterAll(() => stage?.remove());

  const ofType = (type: string): NamedResource[] => stage.resources.filter((each) => each.type === type);

  test("serves the API at its name, below /v2, with TLS 1.2 at least", () => {
    expect(ofType("AWS::ApiGateway::DomainName").map(({ properties }) => properties)).toEqual([
      expect.objectContaining({
        DomainName: "api.example.com",
        RegionalCertificateArn: certificateIn("eu-west-1"),
        EndpointConfiguration: { Types: ["REGIONAL"] },
        SecurityPolicy: "TLS_1_2",
      }),
    ]);
    expect(ofType("AWS::ApiGateway::BasePathMapping").map(({ properties }) => properties["BasePath"])).toEqual(["v2"]);
    for (const { properties } of ofType("AWS::Lambda::Function")) {
      const { Variables } = (properties["Environment"] ?? {}) as { Variables?: Record<string, string> };
      if (Variables?.["STAGE"] === undefined) continue;
      expect(Variables["PUBLIC_BASE_URL"]).toBe("https://api.example.com/v2");
      expect([Variables["TOKEN_ISSUER"], Variables["TOKEN_AUDIENCE"]]).toEqual([
        ...["https://api.example.com", "https://api.example.com/v2"],
      ]);
    }
  });

  test("serves the stream at its name, without a path, and connections at the address of API Gateway", () => {
    expect(ofType("AWS::ApiGatewayV2::DomainName").map(({ properties }) => properties)).toEqual([
      expect.objectContaining({
        DomainName: "stream.example.com",
        DomainNameConfigurations: [
          { CertificateArn: certificateIn("eu-west-1"), EndpointType: "REGIONAL", SecurityPolicy: "TLS_1_2" },
        ],
      }),
    ]);
    expect(ofType("AWS::ApiGatewayV2::ApiMapping").map(({ properties }) => properties["ApiMappingKey"])).toEqual([
      undefined,
    ]);
    const variables = ofType("AWS::Lambda::Function").map(({ properties }) => {
      return (properties["Environment"] as { Variables?: Record<string, unknown> } | undefined)?.Variables ?? {};
    });
    const handedOut = variables.flatMap(({ STREAM_URL }) => STREAM_URL ?? []);
    // To the function that issues tickets, and to the one that describes the stream.
    expect(handedOut).toEqual(["wss://stream.example.com", "wss://stream.example.com"]);
    const called = variables.flatMap(({ STREAM_ENDPOINT }) => STREAM_ENDPOINT ?? []);
    // Those of the stream, and the one that closes the streams of people who are out.
    expect(called).toHaveLength(3);
    expect(JSON.stringify(called)).toMatch(/execute-api[\s\S]*\/v2/);
  });

  test("says where its names have to point to", () => {
    const parent = stage.templates.find(({ name }) => name === "brokerage-sandbox.template.json")?.template;
    const { Outputs } = parent as unknown as { Outputs: Record<string, { Value: unknown }> };
    expect(Outputs["DashboardUrl"]?.Value).toBe("https://dashboard.example.com");
    expect(Outputs["ApiDomainTarget"]?.Value).toEqual({
      "Fn::GetAtt": [expect.stringMatching(/^ApiDomain/), "RegionalDomainName"],
    });
    expect(Outputs["StreamUrl"]?.Value).toBe("wss://stream.example.com");
    const fromStream = [expect.stringContaining("StreamRoutesNestedStack"), expect.stringContaining("Domain")];
    expect(Outputs["StreamDomainTarget"]?.Value).toEqual({ "Fn::GetAtt": fromStream });
    const fromDashboard = [expect.stringContaining("DashboardNestedStack"), expect.stringContaining("DomainName")];
    expect(Outputs["DashboardDomainTarget"]?.Value).toEqual({ "Fn::GetAtt": fromDashboard });
  });

  test("sends its alarms, and their end, to each address", () => {
    const endpoints = ofType("AWS::SNS::Subscription").map(({ properties }) => [
      properties["Protocol"],
      properties["Endpoint"],
    ]);
    expect(endpoints).toEqual([
      ["email", "a@example.com"],
      ["email", "b@example.com"],
    ]);
    const alarms = ofType("AWS::CloudWatch::Alarm");
    expect(alarms.length).toBeGreaterThan(30);
    for (const { properties } of alarms) expect(properties["OKActions"]).toEqual(properties["AlarmActions"]);
  });

  test("reserves as many invocations as its functions have", () => {
    const reserved = ofType("AWS::Lambda::Function").flatMap(({ properties }) => {
      const count = properties["ReservedConcurrentExecutions"];
      return count === undefined ? [] : [[properties["FunctionName"], count]];
    });
    const stated = Object.entries(
      reservedConcurrency({ ...stageConfig("sandbox"), evaluations: namedConfig.evaluations }),
    );
    expect(Object.fromEntries(reserved)).toEqual(
      Object.fromEntries(stated.map(([id, count]) => [functionName("sandbox", id), count])),
    );
    const inProduction = Object.values(reservedConcurrency(stageConfig("production")));
    expect(inProduction.reduce((one, other) => one + other, 0)).toBe(207);
  });
});
