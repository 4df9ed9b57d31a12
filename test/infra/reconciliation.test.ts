import { describe, expect, test } from "vitest";
import { functionOf, lines, ofType, roleOf } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

const stages = ["sandbox", "production"] as const;

describe("the function that compares the books", () => {
  test.each(stages)("of %s reads all of a brokerage, and writes its runs and its announcements alone", (stage) => {
    const rights = lines(roleOf(synthesized(stage), `brokerage-${stage}-reconcile-books`));
    expect(rights.filter((line) => !/^Allow (logs:|xray:)/.test(line)).sort()).toEqual(
      [
        "Allow dynamodb:BatchGetItem main brk_*",
        "Allow dynamodb:PutItem main brk_*|RCN brk_*|DAY brk_*|CLS brk_*#rcn_*",
        "Allow dynamodb:Query main GLOBAL|CLIENTID brk_*",
        ...["list", "state", "owner"].map((index) => `Allow dynamodb:Query main/index/${index} brk_*`),
        "Allow dynamodb:Query main/index/due DUE|OUTBOX|*",
        "Allow dynamodb:UpdateItem main brk_*|RCN",
        ...["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|* brk_*#cli_*|REV`),
      ].sort(),
    );
  });

  test.each(stages)("of %s has ten minutes and comes every quarter of an hour", (stage) => {
    const { properties } = functionOf(synthesized(stage), `brokerage-${stage}-reconcile-books`);
    expect(properties).toMatchObject({ Timeout: 600, MemorySize: 1769 });
    const schedules = ofType(synthesized(stage), "AWS::Scheduler::Schedule").map(({ properties: own }) => own);
    const [schedule] = schedules.filter(({ Name: name }) => String(name).endsWith("-reconcile-books"));
    expect(schedule).toMatchObject({ ScheduleExpression: "rate(15 minutes)" });
  });
});
