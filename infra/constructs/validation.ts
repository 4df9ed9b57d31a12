import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  CloudFormationValidatePlugin,
  type IPolicyValidationContext,
  type IPolicyValidationPlugin,
  NestedStack,
  type PolicyValidationPluginReport,
  type PolicyValidationStack,
} from "aws-cdk-lib";
import type { NamedTemplate } from "../checks/assembly.ts";
import { checkTemplates } from "../checks/index.ts";
import type { CheckOptions } from "../checks/rule.ts";

/**
 * Templates of the nested stacks in addition to those of the context. The framework hands over top-level stacks only,
 * and here every function is in a nested one.
 */
function allTemplates(context: IPolicyValidationContext): PolicyValidationStack[] {
  const folder = dirname(context.stackTemplates[0]?.templatePath ?? "");
  const nested = context.appConstruct.node
    .findAll()
    .filter((construct) => NestedStack.isNestedStack(construct))
    .map((stack) => ({
      stackConstructPath: stack.node.path,
      templatePath: join(folder, stack.templateFile),
      accountId: undefined,
      region: undefined,
    }));
  return [...context.stackTemplates, ...nested];
}

class WholeTemplateValidation extends CloudFormationValidatePlugin {
  override validate(context: IPolicyValidationContext): PolicyValidationPluginReport {
    return super.validate({
      appConstruct: context.appConstruct,
      templatePaths: context.templatePaths,
      stackTemplates: allTemplates(context),
    });
  }
}

/**
 * CloudFormation's own rules over every template, nested ones included. One for the process: to read the rules takes it
 * longer than to apply them.
 */
export const wholeTemplateValidation = new WholeTemplateValidation() as IPolicyValidationPlugin;

/** The rules of `checks/` as a plugin, so that the CDK command line reports and stops as well. */
export class ServiceRules implements IPolicyValidationPlugin {
  readonly name = "Brokerage rules";
  private readonly options: CheckOptions;

  constructor(options: CheckOptions) {
    this.options = options;
  }

  validate(context: IPolicyValidationContext): PolicyValidationPluginReport {
    const stacks = allTemplates(context);
    const templates: NamedTemplate[] = stacks.map(({ templatePath }) => ({
      name: basename(templatePath),
      template: JSON.parse(readFileSync(templatePath, "utf8")),
    }));
    const paths = new Map(stacks.map(({ templatePath }) => [basename(templatePath), templatePath]));
    const findings = checkTemplates(templates, this.options);
    return {
      success: findings.length === 0,
      violations: findings.map((finding) => ({
        ruleName: finding.rule,
        description: finding.message,
        severity: "error",
        violatingResources: [
          {
            resourceLogicalId: finding.logicalId,
            templatePath: paths.get(finding.template) ?? finding.template,
            locations: [],
          },
        ],
      })),
    };
  }
}
