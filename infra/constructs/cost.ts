import { Tags } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { type StageConfig, serviceName } from "../stages.ts";

/** The tags that finance groups by. */
export function costTags({ stage, costCenter }: StageConfig): Readonly<Record<string, string>> {
  return { stage, service: serviceName, "cost-center": costCenter };
}

/** Puts the tags that finance groups by on everything in a scope. */
export function tagCosts(scope: Construct, config: StageConfig): void {
  for (const [key, value] of Object.entries(costTags(config))) Tags.of(scope).add(key, value);
}

/**
 * The stage's budget per calendar month. It filters by the tag `cost-center`, which has to be activated once as a
 * cost allocation tag in the billing console.
 */
export class Budget extends Construct {
  constructor(scope: Construct, id: string, props: { readonly config: StageConfig; readonly topic: ITopic }) {
    super(scope, id);
    const { config, topic } = props;
    const subscribers = [{ subscriptionType: "SNS", address: topic.topicArn }];
    const notice = (notificationType: "ACTUAL" | "FORECASTED", threshold: number) => ({
      notification: { notificationType, threshold, thresholdType: "PERCENTAGE", comparisonOperator: "GREATER_THAN" },
      subscribers,
    });
    new CfnBudget(this, "Budget", {
      budget: {
        budgetName: `${serviceName}-${config.stage}`,
        budgetType: "COST",
        timeUnit: "MONTHLY",
        budgetLimit: { amount: config.monthlyBudgetUsd, unit: "USD" },
        costFilters: { TagKeyValue: [`user:cost-center$${config.costCenter}`] },
      },
      notificationsWithSubscribers: [notice("ACTUAL", 80), notice("FORECASTED", 100)],
    });
  }
}
