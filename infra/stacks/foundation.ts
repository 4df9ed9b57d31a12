import { RemovalPolicy, Stack } from "aws-cdk-lib";
import { CfnAccount } from "aws-cdk-lib/aws-apigateway";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { acknowledge } from "../constructs/acknowledge.ts";

/**
 * Needed once per account and region before any stage: the role with which API Gateway writes logs. It outlives the
 * stack, since every other API of the account depends on it as well.
 */
export class FoundationStack extends Stack {
  constructor(scope: Construct, id: string) {
    super(scope, id, { description: "Role with which API Gateway writes logs, one per account and region" });
    const policy = "service-role/AmazonAPIGatewayPushToCloudWatchLogs";
    const role = new Role(this, "CloudWatchRole", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(policy)],
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    acknowledge(
      role,
      `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`,
      "API Gateway documents this very policy for the role and checks for its permissions.",
    );
    const account = new CfnAccount(this, "Account", { cloudWatchRoleArn: role.roleArn });
    account.applyRemovalPolicy(RemovalPolicy.RETAIN);
  }
}
