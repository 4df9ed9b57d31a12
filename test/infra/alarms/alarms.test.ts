import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runbookFolder, runbookOf } from "../../../infra/constructs/alarms/runbooks.ts";
import { readAssembly } from "../../../infra/local/template/assembly.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { type Alarm, alarmOf, changesOf } from "../../support/alarms/alarm.ts";
import { type MetricData, minutesOfSlot } from "../../support/alarms/metric-data.ts";
import { calculate } from "../../support/alarms/metric-math.ts";
import { type Happening, type Place, situations } from "../../support/alarms/situations.ts";
import { quietTimes, usualDay } from "../../support/alarms/traffic.ts";
import { synthesized } from "../stack-cases.ts";

const stages = ["sandbox", "production"] as const;

/** Fourteen hours: the slowest alarm looks at six of them, and must end after the situation has. */
const allSlots = 14 * 12;
/** Between these slots the situation lasts. */
const [begins, ends] = [12, 60];

const places = new Map<Stage, Place>();

function placeOf(stage: Stage): Place {
  const known = places.get(stage) ?? { stage, assembly: readAssembly(synthesized(stage).directory) };
  places.set(stage, known);
  return known;
}

function alarmsOf(stage: Stage): Alarm[] {
  const { resources } = placeOf(stage).assembly;
  return resources.filter(({ type }) => type === "AWS::CloudWatch::Alarm").map((each) => alarmOf(stage, each));
}

/** Alarms that calculate with more functions than one alarm can are one to a person. */
const nameOf = ({ id }: Alarm) => (/^background-errors-\d+$/.test(id) ? id.replace(/-\d+$/, "") : id);

/** A day on which something happens for some hours. */
function dayWith(stage: Stage, happening: Happening): MetricData {
  const usual = usualDay.data(stage);
  return (metric, slot) => {
    const during = slot >= begins && slot < ends ? happening(metric, slot - begins) : undefined;
    return during ?? usual(metric, slot);
  };
}

interface Seen {
  /** Ids of the alarms that were raised, each time that it happened. */
  readonly raised: readonly string[];
  /** Minutes after which the first was raised, each time. */
  readonly after_minutes: readonly number[];
}

/** Lets the situation of an alarm happen, and looks which alarms of the name are raised and end again. */
function seen(stage: Stage, name: string, alarms: readonly Alarm[]): Seen {
  const happenings = situations[name]?.happens(placeOf(stage)) ?? [];
  const found = happenings.map((happening) => {
    const data = dayWith(stage, happening);
    const touched = alarms.filter(({ watched }) => watched.some(({ metric }) => happening(metric, 0) !== undefined));
    for (const alarm of touched) {
      const [raised, ended, ...more] = changesOf(alarm, data, allSlots);
      if (raised !== undefined) {
        expect([alarm.id, ended === undefined ? "stays" : "ends", more]).toEqual([alarm.id, "ends", []]);
        return { id: alarm.id, after: raised - begins * minutesOfSlot };
      }
    }
    throw new Error(`${name} is not raised in ${stage} by its situation: ${situations[name]?.what}.`);
  });
  return { raised: found.map(({ id }) => id), after_minutes: found.map(({ after }) => after) };
}

const rows = new Map<string, Set<number>>();

describe.each(stages)("in %s", (stage) => {
  test("every alarm has a situation, and every situation of the stage its alarm", () => {
    const names = [...new Set(alarmsOf(stage).map(nameOf))].sort();
    const expected = Object.keys(situations).filter((name) => stage === "sandbox" || name !== "sandbox-errors");
    expect(names).toEqual(expected.sort());
  });

  test("each alarm is raised by what it is for, and ends after it", () => {
    const all = alarmsOf(stage);
    for (const name of new Set(all.map(nameOf))) {
      const alarms = all.filter((alarm) => nameOf(alarm) === name);
      const { raised, after_minutes } = seen(stage, name, alarms);
      expect([...new Set(raised)].sort()).toEqual(alarms.map(({ id }) => id).sort());
      rows.set(name, new Set([...(rows.get(name) ?? []), ...after_minutes]));
    }
  });

  test.each(quietTimes.map(({ title, data }) => [title, data] as const))("no alarm is raised by %s", (_, data) => {
    const raised = alarmsOf(stage).filter((alarm) => changesOf(alarm, data(stage), allSlots).length > 0);
    expect(raised.map(({ id }) => id)).toEqual([]);
  });
});

test("an alarm that counted the authorizer would be raised by expired tokens alone", () => {
  const alarm = alarmsOf("production").find(({ id }) => id === "background-errors");
  if (alarm === undefined) throw new Error("There is no alarm on background functions.");
  const [first, ...others] = alarm.watched;
  if (first === undefined) throw new Error("The alarm counts no function.");
  const dimensions = { FunctionName: "brokerage-production-authorize" };
  const counting = { ...alarm, watched: [{ ...first, metric: { ...first.metric, dimensions } }, ...others] };
  expect(changesOf(alarm, usualDay.data("production"), allSlots)).toEqual([]);
  expect(changesOf(counting, usualDay.data("production"), allSlots)).toEqual([10]);
});

test("the runbooks have the table of alarms as it was seen", () => {
  const lines = [...rows].toSorted().map(([name, after]) => {
    const page = runbookOf(name).slice(runbookFolder.length + 1);
    const minutes = [...after].toSorted((one, other) => one - other).join(" or ");
    return `| \`${name}\` | ${situations[name]?.what} | ${minutes} | [${page}](${page}) |`;
  });
  const text = readFileSync(new URL(`../../../${runbookFolder}/README.md`, import.meta.url), "utf8");
  const table = text.slice(text.indexOf("|---"));
  expect(table.trim().split("\n").slice(1)).toEqual(lines);
});

describe("metric math", () => {
  test.each([
    ["1 + 2 * 3 > 6", {}, 1],
    ["(1 + 2) * 3 - 4 / 2", {}, 7],
    ["IF(a > 1, 100 * FILL(b, 0) / a, 0)", { a: 4, b: undefined }, 0],
    ["IF(a > 1, 100 * FILL(b, 0) / a, 0)", { a: 4, b: 1 }, 25],
    ["a + b", { a: 4, b: undefined }, undefined],
    ["MAX([FILL(a, 0), FILL(b, 0)])", { a: undefined, b: 3 }, 3],
  ])("%s with %o is %s", (expression, metrics, value) => {
    expect(calculate(expression, metrics)).toBe(value);
  });

  test.each(["a", "AVG([1])", "1 +", "1 2", "FILL(1; 2)", "(1, 2)"])("%s is refused", (expression) => {
    expect(() => calculate(expression, {})).toThrow();
  });
});
