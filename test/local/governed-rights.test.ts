import { beforeAll, describe, expect, inject, it } from "vitest";
import { Permissions } from "../../infra/local/iam/permissions.ts";
import { type Resource, readAssembly } from "../../infra/local/template/assembly.ts";

/** What says who may do what in a brokerage, by the key of its partition. */
const brokerage = `brk_${"0".repeat(26)}`;
const partitions = {
  owner: `${brokerage}#opr_01JD0000000000000000000000`,
  application: `${brokerage}#app_01JD0000000000000000000000`,
  rule: brokerage,
  quote: `${brokerage}|Q|EURUSD`,
} as const;

const changes = ["PutItem", "UpdateItem", "DeleteItem"] as const;

/** Functions that may write each of them, written out: what decides about it, and what publishes its commits. */
const writers: Readonly<Record<keyof typeof partitions, readonly string[]>> = {
  owner: [
    ...["create-operator", "update-operator", "invite-operator", "delete-operator", "create-token"],
    ...["provision", "publish", "sweep-events"],
  ],
  application: [
    ...["create-application", "update-application", "revoke-application", "rotate-application-secret"],
    ...["create-token", "revoke-token", "provision", "publish", "sweep-events"],
  ],
  rule: [
    ...["create-operator", "update-operator", "delete-operator", "create-application", "revoke-application"],
    ...["update-settings", "create-token", "provision"],
  ],
  quote: [
    ...["drive-sandbox-account", "provision", "sandbox-reset", "sandbox-walk", "send-feed-batch", "send-feed-quotes"],
    "set-sandbox-prices",
  ],
};

describe("the roles of the functions", () => {
  let permissions: Permissions;
  let functions: readonly (readonly [name: string, role: string])[];
  let tables: Readonly<Record<"main" | "volatile", string>>;

  beforeAll(() => {
    const { resources, ...placement } = readAssembly(inject("assemblyDir"));
    permissions = new Permissions(resources, placement);
    const arnOf = (name: string) => {
      const isTable = ({ type, path }: Resource) =>
        type.endsWith("::Table") && RegExp(`tables\\W*${name}`, "i").test(path);
      return resources.find(isTable)?.attributes["Arn"] ?? "";
    };
    tables = { main: arnOf("main"), volatile: arnOf("volatile") };
    functions = resources
      .filter(({ type }) => type === "AWS::Lambda::Function")
      .map(({ properties }) => [String(properties["FunctionName"]), String(properties["Role"])] as const)
      .filter(([name]) => name.startsWith("brokerage-sandbox-"));
  });

  /** Functions, without the name of the stage, that may change an item of the partition; quotes are volatile. */
  async function mayChange(kind: keyof typeof partitions): Promise<string[]> {
    const resource = kind === "quote" ? tables.volatile : tables.main;
    const found = new Set<string>();
    for (const [name, role] of functions) {
      for (const action of changes) {
        const access = { action: `dynamodb:${action}`, resource, leading_keys: [partitions[kind]] };
        if ((await permissions.decide(role, name, access)).allowed) found.add(name.replace("brokerage-sandbox-", ""));
      }
    }
    return [...found].toSorted();
  }

  it("write owners, applications and rules only where they decide them, and quotes where prices come in", async () => {
    for (const kind of ["owner", "application", "rule", "quote"] as const) {
      expect([kind, await mayChange(kind)]).toEqual([kind, writers[kind].toSorted()]);
    }
  }, 120_000);

  it("of the deposit lets it book, and write no owner, no application, no rule and no price", async () => {
    const [name, role] = functions.find(([each]) => each.endsWith("-create-deposit")) ?? ["", ""];
    const decide = async (action: string, leading: string, resource: string) =>
      await permissions.decide(role, name, { action: `dynamodb:${action}`, resource, leading_keys: [leading] });
    const account = `${brokerage}#acc_01JD0000000000000000000000`;
    expect(await decide("PutItem", account, tables.main)).toMatchObject({ allowed: true });
    for (const action of changes) {
      for (const leading of [partitions.owner, partitions.application, partitions.rule]) {
        expect([leading, action, (await decide(action, leading, tables.main)).denied]).toEqual([leading, action, true]);
      }
      expect([action, (await decide(action, partitions.quote, tables.volatile)).allowed]).toEqual([action, false]);
    }
    const counted = `${brokerage}|RATE|app_01JD0000000000000000000000`;
    expect(await decide("UpdateItem", counted, tables.volatile)).toMatchObject({ allowed: true });
  });
});
