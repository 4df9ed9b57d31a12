import type { Template } from "../../checks/assembly.ts";

/**
 * Types of resources that hold what no deployment brings back: data, secrets, people, addresses that others know, and
 * logs. Replacing one loses its contents, or leaves them behind where no function looks.
 */
const statefulTypes = [
  "AWS::DynamoDB::GlobalTable",
  "AWS::SecretsManager::Secret",
  "AWS::Cognito::UserPool",
  "AWS::Cognito::UserPoolClient",
  "AWS::Cognito::UserPoolDomain",
  "AWS::ApiGateway::RestApi",
  "AWS::ApiGateway::UsagePlan",
  "AWS::ApiGatewayV2::Api",
  "AWS::CloudFront::Distribution",
  "AWS::S3::Bucket",
  "AWS::SQS::Queue",
  "AWS::SNS::Topic",
] as const;

/** Properties whose change replaces a resource (AWS docs: CloudFormation, "Update requires: Replacement"). */
const replacing: Readonly<Record<string, readonly string[]>> = {
  "AWS::DynamoDB::GlobalTable": ["TableName", "KeySchema"],
  "AWS::SecretsManager::Secret": ["Name"],
  "AWS::Cognito::UserPool": ["UsernameAttributes", "UsernameConfiguration", "AliasAttributes"],
  "AWS::Cognito::UserPoolClient": ["GenerateSecret", "UserPoolId"],
  "AWS::Cognito::UserPoolDomain": ["Domain", "UserPoolId"],
  "AWS::ApiGatewayV2::Api": ["ProtocolType"],
  "AWS::S3::Bucket": ["BucketName"],
  "AWS::SQS::Queue": ["QueueName", "FifoQueue"],
  "AWS::SNS::Topic": ["TopicName", "FifoTopic"],
};

/** Change of a stateful resource by a deployment. */
export interface StatefulChange {
  readonly logicalId: string;
  readonly type: string;
  readonly change: "created" | "removed" | "replaced";
  /** The property whose change replaces it. */
  readonly property?: string;
}

type Resources = Template["Resources"];

/** The stateful resources of a template, by their logical ids. */
export function statefulOf(template: { readonly Resources?: Resources }): Resources {
  const resources = Object.entries(template.Resources ?? {});
  return Object.fromEntries(resources.filter(([, { Type }]) => statefulTypes.some((type) => type === Type)));
}

/** Differences between the stateful resources of a deployed template and those of the next one, by logical id. */
export function statefulChanges(
  deployed: { readonly Resources?: Resources },
  next: { readonly Resources?: Resources },
): StatefulChange[] {
  const [before, after] = [statefulOf(deployed), statefulOf(next)];
  const ids = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return ids.flatMap((logicalId): StatefulChange[] => {
    const [old, made] = [before[logicalId], after[logicalId]];
    if (old === undefined) return made === undefined ? [] : [{ logicalId, type: made.Type, change: "created" }];
    if (made === undefined) return [{ logicalId, type: old.Type, change: "removed" }];
    const property = (replacing[made.Type] ?? []).find(
      (name) => JSON.stringify(old.Properties?.[name]) !== JSON.stringify(made.Properties?.[name]),
    );
    return property === undefined ? [] : [{ logicalId, type: made.Type, change: "replaced", property }];
  });
}
