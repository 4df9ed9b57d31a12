import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { watchedAlarms } from "../../../infra/tools/deploy/rollback.ts";
import { keptStage } from "../assembly.ts";
import { alarmNames, template, withDeployCommand } from "./deploy-command.ts";

describe("npm run deploy, by what it asks of the CDK,", () => {
  const command = withDeployCommand();
  const foundation = { words: "deploy --require-approval never -c foundation=true" };
  const whole = (more = "") => ({
    words: `deploy --require-approval never --app${more}`,
    ...{ folder: command().folder, terminationProtection: true },
  });
  const unwatched = " --rollback-trigger-alarm-arns none";

  test("deploys the assembly that it is given, of production first without termination protection", async () => {
    command().account.stack = { status: "ROLLBACK_COMPLETE", template: {} };
    const [before, first, ...then] = await command().deployed("production");
    expect([before, then]).toEqual([foundation, [whole()]]);
    expect(first).toEqual({
      ...whole(),
      folder: expect.stringContaining("first-creation-"),
      terminationProtection: false,
    });
    expect(existsSync(first?.folder ?? "")).toBe(false);
    command().account.stack = { status: "UPDATE_COMPLETE", template };
    expect(await command().deployed("production")).toEqual([foundation, whole(unwatched)]);
  });

  test("watches alarms that production has, as many as CloudFormation takes", async () => {
    const { resources } = await keptStage({ stage: "production" });
    const names = resources.map(({ properties }) => properties["AlarmName"]);
    expect(names).toEqual(expect.arrayContaining(watchedAlarms.map((id) => `brokerage-production-${id}`)));
    expect(watchedAlarms.length).toBeLessThanOrEqual(5);
  });

  test("has an update of production rolled back by alarms that exist, stay and do not ring already", async () => {
    const [errors = "", latency = "", background = ""] = alarmNames;
    command().account.alarms = { [errors]: "OK", [latency]: "ALARM", [background]: "INSUFFICIENT_DATA" };
    command().account.alarms = { ...command().account.alarms, "brokerage-production-iterator-age": "OK" };
    const triggers = [errors, background].map(
      (name) => ` --rollback-trigger-alarm-arns arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}`,
    );
    const watched = (minutes: number) => ` --monitoring-time-minutes ${minutes}${triggers.join("")}`;
    expect(await command().deployed("production")).toEqual([foundation, whole(watched(15))]);
    expect(await command().deployed("production", "--watch", "30")).toEqual([foundation, whole(watched(30))]);
    expect(await command().deployed("production", "--watch", "0")).toEqual([foundation, whole(unwatched)]);
    expect(await command().deployed("sandbox")).toEqual([foundation, whole(unwatched)]);
    const { text } = await command().dryRun(["--stage", "production"]);
    expect(text).toContain(`Rolled back by: ${errors}, ${background}, until 15 minutes after the last resource`);
    expect(text).toContain(`Warning: ${latency} is in alarm already`);
    expect((await command().dryRun(["--watch", "181"])).text).toBe("--watch must be a whole number from 0 to 180.\n");
  });
});
