import { describe, expect, test } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import type { Grant, Route, Stage } from "../../shared/routes/route.ts";
import { at, keptStage, lines, list, ofType, only, roleOf, type SynthesizedStage } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

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
  "read:open_interest": "BatchGetItem volatile",
  "read:keys": "BatchGetItem keys",
  "put:keys": "PutItem keys",
};

const ledgerAlone = ["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|*`);
/** The same with the reviews, which provisioning erases texts of. */
const ledgerDenial = ledgerAlone.map((line) => `${line} brk_*#cli_*|REV`);

function expectedLines(route: Route): string[] {
  const partitions = {
    ...{ client_ids: "GLOBAL|CLIENTID", public_keys: "GLOBAL|KEYS" },
    ...{ operator_identities: "GLOBAL|OPERATOR|*", used_tokens: "GLOBAL|USED|*" },
    stream_tickets: "GLOBAL|STREAMTICKET|*",
  };
  const keysOf = (grant: string) => {
    const globals = Object.entries(route.globals ?? {}).flatMap(([name, more]) => (name === grant ? more : []));
    const kinds = {
      ...{ applications: "brk_*#app_*", families: "brk_*#fam_*", operators: "brk_*#opr_*" },
      brokerages: `brk_${"?".repeat(26)}`,
    };
    const tenants = route.within?.map((kind) => kinds[kind]) ?? ["brk_*"];
    return [...(route.tenantless ? [] : tenants), ...globals.map((name) => partitions[name])].join(" ");
  };
  const alone = (route.globals?.count ?? []).map((name) => ` ${partitions[name]}`).join("");
  const counted = (route.rate === "token" ? "brk_*|RATE|* GLOBAL|FAIL|*" : "brk_*|RATE|*") + alone;
  const changes = route.grants.includes("update") || route.grants.includes("delete");
  return [
    ...route.grants.map((grant) => {
      const [, kind = ""] = grant.split(":");
      const volatile = { quotes: "brk_*|Q|* brk_*|PULSE|*", open_interest: "brk_*|OI" };
      const keys = { ...volatile, keys: "brk_*#cli_* brk_*#opr_*" }[kind] ?? keysOf(grant);
      return `Allow dynamodb:${actions[grant]} ${keys}`;
    }),
    ...(changes ? ledgerDenial : []),
    ...(route.rate === "none" ? [] : [`Allow dynamodb:UpdateItem volatile ${counted}`]),
    ...(route.secrets ?? []).map((name) => `Allow secretsmanager:GetSecretValue ${name.replace("_", "-")}`),
    ...(route.objects ?? []).map(() => "Allow s3:GetObject exports"),
    ...(route.queues ?? []).map((queue) => `Allow sqs:SendMessage queue ${queue}`),
    ...(route.auth === "token" || route.rate === "token" ? ["Allow sqs:SendMessage queue refusals"] : []),
  ];
}

/**
 * Rights of every function: write its own log and its traces. Denials about people and policies are judged for all
 * functions of both stages at once, in test/local/governed-rights.test.ts.
 */
function isOwn(line: string): boolean {
  return /^(Allow (logs:CreateLogStream|logs:PutLogEvents|xray:)|Deny dynamodb:\w+ main brk_(\*#|\?))/.test(line);
}

function rightsOf(stage: Stage, id: string): string[] {
  const role = roleOf(synthesized(stage), `brokerage-${stage}-${id.replaceAll("_", "-")}`);
  const own = lines(role).filter((line) => !isOwn(line));
  return own.map((line) => line.replace(/\{"Fn::Join":.*Exports[0-9A-F]*Arn"\},"\/\*"\]\]\}/, "exports"));
}

const receive = ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"];

describe("rights of the functions", () => {
  test.each(routes.map((route) => [route.id, route] as const))("%s has exactly the grants of its row", (id, route) => {
    const stage = route.stages.includes("production") ? "production" : "sandbox";
    expect(rightsOf(stage, id).sort()).toEqual(expectedLines(route).sort());
  });

  test("the authorizer reads applications, families of tokens, operators and public keys, and reports refusals", () => {
    expect(rightsOf("production", "authorize")).toEqual([
      "Allow dynamodb:BatchGetItem main brk_*#app_* brk_*#fam_* brk_*#opr_* GLOBAL|KEYS",
      "Allow sqs:SendMessage queue refusals",
    ]);
  });

  test("the functions of the stream reach its items, their part of the main table, and its queue", () => {
    const stream = (...actions: string[]) => actions.map((each) => `Allow dynamodb:${each} volatile brk_*|STREAM`);
    const list = (...actions: string[]) => actions.map((each) => `Allow dynamodb:${each} volatile GLOBAL|STREAMS`);
    const [wake, refusals] = ["stream", "refusals"].map((queue) => `Allow sqs:SendMessage queue ${queue}`);
    const leaving = stream("UpdateItem", "DeleteItem");
    const reading = [...stream("BatchGetItem"), ...leaving];
    const wanted: Readonly<Record<string, readonly (string | undefined)[]>> = {
      authorize: [
        "Allow dynamodb:BatchGetItem main brk_*#app_* brk_*#fam_* brk_*#opr_* GLOBAL|KEYS",
        "Allow dynamodb:DeleteItem volatile GLOBAL|STREAMTICKET|*",
        refusals,
      ],
      connect: [...reading, ...stream("PutItem"), ...list("PutItem"), wake],
      disconnect: leaving,
      message: [...leaving, "Allow dynamodb:BatchGetItem main brk_*#acc_* brk_*|SYM brk_*|SRC|src_* brk_*|SEQ", wake],
      deliver: [
        ...reading,
        ...["BatchGetItem main", "Query main", "Query main/index/state"].map((each) => `Allow dynamodb:${each} brk_*`),
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        ...receive.map((action) => `Allow sqs:${action} queue stream`),
        wake,
      ],
      sweep: [...reading, ...list("Query", "DeleteItem"), wake],
    };
    for (const [name, rights] of Object.entries(wanted)) {
      const found = rightsOf("production", `stream-${name}`).filter((line) => !line.includes("ManageConnections"));
      expect(found.sort(), name).toEqual([...rights].sort());
    }
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

  test("the router reads its stream and quotes and sends to two queues, and does nothing in the main table", () => {
    const stream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    const rights = rightsOf("production", "route");
    const failure = only(rights.filter((line) => /^Allow sqs:SendMessage .*routefailures/.test(line)));
    expect(rights.filter((line) => line !== failure).sort()).toEqual(
      [
        ...stream.map((action) => `Allow dynamodb:${action} stream`),
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow sqs:SendMessage queue margin",
        "Allow sqs:SendMessage queue publish",
      ].sort(),
    );
  });

  test("the publisher reads its queue and connections, changes items of tenants and sends to three queues", () => {
    expect(rightsOf("production", "publish").sort()).toEqual(
      [
        ...["BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"].map(
          (a) => `Allow dynamodb:${a} main brk_*`,
        ),
        ...ledgerDenial,
        ...receive.map((action) => `Allow sqs:${action} queue publish`),
        "Allow dynamodb:BatchGetItem volatile brk_*|STREAM",
        ...["deliver", "fanout", "stream"].map((queue) => `Allow sqs:SendMessage queue ${queue}`),
      ].sort(),
    );
  });

  test("the fan-out reads its queue, stores deliveries that rest and sends the others", () => {
    expect(rightsOf("production", "fan-out").sort()).toEqual(
      [
        ...["BatchGetItem", "PutItem"].map((a) => `Allow dynamodb:${a} main brk_*`),
        ...receive.map((action) => `Allow sqs:${action} queue fanout`),
        "Allow sqs:SendMessage queue deliver",
      ].sort(),
    );
  });

  test("the recorder of refusals reads its queue and writes what it recorded and entries, and no resource", () => {
    expect(rightsOf("production", "record-refusals").sort()).toEqual(
      [
        "Allow dynamodb:BatchGetItem main brk_*|RFS|*",
        "Allow dynamodb:PutItem main brk_*|RFS|* brk_*#obx_*",
        "Allow dynamodb:UpdateItem main brk_*|RFS|*",
        ...ledgerDenial,
        ...receive.map((action) => `Allow sqs:${action} queue refusals`),
      ].sort(),
    );
  });

  test("the sweeps alone, with provision, the reconciliation and the exports, read the due index", () => {
    expect(rightsOf("production", "sweep-events").sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|*",
        ...["BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"].map(
          (a) => `Allow dynamodb:${a} main brk_*`,
        ),
        "Allow dynamodb:Query main/index/state brk_*",
        // A transfer goes on at the prices of now where an account of it has open positions.
        "Allow dynamodb:BatchGetItem volatile brk_*|Q|* brk_*|PULSE|*",
        ...ledgerDenial,
        ...["deliver", "publish", "retrylong"].map((queue) => `Allow sqs:SendMessage queue ${queue}`),
      ].sort(),
    );
    const readers = ofType(synthesized("production"), "AWS::IAM::Role")
      .filter((role) => lines(role).some((line) => line.includes("main/index/due")))
      .map(({ logicalId }) => logicalId.replace(/Role[0-9A-F]+$/, ""));
    expect(readers.sort()).toEqual(["MarginSweep", "Provision", "ReconcileBooks", "RunJobs", "SweepEvents"]);
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
    const others = rights.filter((line) => !/apigateway|execute-api/.test(line));
    expect(others.sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|APP|*",
        "Allow dynamodb:Query main brk_*#cli_*|REV",
        ...["BatchGetItem", "UpdateItem"].map((a) => `Allow dynamodb:${a} main brk_* GLOBAL|OPERATOR|*`),
        "Allow dynamodb:PutItem main brk_* GLOBAL|CLIENTID GLOBAL|OPERATOR|*",
        ...["PutItem", "UpdateItem"].map((a) => `Allow dynamodb:${a} keys brk_*#cli_* brk_*#opr_*`),
        ...["Create", "Delete", "Disable", "Enable", "Get"].map((a) => `Allow cognito-idp:Admin${a}User pool`),
        "Allow cognito-idp:AdminUserGlobalSignOut pool",
        "Allow dynamodb:BatchGetItem volatile brk_*|STREAM",
        ...ledgerAlone,
        ...["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map((a) => `Allow dynamodb:${a} stream`),
      ].sort(),
    );
  });

  test("the deliverer reads what a delivery needs, writes deliveries and health, and no endpoint", () => {
    const ladder = ["deliver", "deliverunproven", "retry1m", "retry5m", "retrylong"];
    expect(rightsOf("production", "deliver").sort()).toEqual(
      [
        "Allow dynamodb:BatchGetItem main brk_*|EVT|* brk_*#evt_* brk_*|WHE brk_*|WHE|count brk_*#dlv_* brk_*#whe_*",
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

  test("the margin watch reads its stream and the exposure index, and wakes evaluations and connections", () => {
    const rights = rightsOf("production", "watch");
    const failure = only(rights.filter((line) => /^Allow sqs:SendMessage .*watchfailures/.test(line)));
    expect(rights.filter((line) => line !== failure).sort()).toEqual(
      [
        "Allow dynamodb:Query main brk_*|EXP|* brk_*|SYM",
        "Allow dynamodb:PutItem main brk_*|BREACH|*",
        "Allow dynamodb:UpdateItem volatile brk_*|Q|* brk_*|PULSE|*",
        ...["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
          (action) => `Allow dynamodb:${action} volatile stream`,
        ),
        "Allow dynamodb:BatchGetItem volatile brk_*|STREAM",
        ...["margin", "stream"].map((queue) => `Allow sqs:SendMessage queue ${queue}`),
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

  test("the margin sweep reads its part of the due index and the list of positions, and changes no money", () => {
    const due = ["RISK", "BREACH", "ORDER", "ACCOUNT"].map((kind) => `DUE|${kind}|*`).join(" ");
    expect(rightsOf("production", "margin-sweep").sort()).toEqual(
      [
        `Allow dynamodb:Query main/index/due ${due}`,
        "Allow dynamodb:Query main GLOBAL|CLIENTID brk_*|EXP|*",
        "Allow dynamodb:Query main/index/list brk_*|POS",
        "Allow dynamodb:PutItem volatile brk_*|OI",
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

  test("three functions send to connections and close them, those of this API alone", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const allowed = ofType(synthesized(stage), "AWS::IAM::Role").flatMap((role) => {
        const places = lines(role).flatMap((line) => /^Allow execute-api:(.+)/.exec(line)?.[1] ?? []);
        return places.map((place) => `${role.logicalId.replace(/Role[0-9A-F]+$/, "")} ${place}`);
      });
      const name = (line: string) => {
        const [, role, api, method] =
          /^(\w+) ManageConnections .*:(?=",\{)(.+)\/v2\/(\w+)\/@connections\/\*/.exec(line) ?? [];
        return [role, /^",\{"Ref":"referenceto\w+StreamBaseApi\w+Ref"\},"$/.test(api ?? ""), method].join(" ");
      };
      const expected = ["Provision", "StreamMessage", "StreamDeliver"].flatMap((role) => [
        `${role} true POST`,
        `${role} true DELETE`,
      ]);
      expect(allowed.map(name)).toEqual(expected);
    }
  });

  test("six functions receive from queues, and no function sends to a dead-letter queue", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const roles = ofType(synthesized(stage), "AWS::IAM::Role");
      const receivers = roles.filter((role) => lines(role).some((line) => /sqs:(?!SendMessage )/.test(line)));
      expect(receivers.map(({ logicalId }) => logicalId.replace(/Role[0-9A-F]+$/, ""))).toEqual([
        "Publish",
        "FanOut",
        "RecordRefusals",
        "Deliver",
        "Evaluate",
        "StreamDeliver",
      ]);
      expect(
        roles.flatMap(lines).filter((line) => /(?:deliver|margin|publish|fanout|refusals|stream)dead/.test(line)),
      ).toEqual([]);
    }
  });

  test("no role may scan, use a wildcard on DynamoDB, or touch partitions freely", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const rights = ofType(synthesized(stage), "AWS::IAM::Role").flatMap(lines);
      const onTables = rights.filter((line) => /dynamodb:/.test(line) && !line.endsWith(" stream"));
      expect(onTables.length).toBeGreaterThan(50);
      expect(rights.filter((line) => /dynamodb:(Scan|PartiQL|.*\*( |$).*main)|dynamodb:\*/.test(line))).toEqual([]);
      expect(onTables.filter((line) => !/ (brk_[*?]|GLOBAL\||DUE\|(?:[A-Z]+\|)?\*|\*\|LED)/.test(line))).toEqual([]);
    }
  });

  test("a reset removes what clients left behind, the ledger too, in the sandbox alone; it changes nothing", () => {
    expect(rightsOf("sandbox", "sandbox-reset").sort()).toEqual(
      [
        "Allow dynamodb:Query main/index/due DUE|RESET|*",
        ...["BatchGetItem main", "Query main", "Query main/index/list"].map((each) => `Allow dynamodb:${each} brk_*`),
        "Allow dynamodb:DeleteItem main brk_*#cli_* brk_*#acc_* brk_*#txn_* brk_*#trd_* brk_*#ord_* brk_*#cmd_* " +
          "brk_*#drf_* brk_*|CTL|* brk_*|EXP|* brk_*|SRC|* brk_*|SYM brk_*|UQ|* brk_*|WALK brk_*|SUM",
        "Allow dynamodb:DeleteItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow dynamodb:PutItem main brk_*|SYM",
        "Allow dynamodb:PutItem volatile brk_*|Q|* brk_*|PULSE|*",
        "Allow dynamodb:UpdateItem main brk_*|RESET brk_*|SMC",
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
      const open = await keptStage({ stage, config: { leadingKeys: false } });
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
    },
  );

  test("rights are in roles only: nothing adds a policy from aside", () => {
    const { resources } = synthesized("production");
    expect(resources.filter(({ type }) => type === "AWS::IAM::Policy" || type === "AWS::IAM::ManagedPolicy")).toEqual(
      [],
    );
  });
});
