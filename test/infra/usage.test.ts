import { describe, expect, test } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import { stages } from "../../shared/routes/route.ts";
import { at, lines, type NamedResource, ofType, roleOf } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

const nameOf = (stage: string, id: string) => `brokerage-${stage}-${id.replaceAll("_", "-")}`;

describe("the function that counts usage", () => {
  test.each(stages)("of %s reads the log of requests and events, and writes counts alone", (stage) => {
    const rights = lines(roleOf(synthesized(stage), nameOf(stage, "collect-usage")));
    const own = rights.filter((line) => !/^Allow (logs:CreateLogStream|logs:PutLogEvents|xray:)/.test(line));
    const onLogs = own.filter((line) => line.includes(" logs:"));
    expect(own.filter((line) => !onLogs.includes(line)).sort()).toEqual(
      [
        "Allow dynamodb:BatchGetItem main GLOBAL|USAGE brk_*|USC brk_*|SEQ",
        "Allow dynamodb:PutItem main GLOBAL|USAGE",
        "Allow dynamodb:Query main GLOBAL|CLIENTID brk_*|EVT|*",
        "Allow dynamodb:UpdateItem main GLOBAL|USAGE brk_*|USC brk_*|USE",
        ...["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|* brk_*#cli_*|REV`),
      ].sort(),
    );
    expect(onLogs).toHaveLength(1);
    expect(onLogs[0]).toMatch(/^Allow logs:FilterLogEvents .*RequestLogs/i);
    const others = ofType(synthesized(stage), "AWS::IAM::Role").flatMap(lines);
    expect(others.filter((line) => line.includes("logs:FilterLogEvents"))).toEqual(onLogs);
  });

  test.each(stages)(
    "of %s has a neighbour that sums transactions, which reads events and writes sums alone",
    (stage) => {
      const rights = lines(roleOf(synthesized(stage), nameOf(stage, "sum-events")));
      const own = rights.filter((line) => !/^Allow (logs:CreateLogStream|logs:PutLogEvents|xray:)/.test(line));
      expect(own.sort()).toEqual(
        [
          `Allow dynamodb:BatchGetItem main brk_*|SMC brk_*|SEQ brk_${"?".repeat(26)}`,
          "Allow dynamodb:Query main GLOBAL|CLIENTID brk_*|EVT|* brk_*|DAY",
          "Allow dynamodb:UpdateItem main brk_*|SMC brk_*|SUM",
          ...["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|* brk_*#cli_*|REV`),
        ].sort(),
      );
    },
  );

  test.each(stages)("of %s finds requests and the stream in one log, which no other function writes to", (stage) => {
    const groupOf = ({ properties }: NamedResource) => JSON.stringify(at(properties["LoggingConfig"], "LogGroup"));
    const functions = ofType(synthesized(stage), "AWS::Lambda::Function");
    const behind = routes.filter((row) => row.stages.includes(stage)).map(({ id }) => nameOf(stage, id));
    const streaming = ["message", "deliver", "disconnect", "sweep"].map((id) => nameOf(stage, `stream-${id}`));
    const shared = functions.filter((one) => /RequestLogs/.test(groupOf(one)));
    expect(shared.map(({ properties }) => String(properties["FunctionName"])).sort()).toEqual(
      [...behind, ...streaming].sort(),
    );
  });
});
