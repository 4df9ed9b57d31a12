import { accessRules } from "./access.ts";
import { apiRules } from "./api.ts";
import { indexAssembly, type NamedTemplate } from "./assembly.ts";
import { eventSourceRules } from "./event-sources.ts";
import { retentionRules } from "./retention.ts";
import type { CheckOptions, Finding, Rule } from "./rule.ts";
import { socketRules } from "./sockets.ts";
import { sizes, templateRules } from "./templates.ts";

const rules: readonly Rule[] = [
  ...[...apiRules, ...socketRules, ...accessRules, ...eventSourceRules],
  ...[...retentionRules, ...templateRules],
];

/** Every defect of the templates of one stage that neither CloudFormation's rules nor cdk-nag see. */
export function checkTemplates(templates: readonly NamedTemplate[], options: CheckOptions): Finding[] {
  const assembly = indexAssembly(templates);
  return [...rules.flatMap((rule) => rule(assembly, options)), ...sizes(templates)];
}
