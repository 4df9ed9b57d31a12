import { beforeAll, expect, test } from "vitest";
import type { NamedTemplate } from "../../../infra/checks/assembly.ts";
import { checkTemplates } from "../../../infra/checks/index.ts";
import { routes } from "../../../shared/routes/index.ts";
import { keptStage, type SynthesizedStage } from "../assembly.ts";
import { find, plantable, statements, withText } from "./planted.ts";

let stage: SynthesizedStage;

beforeAll(async () => {
  stage = await keptStage({ stage: "production", config: { leadingKeys: true } });
});

/** Each plants one defect into the templates and returns the logical id that has to be named. */
const defects: readonly (readonly [string, (templates: NamedTemplate[]) => string])[] = [
  [
    "a function that wakes itself as often as it likes",
    (templates) => {
      const worker = find(templates, "AWS::Lambda::Function", withText("brokerage-production-stream-deliver"));
      delete worker.properties["RecursiveLoop"];
      return worker.logicalId;
    },
  ],
  [
    "a function that only bounds how often it wakes itself",
    (templates) => {
      const worker = find(templates, "AWS::Lambda::Function", withText('"brokerage-production-deliver"'));
      delete worker.properties["RecursiveLoop"];
      return worker.logicalId;
    },
  ],
  [
    "a function that wakes itself through another one",
    (templates) => {
      const publisher = statements(find(templates, "AWS::IAM::Role", withText('"ReceiveKeys"')));
      const keys = publisher.find(({ Sid: sid }) => sid === "ReceiveKeys")?.["Resource"];
      const fanOut = find(templates, "AWS::IAM::Role", withText('"ReceiveEvents"'));
      statements(fanOut).push({ Effect: "Allow", Action: "sqs:SendMessage", Resource: keys });
      return find(templates, "AWS::Lambda::Function", withText("brokerage-production-fan-out")).logicalId;
    },
  ],
];

test.each(defects)("%s is found at its resource", (_, plant) => {
  const templates = plantable(stage.templates);
  const logicalId = plant(templates);
  const found = checkTemplates(templates, { stage: "production", routes, leadingKeys: true });
  expect(found).toContainEqual(expect.objectContaining({ rule: "recursion", logicalId }));
});
