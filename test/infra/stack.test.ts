import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backgroundOf } from "../../infra/background/index.ts";
import { stageConfig } from "../../infra/stages.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Grant, Route, Stage } from "../../shared/routes/route.ts";
import {
  at,
  functionOf,
  lines,
  list,
  type NamedResource,
  ofType,
  only,
  roleOf,
  type SynthesizedStage,
  synthesizeStage,
} from "./assembly.ts";

const byStage = new Map<Stage, SynthesizedStage>();

beforeAll(async () => {
  for (const stage of ["sandbox", "production"] as const) {
    byStage.set(stage, await synthesizeStage({ stage, validate: false, config: { leadingKeys: true } }));
  }
});

afterAll(async () => {
  for (const stage of byStage.values()) await stage.remove();
});

function synthesized(stage: Stage): SynthesizedStage {
  const found = byStage.get(stage);
  if (found === undefined) throw new Error(`${stage} was not synthesized.`);
  return found;
}

/** The published meaning of each grant, written out here a second time on purpose. */
const actions: Record<Grant, string> = {
  read: "BatchGetItem main",
  query: "Query main",
  "query:list": "Query main/index/list",
  "query:state": "Query main/index/state",
  "query:owner": "Query main/index/owner",
  "query:client": "Query main/index/client",
  put: "PutItem main",
  update: "UpdateItem main",
  delete: "DeleteItem main",
  check: "ConditionCheckItem main",
  "read:quotes": "BatchGetItem volatile",
  "put:quotes": "PutItem volatile",
};

const ledgerDenial = ["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|*`);

function expectedLines(route: Route): string[] {
  const partitions = { client_ids: "GLOBAL|CLIENTID", public_keys: "GLOBAL|KEYS" };
  const keysOf = (grant: string) => {
    const globals = Object.entries(route.globals ?? {}).flatMap(([name, more]) => (name === grant ? more : []));
    const kinds = { applications: "brk_*#app_*", families: "brk_*#fam_*" };
    const tenants = route.within?.map((kind) => kinds[kind]) ?? ["brk_*"];
    return [...(route.tenantless ? [] : tenants), ...globals.map((name) => partitions[name])].join(" ");
  };
  const counted = route.rate === "token" ? "brk_* GLOBAL|FAIL|*" : "brk_*";
  const changes = route.grants.includes("update") || route.grants.includes("delete");
  return [
    ...route.grants.map((grant) => {
      const keys = grant.endsWith(":quotes") ? "brk_*|Q|* brk_*|PULSE|*" : keysOf(grant);
      return `Allow dynamodb:${actions[grant]} ${keys}`;
    }),
    ...(changes ? ledgerDenial : []),
    ...(route.rate === "none" ? [] : [`Allow dynamodb:UpdateItem volatile ${counted}`]),
    ...(route.secrets ?? []).map((name) => `Allow secretsmanager:GetSecretValue ${name.replace("_", "-")}`),
    ...(route.queues ?? []).map((queue) => `Allow sqs:SendMessage queue ${queue}`),
  ];
}

/** What every function may do: write its own log and its traces. */
function isOwn(line: string): boolean {
  return /^Allow (logs:CreateLogStream|logs:PutLogEvents|xray:)/.test(line);
}

function rightsOf(stage: Stage, id: string): string[] {
  const role = roleOf(synthesized(stage), `brokerage-${stage}-${id.replaceAll("_", "-")}`);
  return lines(role).filter((line) => !isOwn(line));
}

describe("rights of the functions", () => {
  test.each(routes.map((route) => [route.id, route] as const))("%s has exactly the grants of its row", (id, route) => {
    const stage = route.stages.includes("production") ? "production" : "sandbox";
    expect(rightsOf(stage, id).sort()).toEqual(expectedLines(route).sort());
  });

  test("the authorizer reads applications, families of tokens and public keys, nothing else", () => {
    expect(rightsOf("production", "authorize")).toEqual([
      "Allow dynamodb:BatchGetItem main brk_*#app_* brk_*#fam_* GLOBAL|KEYS",
    ]);
  });

  test("the rotation touches its secret and the public keys, nothing else", () => {
    expect(rightsOf("production", "rotate-signing-key").sort()).toEqual(
      [
        ...["PutItem", "Query", "UpdateItem"].map((action) => `Allow dynamodb:${action} main GLOBAL|KEYS`),
        ...ledgerDenial,
        ...["GetSecretValue", "PutSecretValue", "DescribeSecret", "UpdateSecretVersionStage"].map(
          (action) => `Allow secretsmanager:${action} signing-key`,
        ),
      ].sort(),
    );
  });

  test("the publisher reads its stream and quotes, sends to three queues and changes items of tenants", () => {
    const stream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    const rights = rightsOf("production", "publish");
    const failure = only(rights.filter((line) => /^Allow sqs:SendMessage .*publishfailures/.test(line)));
    expect(rights.filter((line) => line !== failure).sort()).toEqual(
      [
        ...["BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"].map(
          (a) => `Allow dynamodb:${a} main brk_*`,
        ),
        "Allow dynamodb:Query main/index/state brk_*",
        ...ledgerDenial,
        ...stream.map((action) => `Allow dynamodb:${action} stream`),
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow sqs:SendMessage queue deliver",
        "Allow sqs:SendMessage queue margin",
      ].sort(),
    );
  });

  test("the sweeps alone, with provision, read the due index", () => {
    expect(rightsOf("production", "promote").sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|*",
        ...["BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"].map(
          (a) => `Allow dynamodb:${a} main brk_*`,
        ),
        "Allow dynamodb:Query main/index/state brk_*",
        ...ledgerDenial,
        ...["deliver", "retrylong"].map((queue) => `Allow sqs:SendMessage queue ${queue}`),
      ].sort(),
    );
    const readers = ofType(synthesized("production"), "AWS::IAM::Role")
      .filter((role) => lines(role).some((line) => line.includes("main/index/due")))
      .map(({ logicalId }) => logicalId.replace(/Role[0-9A-F]+$/, ""));
    expect(readers.sort()).toEqual(["MarginSweep", "Promote", "Provision"]);
  });

  test("provision makes, finds and deletes API keys and puts them into the plan and out of it", () => {
    const rights = rightsOf("production", "provision");
    const gateway = rights.filter((line) => line.includes("apigateway"));
    const collections = gateway.map((line) => {
      const [, action = "", resource = ""] = line.split(" ");
      const collection = /\/(usageplans|tags)\//.exec(resource)?.[1] ?? "keys";
      return `${action} ${collection}${resource.includes("/*") ? "/*" : ""}`;
    });
    expect(collections.sort()).toEqual([
      "apigateway:DELETE keys/*",
      "apigateway:DELETE usageplans/*",
      "apigateway:GET keys",
      "apigateway:POST keys",
      "apigateway:POST usageplans",
      "apigateway:PUT tags",
    ]);
    expect(rights.filter((line) => !line.includes("apigateway")).sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|APP|*",
        ...["BatchGetItem", "UpdateItem"].map((a) => `Allow dynamodb:${a} main brk_*`),
        "Allow dynamodb:PutItem main brk_* GLOBAL|CLIENTID",
        ...ledgerDenial,
        ...["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map((a) => `Allow dynamodb:${a} stream`),
      ].sort(),
    );
  });

  test("the deliverer reads what a delivery needs, writes deliveries and health, and no endpoint", () => {
    const ladder = ["deliver", "deliverunproven", "retry1m", "retry5m", "retrylong"];
    expect(rightsOf("production", "deliver").sort()).toEqual(
      [
        "Allow dynamodb:BatchGetItem main brk_*|EVT|* brk_*#evt_* brk_*|WHE brk_*#dlv_* brk_*#whe_*",
        "Allow dynamodb:PutItem main brk_*#dlv_*",
        "Allow dynamodb:UpdateItem main brk_*#dlv_* brk_*#whe_*",
        "Allow secretsmanager:GetSecretValue service-key",
        ...ledgerDenial,
        ...["ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "SendMessage"].flatMap((action) =>
          ladder.map((queue) => `Allow sqs:${action} queue ${queue}`),
        ),
      ].sort(),
    );
    for (const stage of ["sandbox", "production"] as const) {
      const writes = rightsOf(stage, "deliver").filter((line) => /dynamodb:(Put|Update|Delete)/.test(line));
      expect(writes.filter((line) => line.startsWith("Allow") && /\|WHE|brk_\*( |$)/.test(line))).toEqual([]);
    }
  });

  test("the margin watch reads its stream and the exposure index, reports failures and asks for evaluations", () => {
    const rights = rightsOf("production", "watch");
    const failure = only(rights.filter((line) => /^Allow sqs:SendMessage .*watchfailures/.test(line)));
    expect(rights.filter((line) => line !== failure).sort()).toEqual(
      [
        "Allow dynamodb:Query main brk_*|EXP|* brk_*|SYM",
        "Allow dynamodb:PutItem main brk_*|BREACH|*",
        ...["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
          (action) => `Allow dynamodb:${action} volatile stream`,
        ),
        "Allow sqs:SendMessage queue margin",
      ].sort(),
    );
  });

  test("the evaluator reads quotes and changes items of tenants, and writes no quote", () => {
    expect(rightsOf("production", "evaluate").sort()).toEqual(
      [
        ...["BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"].map(
          (a) => `Allow dynamodb:${a} main brk_*`,
        ),
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        ...ledgerDenial,
        ...["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"].map((a) => `Allow sqs:${a} queue margin`),
      ].sort(),
    );
  });

  test("the margin sweep reads its part of the due index, changes no money and asks for evaluations", () => {
    const due = ["RISK", "BREACH", "ORDER", "ACCOUNT"].map((kind) => `DUE|${kind}|*`).join(" ");
    expect(rightsOf("production", "margin-sweep").sort()).toEqual(
      [
        `Allow dynamodb:Query main/index/due ${due}`,
        "Allow dynamodb:Query main brk_*|EXP|*",
        "Allow dynamodb:BatchGetItem main brk_*",
        "Allow dynamodb:Query main/index/owner brk_*",
        "Allow dynamodb:UpdateItem main brk_*",
        "Allow dynamodb:DeleteItem main brk_*|BREACH|*",
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow sqs:SendMessage queue margin",
        ...ledgerDenial,
      ].sort(),
    );
  });

  test("only the deliverer and the evaluator receive from queues, and nobody sends to a dead-letter queue", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const roles = ofType(synthesized(stage), "AWS::IAM::Role");
      const receivers = roles.filter((role) => lines(role).some((line) => /sqs:(?!SendMessage )/.test(line)));
      expect(receivers.map(({ logicalId }) => logicalId.replace(/Role[0-9A-F]+$/, ""))).toEqual([
        "Deliver",
        "Evaluate",
      ]);
      expect(roles.flatMap(lines).filter((line) => /(?:deliver|margin)dead/.test(line))).toEqual([]);
    }
  });

  test("no role may scan, use a wildcard on DynamoDB, or touch partitions freely", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const rights = ofType(synthesized(stage), "AWS::IAM::Role").flatMap(lines);
      const onTables = rights.filter((line) => /dynamodb:/.test(line) && !line.endsWith(" stream"));
      expect(onTables.length).toBeGreaterThan(50);
      expect(rights.filter((line) => /dynamodb:(Scan|PartiQL|.*\*( |$).*main)|dynamodb:\*/.test(line))).toEqual([]);
      expect(onTables.filter((line) => !/ (brk_\*|GLOBAL\||DUE\|(?:[A-Z]+\|)?\*|\*\|LED)/.test(line))).toEqual([]);
    }
  });

  test("a reset removes what clients left behind, the ledger too, in the sandbox alone; it changes nothing", () => {
    expect(rightsOf("sandbox", "sandbox-reset").sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|RESET|*",
        ...["BatchGetItem main", "Query main", "Query main/index/list"].map((each) => `Allow dynamodb:${each} brk_*`),
        "Allow dynamodb:DeleteItem main brk_*#cli_* brk_*#acc_* brk_*#txn_* brk_*#trd_* brk_*#ord_* " +
          "brk_*|CTL|* brk_*|EXP|* brk_*|SRC|* brk_*|SYM brk_*|UQ|* brk_*|WALK",
        "Allow dynamodb:DeleteItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow dynamodb:PutItem main brk_*|SYM",
        "Allow dynamodb:PutItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow dynamodb:UpdateItem main brk_*|RESET",
      ].sort(),
    );
    const erasers = ofType(synthesized("production"), "AWS::IAM::Role").filter(({ properties }) =>
      JSON.stringify(properties).includes('"Erase'),
    );
    expect(erasers).toEqual([]);
  });

  test.each(["sandbox", "production"] as const)(
    "the switch of the stage takes leading keys and the ledger's denial out of %s, and changes nothing else",
    async (stage) => {
      const open = await synthesizeStage({ stage, validate: false, config: { leadingKeys: false } });
      try {
        for (const { template } of open.templates) {
          expect(JSON.stringify(template)).not.toMatch(/LeadingKeys|"Effect":"Deny"[^}]*dynamodb|KeepLedger/);
        }
        const roles = (synthesis: SynthesizedStage) =>
          ofType(synthesis, "AWS::IAM::Role").map(({ logicalId, properties }) => [
            logicalId,
            list(properties["Policies"]).flatMap((policy) =>
              list(at(policy, "PolicyDocument", "Statement")).flatMap((statement) => {
                const bound = JSON.stringify(at(statement, "Condition") ?? "").includes("dynamodb:LeadingKeys");
                if (bound && at(statement, "Effect") === "Deny") return [];
                const { Condition: condition, ...rest } = Object(statement);
                return [bound || condition === undefined ? rest : { ...rest, Condition: condition }];
              }),
            ),
          ]);
        expect(roles(open)).toEqual(roles(synthesized(stage)));
        const others = ({ resources }: SynthesizedStage) =>
          resources
            .filter(({ type }) => !["AWS::IAM::Role", "AWS::CloudFormation::Stack"].includes(type))
            .map(({ logicalId, properties }) => [logicalId, properties]);
        expect(others(open)).toEqual(others(synthesized(stage)));
      } finally {
        await open.remove();
      }
    },
  );

  test("rights are in roles only: nothing adds a policy from aside", () => {
    const { resources } = synthesized("production");
    expect(resources.filter(({ type }) => type === "AWS::IAM::Policy" || type === "AWS::IAM::ManagedPolicy")).toEqual(
      [],
    );
  });
});

/** Functions that compute for seconds. */
const computing = /-(?:send-feed-batch|evaluate|set-sandbox-prices|drive-sandbox-account)$/;

describe("functions", () => {
  test("have the settings of the service, a name from their id, and a log with the stage's retention", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const functions = ofType(synthesized(stage), "AWS::Lambda::Function");
      const expected = routes.filter((route) => route.stages.includes(stage)).length + backgroundOf(stage).length;
      expect(functions).toHaveLength(expected);
      for (const { properties } of functions) {
        expect(properties).toMatchObject({
          Runtime: "nodejs24.x",
          Architectures: ["arm64"],
          MemorySize: computing.test(String(properties["FunctionName"])) ? 1769 : 512,
          Handler: "index.handler",
          TracingConfig: { Mode: "Active" },
        });
        expect(properties["FunctionName"]).toMatch(new RegExp(`^brokerage-${stage}-[a-z-]+$`));
      }
      const retentions = ofType(synthesized(stage), "AWS::Logs::LogGroup").map(
        (log) => log.properties["RetentionInDays"],
      );
      expect(new Set(retentions)).toEqual(new Set([Number(stageConfig(stage).logRetention)]));
    }
  });

  test("get exactly the environment that they use", () => {
    const common = [
      ...["STAGE", "TABLE_NAME", "VOLATILE_TABLE_NAME", "PUBLIC_BASE_URL", "TOKEN_ISSUER", "TOKEN_AUDIENCE"],
      ...["LOG_LEVEL", "POWERTOOLS_SERVICE_NAME"],
    ];
    const variables = (id: string) => {
      const lambda = functionOf(synthesized("sandbox"), `brokerage-sandbox-${id}`);
      return at(lambda.properties["Environment"], "Variables");
    };
    expect(Object.keys(Object(variables("get-me"))).sort()).toEqual([...common].sort());
    expect(Object.keys(Object(variables("provision"))).sort()).toEqual([...common, "USAGE_PLAN_ID"].sort());
    const both = ["SERVICE_KEY_SECRET_ID", "SIGNING_KEY_SECRET_ID"];
    expect(Object.keys(Object(variables("rotate-signing-key"))).sort()).toEqual([...common, both[1]].sort());
    expect(Object.keys(Object(variables("create-token"))).sort()).toEqual([...common, ...both].sort());
    expect(Object.keys(Object(variables("create-application"))).sort()).toEqual([...common, both[0]].sort());
    expect(variables("get-me")).toMatchObject({
      STAGE: "sandbox",
      TOKEN_ISSUER: "https://sandbox.brokerage.example",
      TOKEN_AUDIENCE: "https://api.sandbox.brokerage.example/v2",
    });
  });

  test("are in nested stacks by folder, and provision in one of its own", () => {
    const stage = synthesized("sandbox");
    const template = (id: string) => functionOf(stage, `brokerage-sandbox-${id}`).template;
    expect(template("create-client")).toBe(template("get-client"));
    expect(template("publish")).toBe(template("promote"));
    const besideProvision = ofType(stage, "AWS::Lambda::Function").filter((f) => f.template === template("provision"));
    expect(besideProvision).toHaveLength(1);
  });

  test("behind a route know the API by its id, never by its stage, plan or deployment", () => {
    const stage = synthesized("sandbox");
    const nested = stage.templates.filter(({ name }) => name.includes("nested") && !name.includes("provision"));
    expect(nested.length).toBeGreaterThan(3);
    for (const { template } of nested) expect(JSON.stringify(template)).not.toMatch(/Deployment|DeploymentStage|Plan/);
  });

  test("of the stream: batches, filter and failures as the design says", () => {
    const mappings = ofType(synthesized("sandbox"), "AWS::Lambda::EventSourceMapping").filter(
      ({ properties }) => properties["StartingPosition"] !== undefined,
    );
    const readerOf = (et: string, windowSeconds = 0) =>
      only(
        mappings.filter(
          ({ properties }) =>
            JSON.stringify(properties["FilterCriteria"]).includes(et) &&
            properties["MaximumBatchingWindowInSeconds"] === windowSeconds,
        ),
      );
    const common = {
      MaximumBatchingWindowInSeconds: 0,
      ParallelizationFactor: 1,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      MaximumRecordAgeInSeconds: 82_800,
      StartingPosition: "TRIM_HORIZON",
    };
    const publish = readerOf("OUTBOX");
    expect(publish.properties).toMatchObject({
      ...common,
      BatchSize: 25,
      MaximumRetryAttempts: 5,
      FilterCriteria: {
        Filters: [
          { Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["OUTBOX"]}}}}' },
          { Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["RISK"]},"left_by":{"S":["commit"]}}}}' },
        ],
      },
    });
    expect(at(publish.properties["DestinationConfig"], "OnFailure", "Destination")).toBeDefined();
    const waiting = '{"et":{"S":["APP"]},"wake_at":{"S":[{"exists":true}]}}';
    expect(readerOf("APP").properties).toMatchObject({
      ...common,
      BatchSize: 10,
      MaximumRetryAttempts: 2,
      FilterCriteria: { Filters: [{ Pattern: `{"dynamodb":{"NewImage":${waiting}}}` }] },
    });
    const watch = readerOf("QUOTE");
    expect(watch.properties).toMatchObject({
      ...common,
      BatchSize: 500,
      MaximumRetryAttempts: 5,
      FilterCriteria: { Filters: [{ Pattern: '{"dynamodb":{"NewImage":{"et":{"S":["QUOTE","PULSE"]}}}}' }] },
    });
    expect(at(watch.properties["DestinationConfig"], "OnFailure", "Destination")).toBeDefined();
    const match = readerOf("QUOTE", 1);
    expect(match.properties).toMatchObject({ ...common, MaximumBatchingWindowInSeconds: 1, BatchSize: 500 });
    // A stream serves two readers; a third is throttled. Production has no second one of prices.
    const sources = mappings.map(({ properties }) => JSON.stringify(properties["EventSourceArn"]));
    expect(sources.filter((source) => /Main/.test(source))).toHaveLength(2);
    expect(sources.filter((source) => /Volatile/.test(source))).toHaveLength(2);
    expect(mappings).toHaveLength(4);
    const windows = ofType(synthesized("production"), "AWS::Lambda::EventSourceMapping").map(
      ({ properties }) => properties["MaximumBatchingWindowInSeconds"],
    );
    expect(windows).not.toContain(1);
  });
});

describe("what a deployment asks of the account", () => {
  /** Concurrency that Lambda leaves unreserved in an account (AWS docs: Lambda reserved concurrency). */
  const unreserved = 100;

  /** Concurrency that the functions of a stage reserve, by their names. */
  function reservedBy(stage: Stage): number {
    const functions = ofType(synthesized(stage), "AWS::Lambda::Function");
    return functions.reduce((sum, { properties }) => sum + Number(properties["ReservedConcurrentExecutions"] ?? 0), 0);
  }

  test("the concurrency in the README is what the stages reserve and what Lambda keeps unreserved", async () => {
    const [sandbox, production] = [reservedBy("sandbox"), reservedBy("production")];
    const readme = (await readFile(new URL("../../README.md", import.meta.url), "utf8")).replaceAll(/\s+/g, " ");
    expect(readme).toContain(
      `${unreserved + sandbox} for the sandbox, ${unreserved + production} for production, ` +
        `${unreserved + sandbox + production} for both`,
    );
    expect(sandbox).toBeGreaterThan(0);
    expect(production).toBeGreaterThan(sandbox);
  });

  /** How many of these can be created at the same time: each waits for at most one, and at most one waits for it. */
  function chainsOf(all: readonly NamedResource[]): number {
    const ids = new Set(all.map(({ logicalId }) => logicalId));
    const waits = all.map(({ resource }) => [resource.DependsOn ?? []].flat().filter((id) => ids.has(id)));
    const waitedFor = waits.flat();
    const first = waits.filter((before) => before.length === 0).length;
    expect(waitedFor).toHaveLength(all.length - first);
    expect(new Set(waitedFor).size).toBe(waitedFor.length);
    return first;
  }

  test.each(["sandbox", "production"] as const)(
    "no more than five paths, methods and responses at once in %s",
    (name) => {
      const stage = synthesized(name);
      const stacks = ofType(stage, "AWS::CloudFormation::Stack").filter(({ logicalId }) => /Paths/.test(logicalId));
      expect(chainsOf(stacks)).toBe(5);
      expect(chainsOf(ofType(stage, "AWS::ApiGateway::GatewayResponse"))).toBe(5);
      for (const type of ["AWS::ApiGateway::Resource", "AWS::ApiGateway::Method"]) {
        const templates = new Set(ofType(stage, type).map(({ template }) => template));
        expect(templates.size).toBe(stacks.length);
        for (const template of templates) {
          expect(chainsOf(ofType(stage, type).filter((each) => each.template === template))).toBe(1);
        }
      }
    },
  );
});

describe("the webhook ladder", () => {
  /** Concurrency of both lanes and of each queue of retries, written out a second time on purpose. */
  const concurrency = { sandbox: [6, 2, 2, 2, 2], production: [35, 5, 10, 10, 10] } as const;
  const names = ["deliver", "deliver-unproven", "retry-1m", "retry-5m", "retry-long"] as const;

  function queueOf(stage: Stage, name: string) {
    const queues = ofType(synthesized(stage), "AWS::SQS::Queue");
    return only(queues.filter(({ properties }) => properties["QueueName"] === `brokerage-${stage}-${name}`));
  }

  /** The mapping that reads a queue. */
  function mappingOf(stage: Stage, name: string) {
    const source = new RegExp(`Ladder${name.replaceAll("-", "")}[0-9A-F]{8}Arn`);
    const mappings = ofType(synthesized(stage), "AWS::Lambda::EventSourceMapping");
    return only(mappings.filter(({ properties }) => source.test(JSON.stringify(properties["EventSourceArn"]))));
  }

  test.each(["sandbox", "production"] as const)("of %s hides messages for six timeouts of the deliverer", (stage) => {
    const deliver = functionOf(synthesized(stage), `brokerage-${stage}-deliver`);
    expect(deliver.properties["Timeout"]).toBe(20);
    for (const name of names) expect(queueOf(stage, name).properties["VisibilityTimeout"]).toBe(120);
  });

  test("delays each message for itself: no queue has a delay of its own", () => {
    for (const name of names) expect(queueOf("production", name).properties["DelaySeconds"]).toBeUndefined();
  });

  test("sends a message to the dead letters after five receives, which tell of poison and nothing else", () => {
    const dead = queueOf("production", "deliver-dead");
    for (const name of names) {
      expect(queueOf("production", name).properties["RedrivePolicy"]).toEqual({
        deadLetterTargetArn: { "Fn::GetAtt": [dead.logicalId, "Arn"] },
        maxReceiveCount: 5,
      });
    }
    expect(dead.properties["RedrivePolicy"]).toBeUndefined();
  });

  test.each(["sandbox", "production"] as const)("of %s bounds each queue and reserves what they need", (stage) => {
    const found = names.map((name) => mappingOf(stage, name).properties);
    expect(found.map((mapping) => at(mapping["ScalingConfig"], "MaximumConcurrency"))).toEqual(concurrency[stage]);
    for (const mapping of found) {
      expect(mapping).toMatchObject({
        BatchSize: 10,
        MaximumBatchingWindowInSeconds: 0,
        FunctionResponseTypes: ["ReportBatchItemFailures"],
      });
    }
    const deliver = functionOf(synthesized(stage), `brokerage-${stage}-deliver`);
    const needed = concurrency[stage].reduce((sum, one) => sum + one, 0);
    expect(deliver.properties["ReservedConcurrentExecutions"]).toBe(needed);
  });

  test("calls a person for a dead letter, and for a message that is 300 s older than its delay can be", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const alarmOf = (name: string) =>
      only(alarms.filter(({ properties }) => properties["AlarmName"] === `brokerage-production-${name}`)).properties;
    expect(alarmOf("deliver-dead")).toMatchObject({
      MetricName: "ApproximateNumberOfMessagesVisible",
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
    });
    const ages = names.map((name) => alarmOf(`${name}-late`));
    expect(ages.map(({ Threshold: threshold }) => threshold)).toEqual([300, 600, 366, 630, 1200]);
    for (const { MetricName: metric } of ages) expect(metric).toBe("ApproximateAgeOfOldestMessage");
  });

  test("gives its addresses to those who send, and to nobody else", () => {
    const addresses = (id: string) => {
      const lambda = functionOf(synthesized("sandbox"), `brokerage-sandbox-${id}`);
      const variables = Object.entries(Object(at(lambda.properties["Environment"], "Variables")));
      return variables.flatMap(([name, value]) => {
        const queue = /Ladder([a-z0-9]+?)[0-9A-F]{8}Ref/.exec(JSON.stringify(value))?.[1];
        return queue === undefined ? [] : [`${name} ${queue}`];
      });
    };
    const [deliver, ...retries] = [
      "DELIVER_QUEUE_URL deliver",
      "DELIVER_UNPROVEN_QUEUE_URL deliverunproven",
      "RETRY_1M_QUEUE_URL retry1m",
      "RETRY_5M_QUEUE_URL retry5m",
      "RETRY_LONG_QUEUE_URL retrylong",
    ];
    expect(addresses("publish")).toEqual([deliver]);
    expect(addresses("promote")).toEqual([deliver, "RETRY_LONG_QUEUE_URL retrylong"]);
    expect(addresses("deliver")).toEqual([deliver, ...retries]);
    const senders = routes.filter(({ queues }) => queues !== undefined).map(({ id }) => id.replaceAll("_", "-"));
    for (const id of senders) expect(addresses(id)).toEqual([deliver]);
    const others = ["provision", "authorize", "get-me", "create-client"];
    expect(others.flatMap(addresses)).toEqual([]);
  });
});

describe("what is kept", () => {
  test("production retains, protects and backs up the business table", () => {
    const [main, volatile] = ofType(synthesized("production"), "AWS::DynamoDB::Table");
    expect(main?.resource).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    expect(main?.properties).toMatchObject({
      BillingMode: "PAY_PER_REQUEST",
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
      TimeToLiveSpecification: { AttributeName: "expires_at", Enabled: true },
    });
    expect(volatile?.resource).toMatchObject({ DeletionPolicy: "Delete" });
    expect(volatile?.properties["PointInTimeRecoverySpecification"]).toBeUndefined();
  });

  const logsAndSecrets = (stage: Stage) =>
    ["AWS::Logs::LogGroup", "AWS::SecretsManager::Secret"].flatMap((type) => ofType(synthesized(stage), type));

  test("production keeps logs and secrets, but not those of a creation that failed", () => {
    const policies = logsAndSecrets("production").map(({ resource, properties }) => {
      const { DeletionPolicy: deletion, UpdateReplacePolicy: replace } = resource;
      const execution = JSON.stringify(properties["LogGroupName"] ?? "").includes("API-Gateway-Execution-Logs");
      return `${execution ? "execution log " : ""}${deletion} ${replace}`;
    });
    // A log for each function and one for the gateway's access, and two secrets.
    const functions = ofType(synthesized("production"), "AWS::Lambda::Function").length;
    expect(policies.filter((policy) => policy === "RetainExceptOnCreate Retain")).toHaveLength(functions + 3);
    expect(policies.filter((policy) => policy !== "RetainExceptOnCreate Retain")).toEqual([
      "execution log Delete Delete",
    ]);
    for (const { resource } of logsAndSecrets("sandbox")) {
      expect(resource).toMatchObject({ DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" });
    }
  });

  test("no log that is kept has a fixed name, so a route that was removed can come back", () => {
    const kept = ofType(synthesized("production"), "AWS::Logs::LogGroup").filter(
      ({ resource }) => resource.DeletionPolicy !== "Delete",
    );
    expect(kept.length).toBeGreaterThan(60);
    expect(kept.filter(({ properties }) => properties["LogGroupName"] !== undefined)).toEqual([]);
    const tables = ofType(synthesized("production"), "AWS::DynamoDB::Table");
    expect(tables.filter(({ properties }) => properties["TableName"] !== undefined)).toEqual([]);
  });

  test("production is protected from deletion after its first deployment, not before", async () => {
    const protection = async (stage: SynthesizedStage, name: Stage) => {
      const manifest = JSON.parse(await readFile(join(stage.directory, "manifest.json"), "utf8"));
      return manifest.artifacts[`brokerage-${name}`].properties.terminationProtection;
    };
    expect(await protection(synthesized("production"), "production")).toBe(true);
    expect(await protection(synthesized("sandbox"), "sandbox")).not.toBe(true);
    const first = await synthesizeStage({ stage: "production", validate: false, context: { first: "true" } });
    try {
      expect(await protection(first, "production")).not.toBe(true);
      // Nothing else differs: the second deployment only switches the protection on.
      expect(first.templates).toEqual(synthesized("production").templates);
    } finally {
      await first.remove();
    }
  });

  test("the sandbox leaves no table behind", () => {
    for (const { resource } of ofType(synthesized("sandbox"), "AWS::DynamoDB::Table")) {
      expect(resource).toMatchObject({ DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" });
    }
  });

  test("the table has five indexes: four with what filters read, and the due one with keys alone", () => {
    const [main] = ofType(synthesized("sandbox"), "AWS::DynamoDB::Table");
    const indexes = list(main?.properties["GlobalSecondaryIndexes"]).map(
      (index) => `${at(index, "IndexName")} ${at(index, "Projection", "ProjectionType")}`,
    );
    expect(indexes).toEqual(["list INCLUDE", "state INCLUDE", "owner INCLUDE", "client INCLUDE", "due KEYS_ONLY"]);
  });

  test("failures wait 14 days, and every queue is encrypted and takes calls over TLS only", () => {
    const queues = ofType(synthesized("sandbox"), "AWS::SQS::Queue");
    const retention = new Map(
      queues.map(({ properties }) => [
        String(properties["QueueName"]).replace("brokerage-sandbox-", ""),
        properties["MessageRetentionPeriod"],
      ]),
    );
    expect(Object.fromEntries(retention)).toEqual({
      "publish-failures": 1_209_600,
      "watch-failures": 1_209_600,
      "schedule-failures": 1_209_600,
      "deliver-dead": 1_209_600,
      deliver: 86_400,
      "deliver-unproven": 86_400,
      "retry-1m": 86_400,
      "retry-5m": 86_400,
      "retry-long": 86_400,
      "margin-dead": 1_209_600,
      margin: 3600,
    });
    for (const { properties } of queues) expect(properties["SqsManagedSseEnabled"]).toBe(true);
    const policies = JSON.stringify(ofType(synthesized("sandbox"), "AWS::SQS::QueuePolicy").map((p) => p.properties));
    expect(policies.match(/aws:SecureTransport/g)).toHaveLength(queues.length);
  });
});

describe("what runs by itself", () => {
  test("the signing key is rotated at once and every 90 days", () => {
    const rotation = only(ofType(synthesized("sandbox"), "AWS::SecretsManager::RotationSchedule"));
    expect(rotation.properties).toMatchObject({
      RotateImmediatelyOnUpdate: true,
      RotationRules: { AutomaticallyAfterDays: 90 },
    });
    const secrets = ofType(synthesized("sandbox"), "AWS::SecretsManager::Secret");
    const names = secrets.map(({ properties }) => properties["Name"]);
    expect(names.sort()).toEqual(["brokerage/sandbox/service-key", "brokerage/sandbox/signing-key"]);
  });

  test("provision and both sweeps run every minute, with a dead-letter queue", () => {
    const schedules = ofType(synthesized("production"), "AWS::Scheduler::Schedule").map(({ properties }) => [
      properties["ScheduleExpression"],
      at(properties["Target"], "Input"),
      at(properties["Target"], "DeadLetterConfig") !== undefined,
    ]);
    expect(schedules).toEqual([
      ["rate(1 minute)", '{"action":"reconcile"}', true],
      ["rate(1 minute)", '{"action":"sweep"}', true],
      ["rate(1 minute)", '{"action":"sweep"}', true],
    ]);
  });

  test("every alarm calls the topic, and the dashboard is one", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const names = alarms.map(({ properties }) => String(properties["AlarmName"]).replace("brokerage-production-", ""));
    expect(names.sort()).toEqual([
      "background-errors",
      "counter-failed-open",
      "deliver-dead",
      "deliver-late",
      "deliver-unproven-late",
      "errors-fast-burn",
      "errors-slow-burn",
      "function-throttles",
      "iterator-age",
      "latency",
      "margin-dead",
      "margin-late",
      "message-failed",
      "publish-failed",
      "publish-failures",
      "retry-1m-late",
      "retry-5m-late",
      "retry-long-late",
      "schedule-failures",
      "table-throttles",
      "unexpected-operation",
      "watch-failures",
      "watch-iterator-age",
    ]);
    for (const { properties } of alarms) expect(list(properties["AlarmActions"])).toHaveLength(1);
    expect(ofType(synthesized("production"), "AWS::CloudWatch::Dashboard")).toHaveLength(1);
  });

  test.each(["sandbox", "production"] as const)(
    "the alarm on background errors of %s counts every function without a route but the authorizer",
    (stage) => {
      const alarms = ofType(synthesized(stage), "AWS::CloudWatch::Alarm").filter(({ properties }) =>
        /-(?:background|sandbox)-errors$/.test(String(properties["AlarmName"])),
      );
      const metrics = alarms.flatMap(({ properties }) => list(properties["Metrics"]));
      const counted = metrics.flatMap((metric) => list(at(metric, "MetricStat", "Metric", "Dimensions", 0, "Value")));
      // The authorizer throws for each token that has expired: that is an answer and no failure.
      const expected = backgroundOf(stage).filter(({ id }) => id !== "authorize");
      expect(counted.sort()).toEqual(expected.map(({ id }) => `brokerage-${stage}-${id}`).sort());
    },
  );

  test("an alarm that calculates fills what is missing of each metric", () => {
    const calculating = ofType(synthesized("sandbox"), "AWS::CloudWatch::Alarm").filter(
      ({ properties }) => properties["Metrics"] !== undefined,
    );
    const names = calculating.map(({ properties }) =>
      String(properties["AlarmName"]).replace("brokerage-sandbox-", ""),
    );
    expect(names.sort()).toEqual([
      "background-errors",
      "errors-fast-burn",
      "errors-slow-burn",
      "sandbox-errors",
      "table-throttles",
    ]);
    for (const { properties } of calculating) {
      const metrics = list(properties["Metrics"]);
      const expression = metrics.map((metric) => at(metric, "Expression") ?? "").join("");
      const ids = metrics.filter((metric) => at(metric, "MetricStat") !== undefined).map((metric) => at(metric, "Id"));
      expect(ids.length).toBeGreaterThan(1);
      for (const id of ids) expect(expression).toContain(`FILL(${id}, `);
      const bare = expression.replaceAll(/FILL\(\w+, \d\)/g, "");
      expect(bare.match(/\b[a-z]\w*/g) ?? []).toEqual([]);
    }
  });

  test("a budget watches the stage, by the tag that everything carries", () => {
    const budget = only(ofType(synthesized("production"), "AWS::Budgets::Budget"));
    expect(at(budget.properties["Budget"], "CostFilters", "TagKeyValue", 0)).toBe(
      "user:cost-center$brokerage-production",
    );
    const tagged = synthesized("production").resources.filter(({ properties }) => Array.isArray(properties["Tags"]));
    expect(tagged.length).toBeGreaterThan(60);
    for (const { properties } of tagged) {
      const tags = list(properties["Tags"]).map((tag) => `${at(tag, "Key")}=${at(tag, "Value")}`);
      expect(tags).toEqual(
        expect.arrayContaining(["cost-center=brokerage-production", "service=brokerage", "stage=production"]),
      );
    }
  });

  test("the outputs tell where the API is and who makes applications", () => {
    const parent = only(
      synthesized("sandbox").templates.filter(({ name }) => name === "brokerage-sandbox.template.json"),
    );
    const { Outputs: outputs } = parent.template as unknown as { Outputs: Record<string, unknown> };
    expect(Object.keys(outputs).sort()).toEqual(["ApiUrl", "ProvisionFunctionName", "UsagePlanId"]);
  });
});
