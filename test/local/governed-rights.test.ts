import { beforeAll, describe, expect, it } from "vitest";
import { Permissions } from "../../infra/local/iam/permissions.ts";
import { type Resource, readAssembly } from "../../infra/local/template/assembly.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { keptStage } from "../infra/assembly.ts";

/** Items that say who may do what in a brokerage, by the key of their partition. */
const brokerage = `brk_${"0".repeat(26)}`;
const partitions = {
  owner: `${brokerage}#opr_01JD0000000000000000000000`,
  application: `${brokerage}#app_01JD0000000000000000000000`,
  rule: brokerage,
  quote: `${brokerage}|Q|EURUSD`,
} as const;

const changes = ["PutItem", "UpdateItem", "DeleteItem"] as const;
/** Further actions that write; no function has them on any partition. */
const otherWrites = [
  ...["BatchWriteItem", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"],
  ...["UpdateTable", "DeleteTable", "RestoreTableFromBackup"],
] as const;

/** Functions that may write each of them, written out: what decides about it, and what publishes its commits. */
const writers: Readonly<Record<keyof typeof partitions, readonly string[]>> = {
  owner: [
    ...["create-operator", "update-operator", "invite-operator", "delete-operator", "create-token"],
    ...["reset-operator-credentials", "revoke-token", "provision", "publish", "sweep-events"],
  ],
  application: [
    ...["create-application", "update-application", "revoke-application", "rotate-application-secret"],
    ...["create-token", "revoke-token", "provision", "publish", "sweep-events"],
  ],
  rule: [
    ...["create-operator", "update-operator", "delete-operator", "create-application", "revoke-application"],
    ...["invite-operator", "reset-operator-credentials", "update-settings", "create-token", "provision"],
  ],
  // The watch notes on a quote in how many shards its symbol has accounts.
  quote: ["send-feed-batch", "send-feed-quotes", "watch"],
};
/** Functions that write prices in the sandbox alone: a new brokerage there begins with a market. */
const sandboxPricers = ["provision", "drive-sandbox-account", "sandbox-reset", "sandbox-walk", "set-sandbox-prices"];

describe.each(["sandbox", "production"] as const)("the roles of the functions of the stage %s", (stage: Stage) => {
  let permissions: Permissions;
  let functions: readonly (readonly [name: string, role: string])[];
  let tables: Readonly<Record<"main" | "volatile", string>>;

  beforeAll(async () => {
    const { directory } = await keptStage({ stage, config: { leadingKeys: true } });
    const { resources, ...placement } = readAssembly(directory);
    permissions = new Permissions(resources, placement);
    const arnOf = (name: string) => {
      const isTable = ({ type, path }: Resource) =>
        type === "AWS::DynamoDB::GlobalTable" && RegExp(`tables\\W*${name}`, "i").test(path);
      const arn = resources.find(isTable)?.attributes["Arn"];
      if (arn === undefined) throw new Error(`${stage} has no table ${name}.`);
      return arn;
    };
    tables = { main: arnOf("main"), volatile: arnOf("volatile") };
    functions = resources
      .filter(({ type }) => type === "AWS::Lambda::Function")
      .map(({ properties }) => [String(properties["FunctionName"]), String(properties["Role"])] as const)
      .filter(([name]) => name.startsWith(`brokerage-${stage}-`));
  });

  const decide = async (name: string, role: string, action: string, resource: string, leading: string) =>
    await permissions.decide(role, name, { action: `dynamodb:${action}`, resource, leading_keys: [leading] });

  /** Functions, without the name of the stage, that may do one of these to an item of the partition. */
  async function mayDo(actions: readonly string[], kind: keyof typeof partitions): Promise<string[]> {
    const resource = kind === "quote" ? tables.volatile : tables.main;
    const found = new Set<string>();
    for (const [name, role] of functions) {
      for (const action of actions) {
        const { allowed } = await decide(name, role, action, resource, partitions[kind]);
        if (allowed) found.add(name.replace(`brokerage-${stage}-`, ""));
      }
    }
    return [...found].toSorted();
  }

  it("write owners, applications and rules only where they decide them, and quotes where prices come in", async () => {
    expect(functions.length).toBeGreaterThan(100);
    for (const kind of ["owner", "application", "rule", "quote"] as const) {
      const wanted = [...writers[kind], ...(kind === "quote" && stage === "sandbox" ? sandboxPricers : [])];
      expect([kind, await mayDo(changes, kind)]).toEqual([kind, wanted.toSorted()]);
      expect([kind, await mayDo(otherWrites, kind)]).toEqual([kind, []]);
    }
  }, 120_000);

  it("of the deposit lets it book, and write no owner, no application, no rule and no price", async () => {
    const [name, role] = functions.find(([each]) => each.endsWith("-create-deposit")) ?? ["", ""];
    const account = `${brokerage}#acc_01JD0000000000000000000000`;
    expect(await decide(name, role, "PutItem", tables.main, account)).toMatchObject({ allowed: true });
    for (const action of changes) {
      for (const leading of [partitions.owner, partitions.application, partitions.rule]) {
        const { denied } = await decide(name, role, action, tables.main, leading);
        expect([leading, action, denied]).toEqual([leading, action, true]);
      }
      const { allowed } = await decide(name, role, action, tables.volatile, partitions.quote);
      expect([action, allowed]).toEqual([action, false]);
    }
    const counted = `${brokerage}|RATE|app_01JD0000000000000000000000`;
    expect(await decide(name, role, "UpdateItem", tables.volatile, counted)).toMatchObject({ allowed: true });
  });
});
