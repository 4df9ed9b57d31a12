import { expect, test } from "vitest";
import { keptStage, ofType, type SynthesizedStage } from "../assembly.ts";
import { synthesized } from "../stack-cases.ts";

const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored";
const tableStream = `${arn}/stream/2026-01-31T12:00:00.000`;

/** How often the roles of a stage name a table. */
const rightsOn = (stage: SynthesizedStage, table: string) =>
  ofType(stage, "AWS::IAM::Role").reduce((sum, role) => sum + JSON.stringify(role).split(table).length - 1, 0);

test("a stage on a restored table names it in variables, rights, mappings and alarms, and not its own", async () => {
  const moved = await keptStage({ stage: "production", config: { leadingKeys: true, tableStream } });
  const text = (type: string) => ofType(moved, type).map(({ properties }) => JSON.stringify(properties));
  expect(ofType(moved, "AWS::DynamoDB::GlobalTable").length).toBe(2);
  const functions = text("AWS::Lambda::Function").filter((each) => each.includes('"TABLE_NAME"'));
  expect(functions.filter((each) => !each.includes('"TABLE_NAME":"restored"'))).toEqual([]);
  expect(functions.length).toBeGreaterThan(100);
  const readers = text("AWS::Lambda::EventSourceMapping").filter((each) => each.includes(tableStream));
  expect(readers.length).toBe(2);
  const alarms = text("AWS::CloudWatch::Alarm").filter((each) => each.includes('"Value":"restored"'));
  expect(alarms.length).toBeGreaterThan(2);
  expect(moved.resources.filter((each) => JSON.stringify(each).includes("TablesMain"))).toEqual([]);
  expect(rightsOn(moved, arn)).toBeGreaterThan(0);
  expect(rightsOn(moved, arn)).toBe(rightsOn(synthesized("production"), "TablesMain"));
});
