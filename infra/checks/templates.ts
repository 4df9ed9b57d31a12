import { groupBy, isObject, type Json, listOf, type NamedTemplate, objectOf, ofType } from "./assembly.ts";
import { type Finding, finding, type Rule } from "./rule.ts";

/** One template holds 500 resources; the rest is left for the next endpoints. */
export const maxResources = 450;

/** CloudFormation takes templates of 1 MB; a page below that is left for the upload's own additions. */
export const maxTemplateBytes = 1_000_000;

/** Settings that exist for one machine only: they open, or stretch, what is bounded in the cloud. */
const localSettings = ["BROKERAGE_LOCAL", "BUDGET_FACTOR", "WEBHOOK_ALLOW_CIDRS"] as const;

/** DynamoDB refuses more than 20 projected attributes to an index and 100 to a table, and says so at the deployment. */
const projections: Rule = (assembly) =>
  ofType(assembly, "AWS::DynamoDB::GlobalTable").flatMap((entry) => {
    const counts = listOf(entry.properties["GlobalSecondaryIndexes"]).map((index) => ({
      name: String(objectOf(index)["IndexName"]),
      count: listOf(objectOf(objectOf(index)["Projection"])["NonKeyAttributes"]).length,
    }));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    const problems = [
      ...counts
        .filter(({ count }) => count > 20)
        .map(({ name, count }) => `index ${name} projects ${count} attributes`),
      ...(total > 100 ? [`indexes project ${total} attributes together`] : []),
    ];
    return problems.map((problem) => finding("index-projection", entry, `The ${problem}.`));
  });

/** Switches for one machine stay there; production also calls nothing without TLS. */
const localSwitches: Rule = (assembly, { stage }) =>
  assembly.entries.flatMap((entry) => {
    const text = JSON.stringify(entry.resource);
    const named = localSettings.filter((setting) => text.includes(setting));
    const variables = JSON.stringify(objectOf(entry.properties["Environment"])["Variables"] ?? {});
    const plain = stage === "production" && variables.includes("http://");
    return [
      ...named.map((setting) => finding("local-setting", entry, `${setting} is for one machine only.`)),
      ...(plain ? [finding("local-setting", entry, "An address in the environment goes without TLS.")] : []),
    ];
  });

/** Logical ids that a value of a template depends on. */
function references(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "Ref" && typeof inner === "string") return [inner];
    if (key === "Fn::GetAtt") return listOf(inner).slice(0, 1).map(String);
    if (key === "Fn::Sub") {
      const [text] = listOf(inner);
      return [...String(text).matchAll(/\$\{([A-Za-z0-9]+)[.}]/g)].map((match) => match[1] ?? "");
    }
    return references(inner);
  });
}

/** CloudFormation refuses a template in which resources wait for each other in a circle. */
const cycles: Rule = (assembly) =>
  [...groupBy(assembly.entries, ({ template }) => template).values()].flatMap((entries) => {
    const waiting = new Map(
      entries.map((entry) => {
        const needs = [...references(entry.properties), ...listOf(entry.resource.DependsOn).map(String)];
        return [entry.logicalId, new Set(needs.filter((id) => id !== entry.logicalId))] as const;
      }),
    );
    let progress = true;
    while (progress) {
      const ready = [...waiting].filter(([, needs]) => ![...needs].some((id) => waiting.has(id)));
      for (const [logicalId] of ready) waiting.delete(logicalId);
      progress = ready.length > 0;
    }
    return entries
      .filter(({ logicalId }) => waiting.has(logicalId))
      .map((entry) => finding("cycle", entry, "The resource is in a circle of dependencies, or waits for one."));
  });

/** Templates that leave no room for the next endpoints. */
export function sizes(templates: readonly NamedTemplate[]): Finding[] {
  return templates.flatMap(({ name, template }) => {
    const count = Object.keys(template.Resources).length;
    const bytes = Buffer.byteLength(JSON.stringify(template));
    const problems = [
      ...(count < maxResources ? [] : [`${count} resources; fewer than ${maxResources} are allowed`]),
      ...(bytes < maxTemplateBytes ? [] : [`${bytes} bytes; fewer than ${maxTemplateBytes} are allowed`]),
    ];
    return problems.map((problem) => ({
      rule: "template-size",
      template: name,
      logicalId: "",
      message: `The template has ${problem}.`,
    }));
  });
}

/** Rules of what CloudFormation and DynamoDB refuse at the deployment, and of settings that stay on one machine. */
export const templateRules: readonly Rule[] = [projections, localSwitches, cycles];
