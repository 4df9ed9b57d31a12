import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readAssembly } from "../../infra/local/template/assembly.ts";
import { billOf } from "../../infra/tools/cost/bill.ts";
import { usualMonth } from "../../infra/tools/cost/mix.ts";
import { charges } from "../../infra/tools/cost/resource-types.ts";
import { costedStage, costOf } from "../../infra/tools/cost/template.ts";
import { measuredUnits } from "../../infra/tools/cost/units.ts";
import { startCommandProcess } from "../support/command-process.ts";
import { ofType } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

const root = new URL("../../", import.meta.url);
const stages = ["sandbox", "production"] as const;

describe("the types of the templates", () => {
  it.each(stages)("of %s are all priced or free, each with the reason", (stage) => {
    const types = [...new Set(synthesized(stage).resources.map(({ type }) => type))];
    expect(types.length).toBeGreaterThan(30);
    expect(types.filter((type) => charges[type] === undefined)).toEqual([]);
  });

  it("are refused by name when one is not known", () => {
    const { resources } = readAssembly(synthesized("sandbox").directory);
    const [first] = resources;
    if (first === undefined) throw new Error("The stage has no resource.");
    const unknown = { ...first, type: "AWS::RDS::DBInstance" };
    expect(() => costOf([...resources, unknown])).toThrow("No price is known of AWS::RDS::DBInstance");
  });

  it.each(stages)("are counted as the template of %s has them", (stage) => {
    const costed = costedStage(synthesized(stage).directory);
    const alarms = ofType(synthesized(stage), "AWS::CloudWatch::Alarm");
    expect(costed.alarms).toBe(alarms.length);
    const metrics = JSON.stringify(alarms.map(({ properties }) => properties)).match(/"MetricName":/g);
    expect(costed.alarm_metrics).toBe(metrics?.length);
    expect(costed.secrets).toBe(ofType(synthesized(stage), "AWS::SecretsManager::Secret").length);
    expect(costed.recovery).toBe(stage === "production");
    const rates = costed.schedules.map(({ id, runs_per_minute }) => [id, runs_per_minute]);
    expect(rates.filter(([, rate]) => rate !== 1)).toEqual([
      ["seal-audit", 1 / 60],
      ["collect-usage", 1 / 60],
      ["reconcile-books", 1 / 15],
    ]);
    expect(costed.polled).toEqual({ standard: 8, fifo: 2 });
  });
});

it("the committed picture says what the command says, within five percent", () => {
  const picture = readFileSync(new URL("infra/tools/cost/month.svg", root), "utf8");
  const stated = Number(/A month of production costs \$([\d.]+)/.exec(picture)?.[1]);
  const costed = costedStage(synthesized("production").directory);
  const given = { stage: "production", costed, units: measuredUnits(), region: "us-east-1" } as const;
  const { dollars } = billOf({ ...given, traffic: usualMonth }).month;
  expect([dollars, Math.abs(dollars / stated - 1) < 0.05]).toEqual([dollars, true]);
});

describe("the command", () => {
  const commands = startCommandProcess(fileURLToPath(root));
  const file = fileURLToPath(new URL("infra/tools/cost/run.ts", root));
  const cost = (...options: string[]) => commands.run(file, options, process.env);
  afterAll(() => commands.stop());

  it("refuses a region without prices and a folder without a stage", async () => {
    expect(await cost("--region", "mars-1")).toMatchObject({
      code: 1,
      stderr: '--region must be us-east-1 or eu-west-1, not "mars-1".\n',
    });
    expect(await cost("--compare", "functions")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no synthesized stage in functions"),
    });
  });
});
