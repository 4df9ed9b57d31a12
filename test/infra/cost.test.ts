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

/** A line of the README: `name: 2 × 3 + 4 ÷ 8 = 6.50`, in dollars. */
interface ByHand {
  readonly name: string;
  readonly calculated: number;
  readonly stated: number;
}

/** Sums of products, as a person types them into a calculator. */
function calculate(arithmetic: string): number {
  const products = arithmetic.split("+").map((product) => {
    const [first = "", ...more] = product.trim().split(/\s*([×÷])\s*/);
    return more.reduce((value, word, at) => {
      if (at % 2 === 0) return value;
      return more[at - 1] === "×" ? value * Number(word) : value / Number(word);
    }, Number(first));
  });
  return products.reduce((sum, product) => sum + product, 0);
}

function byHand(): readonly ByHand[] {
  const readme = readFileSync(new URL("README.md", root), "utf8");
  const block = /<!-- by hand -->\n```\n([\s\S]+?)\n```/.exec(readme)?.[1] ?? "";
  return block.split(/\n(?! )/).map((text) => {
    const [, name = "", arithmetic = "", stated = ""] = /^([^:]+):([^=]+)=\s*(\S+)$/.exec(text) ?? [];
    return { name, calculated: calculate(arithmetic.replaceAll(/\s+/g, " ")), stated: Number(stated) };
  });
}

describe("the calculation by hand in the README", () => {
  const costed = () => costedStage(synthesized("production").directory);
  const bill = () =>
    billOf({
      ...{ stage: "production", costed: costed(), units: measuredUnits(), region: "us-east-1" },
      traffic: usualMonth,
    });

  it("is of three routes, an event with two deliveries and the idle month, and is calculated right", () => {
    const lines = byHand();
    expect(lines.map(({ name }) => name)).toEqual([
      ...["get_account", "create_deposit", "update_transaction", "event to 2 endpoints", "idle month"],
    ]);
    for (const { name, calculated, stated } of lines)
      expect([name, calculated.toFixed(2)]).toEqual([name, stated.toFixed(2)]);
  });

  it("agrees with the command within one percent", () => {
    const { routes, events, idle_month } = bill();
    const priced = [...routes, ...events, { name: "idle month", dollars: idle_month.dollars }];
    for (const { name, stated } of byHand()) {
      const found = priced.find((each) => each.name === name)?.dollars ?? Number.NaN;
      expect([name, Math.abs(found / stated - 1) < 0.01, found]).toEqual([name, true, found]);
    }
  });
});

it("the picture in the README says what the command says, within five percent", () => {
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
      stderr: "--region must be one of us-east-1, eu-west-1.\n",
    });
    expect(await cost("--compare", "functions")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no synthesized stage in functions"),
    });
  });
});
