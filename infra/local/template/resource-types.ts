import { createHash } from "node:crypto";

/** Sources of the names and attributes of a resource. */
export interface ResourceNames {
  readonly id: string;
  readonly path: string;
  readonly stack: string;
  readonly account_id: string;
  readonly region: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** How this runner knows a resource type. */
export interface TypeRule {
  /**
   * Properties that the runner acts on; any other one is refused. `any`: the type has no effect here, whatever it says.
   */
  readonly properties: readonly string[] | "any";
  /** Properties without an effect on one machine, each with the reason. */
  readonly idle?: Readonly<Record<string, string>>;
  /** Why the whole type does nothing on one machine; absent for types that run. */
  readonly without_effect?: string;
  readonly physicalId: (names: ResourceNames) => string;
  readonly attributes?: (names: ResourceNames, physicalId: string) => Record<string, string>;
}

const text = "text for people";
const cost = "cost allocation";

/** Ten characters as API Gateway's own ids look, the same for the same path. */
function shortId({ path }: ResourceNames): string {
  const digest = createHash("sha256").update(path).digest();
  return Array.from(digest.subarray(0, 10), (byte) => "0123456789abcdefghijklmnopqrstuvwxyz"[byte % 36]).join("");
}

/**
 * The name given by a property, or one made from stack and logical id, without CloudFormation's random end. Logical ids
 * are unique in one template only, so those of nested stacks get an end made from their path.
 */
function named(property: string) {
  return (names: ResourceNames): string => {
    const { properties, stack, id, path } = names;
    const given = properties[property];
    if (typeof given === "string") return given;
    return path === `${stack}/${id}` ? `${stack}-${id}` : `${stack}-${id}-${shortId(names).slice(0, 6)}`;
  };
}

function arn(service: string, { region, account_id }: ResourceNames, rest: string): string {
  return `arn:aws:${service}:${region}:${account_id}:${rest}`;
}

/** The label of a stream is its creation time; here it is the same in every run. */
const streamLabel = "2020-01-01T00:00:00.000";

const table: TypeRule = {
  properties: [
    "TableName",
    "KeySchema",
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "StreamSpecification",
    "TimeToLiveSpecification",
  ],
  idle: {
    Replicas: "one region, which keeps a table until --fresh; copies in others, backups and tags have no use here",
    SSESpecification: "encryption at rest",
  },
  physicalId: named("TableName"),
  attributes: (names, name) => ({
    Arn: arn("dynamodb", names, `table/${name}`),
    StreamArn: arn("dynamodb", names, `table/${name}/stream/${streamLabel}`),
  }),
};

const lambdaFunction: TypeRule = {
  properties: [
    ...["FunctionName", "Handler", "Runtime", "Code", "Environment", "MemorySize", "Timeout", "Role", "Layers"],
    "RecursiveLoop",
  ],
  idle: {
    Architectures: "the code is JavaScript",
    Description: text,
    LoggingConfig: "logs are files here",
    ReservedConcurrentExecutions: "one machine runs a few environments at a time anyway",
    Tags: cost,
    TracingConfig: "no traces are kept here",
  },
  physicalId: named("FunctionName"),
  attributes: (names, name) => ({ Arn: arn("lambda", names, `function:${name}`) }),
};

const role: TypeRule = {
  properties: ["RoleName", "Policies", "AssumeRolePolicyDocument"],
  idle: { Description: text, Tags: cost, Path: "no policy here names a path" },
  physicalId: named("RoleName"),
  attributes: ({ account_id }, name) => ({ Arn: `arn:aws:iam::${account_id}:role/${name}` }),
};

const eventSourceMapping: TypeRule = {
  properties: [
    "FunctionName",
    "EventSourceArn",
    "StartingPosition",
    "BatchSize",
    "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor",
    "BisectBatchOnFunctionError",
    "FunctionResponseTypes",
    "MaximumRecordAgeInSeconds",
    "MaximumRetryAttempts",
    "FilterCriteria",
    "DestinationConfig",
    "Enabled",
    "ScalingConfig",
  ],
  idle: { Tags: cost },
  physicalId: ({ path }) => createHash("sha256").update(path).digest("hex").slice(0, 32),
};

const queue: TypeRule = {
  properties: [
    ...["QueueName", "DelaySeconds", "MessageRetentionPeriod", "VisibilityTimeout", "RedrivePolicy"],
    ...["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"],
  ],
  idle: { SqsManagedSseEnabled: "encryption at rest", Tags: cost },
  physicalId: (names) => `https://sqs.${names.region}.amazonaws.com/${names.account_id}/${named("QueueName")(names)}`,
  attributes: (names) => {
    const name = named("QueueName")(names);
    return { Arn: arn("sqs", names, name), QueueName: name };
  },
};

const secret: TypeRule = {
  properties: ["Name", "GenerateSecretString", "SecretString"],
  idle: { Description: text, Tags: cost },
  // Secrets Manager adds six random characters; made from the path they are the same in every run.
  physicalId: (names) => arn("secretsmanager", names, `secret:${named("Name")(names)}-${shortId(names).slice(0, 6)}`),
};

const bucket: TypeRule = {
  properties: ["BucketName", "VersioningConfiguration", "ObjectLockEnabled", "ObjectLockConfiguration"],
  idle: {
    BucketEncryption: "encryption at rest",
    LifecycleConfiguration: "the newest version of an object is kept here alone, until --fresh",
    OwnershipControls: "one account owns everything here",
    PublicAccessBlockConfiguration: "only roles of the template reach a bucket here",
    Tags: cost,
  },
  physicalId: bucketName,
  attributes: ({ region }, name) => ({
    Arn: `arn:aws:s3:::${name}`,
    DomainName: `${name}.s3.amazonaws.com`,
    RegionalDomainName: `${name}.s3.${region}.amazonaws.com`,
  }),
};

/** The name given, or one as CloudFormation makes it, in small letters and no longer than S3 takes. */
function bucketName(names: ResourceNames): string {
  const { properties, stack, id } = names;
  const given = properties["BucketName"];
  if (typeof given === "string") return given;
  const end = shortId(names).slice(0, 6);
  return `${`${stack}-${id}`.toLowerCase().slice(0, 56)}-${end}`;
}

/** The pool looks into the values itself (`pool/settings.ts`) and refuses those that it does not imitate. */
const cognito: Readonly<Record<string, TypeRule>> = {
  "AWS::Cognito::UserPool": {
    properties: [
      ...["UserPoolTier", "UsernameAttributes", "UsernameConfiguration", "AutoVerifiedAttributes", "Policies"],
      ...["AdminCreateUserConfig", "MfaConfiguration", "EnabledMfas"],
    ],
    idle: {
      AccountRecoverySetting: "no mail is sent here, so no password is recovered by one",
      DeletionProtection: "nothing deletes a pool here but --fresh",
      EmailConfiguration: "no mail is sent here: the runner prints what it would say",
      UserAttributeUpdateSettings: "nothing changes attributes here",
      UserPoolName: text,
      UserPoolTags: cost,
    },
    physicalId: (names) => `${names.region}_${shortId(names).slice(0, 9)}`,
    attributes: (names, id) => ({ Arn: arn("cognito-idp", names, `userpool/${id}`) }),
  },
  "AWS::Cognito::UserPoolClient": {
    properties: [
      ...["UserPoolId", "GenerateSecret", "AllowedOAuthFlowsUserPoolClient", "AllowedOAuthFlows", "CallbackURLs"],
      ...["AllowedOAuthScopes", "SupportedIdentityProviders", "PreventUserExistenceErrors", "LogoutURLs"],
      ...["EnableTokenRevocation", "AuthSessionValidity", "IdTokenValidity", "AccessTokenValidity"],
      ...["RefreshTokenValidity", "TokenValidityUnits", "RefreshTokenRotation"],
    ],
    idle: {
      ClientName: text,
      ExplicitAuthFlows: "the login page is the only way to sign in here",
      WriteAttributes: "nothing changes attributes here",
    },
    physicalId: (names) => `${shortId(names)}${shortId({ ...names, path: `${names.path}/2` })}local0`,
  },
  "AWS::Cognito::UserPoolDomain": {
    properties: ["UserPoolId", "ManagedLoginVersion"],
    idle: { Domain: "the pages are at a port of this machine" },
    physicalId: ({ properties }) => String(properties["Domain"]),
  },
  "AWS::Cognito::ManagedLoginBranding": {
    properties: ["UserPoolId", "ClientId"],
    idle: { UseCognitoProvidedValues: "the pages of this machine have a look of their own" },
    physicalId: shortId,
  },
};

/**
 * Every type of a REST API or a WebSocket API is the gateway's, which looks into the properties itself and refuses what
 * it does not do.
 */
function gatewayType(attributes?: TypeRule["attributes"]): TypeRule {
  return { properties: "any", physicalId: shortId, ...(attributes !== undefined && { attributes }) };
}

const gateway: Readonly<Record<string, TypeRule>> = {
  "AWS::ApiGateway::RestApi": gatewayType((_, id) => ({ RootResourceId: `${id}-root`, RestApiId: id })),
  "AWS::ApiGateway::Deployment": gatewayType(),
  "AWS::ApiGateway::Stage": { properties: "any", physicalId: named("StageName") },
  "AWS::ApiGateway::Resource": gatewayType((_, id) => ({ ResourceId: id })),
  "AWS::ApiGateway::Method": gatewayType(),
  "AWS::ApiGateway::UsagePlan": gatewayType((_, id) => ({ Id: id })),
  "AWS::ApiGateway::GatewayResponse": gatewayType(),
  "AWS::ApiGateway::Authorizer": gatewayType((_, id) => ({ AuthorizerId: id })),
  "AWS::ApiGatewayV2::Api": gatewayType((_, id) => ({ ApiId: id })),
  "AWS::ApiGatewayV2::Stage": { properties: "any", physicalId: named("StageName") },
  "AWS::ApiGatewayV2::Route": gatewayType(),
  "AWS::ApiGatewayV2::Integration": gatewayType(),
  "AWS::ApiGatewayV2::Authorizer": gatewayType((_, id) => ({ AuthorizerId: id })),
};

const distribution: Readonly<Record<string, TypeRule>> = {
  "AWS::CloudFront::Distribution": {
    properties: ["DistributionConfig"],
    idle: { Tags: cost },
    physicalId: (names) => `E${shortId(names).toUpperCase()}`,
    attributes: (names) => ({ DomainName: `d${shortId(names)}.cloudfront.net` }),
  },
  "AWS::CloudFront::Function": {
    properties: ["FunctionCode", "FunctionConfig", "AutoPublish"],
    idle: { Name: text, Tags: cost },
    physicalId: shortId,
    attributes: (names, id) => ({ FunctionARN: `arn:aws:cloudfront::${names.account_id}:function/${id}` }),
  },
  "AWS::CloudFront::OriginAccessControl": {
    properties: [],
    idle: { OriginAccessControlConfig: "requests of the distribution to the bucket are not signed here" },
    physicalId: shortId,
    attributes: (_, id) => ({ Id: id }),
  },
  "AWS::CloudFront::ResponseHeadersPolicy": { properties: ["ResponseHeadersPolicyConfig"], physicalId: shortId },
  "Custom::CDKBucketDeployment": {
    properties: [
      ...["DestinationBucketName", "DestinationBucketKeyPrefix", "Prune", "SystemMetadata"],
      ...["SourceObjectKeys", "SourceMarkers", "SourceMarkersConfig", "ServiceToken"],
    ],
    idle: {
      OutputObjectKeys: "no other resource asks for the keys",
      RetainOnDelete: "nothing is deleted by a stack here",
      SourceBucketNames: "assets are folders of the assembly here",
      WaitForDistributionInvalidation: "nothing is cached here",
    },
    physicalId: shortId,
  },
};

const running: Readonly<Record<string, TypeRule>> = {
  ...gateway,
  ...cognito,
  ...distribution,
  "AWS::CloudFormation::Stack": {
    properties: ["TemplateURL", "Parameters"],
    idle: { Tags: cost },
    physicalId: (names) => arn("cloudformation", names, `stack/${names.stack}-${names.id}/local`),
  },
  "AWS::DynamoDB::GlobalTable": table,
  "AWS::IAM::Role": role,
  "AWS::Lambda::Function": lambdaFunction,
  "AWS::Lambda::EventSourceMapping": eventSourceMapping,
  "AWS::Lambda::Permission": {
    properties: ["Action", "FunctionName", "Principal", "SourceAccount", "SourceArn"],
    physicalId: named("Id"),
  },
  "AWS::Scheduler::Schedule": {
    properties: ["Name", "ScheduleExpression", "Target", "FlexibleTimeWindow", "State"],
    idle: { Description: text },
    physicalId: named("Name"),
    attributes: (names, name) => ({ Arn: arn("scheduler", names, `schedule/default/${name}`) }),
  },
  "AWS::SecretsManager::Secret": secret,
  "AWS::SecretsManager::RotationSchedule": {
    properties: ["SecretId", "RotationLambdaARN", "RotationRules", "RotateImmediatelyOnUpdate"],
    physicalId: ({ properties }) => String(properties["SecretId"]),
  },
  "AWS::S3::Bucket": bucket,
  "AWS::S3::BucketPolicy": { properties: ["Bucket", "PolicyDocument"], physicalId: named("Id") },
  "AWS::SQS::Queue": queue,
  "AWS::SQS::QueuePolicy": { properties: ["PolicyDocument", "Queues"], physicalId: named("Id") },
};

/** Types that are understood and do nothing on one machine. */
const idleTypes: Readonly<Record<string, Omit<TypeRule, "properties">>> = {
  "AWS::Budgets::Budget": { without_effect: "nothing is billed here", physicalId: shortId },
  "AWS::CDK::Metadata": { without_effect: "usage reports of the CDK", physicalId: shortId },
  "AWS::CloudWatch::Alarm": {
    without_effect: "there are no metrics here that could raise it",
    physicalId: named("AlarmName"),
    attributes: (names, name) => ({ Arn: arn("cloudwatch", names, `alarm:${name}`) }),
  },
  "AWS::CloudWatch::CompositeAlarm": {
    without_effect: "there are no metrics here that could raise it",
    physicalId: named("AlarmName"),
  },
  "AWS::CloudWatch::Dashboard": {
    without_effect: "there are no metrics here to show",
    physicalId: named("DashboardName"),
  },
  "AWS::Lambda::LayerVersion": {
    without_effect: "a function that runs here has no layers",
    physicalId: (names) => arn("lambda", names, `layer:${names.id}:1`),
  },
  "AWS::Logs::LogGroup": {
    without_effect: "logs are files here, bounded in size instead of age; FilterLogEvents reads those of functions",
    physicalId: named("LogGroupName"),
    attributes: (names, name) => ({ Arn: `${arn("logs", names, `log-group:${name}`)}:*` }),
  },
  "AWS::Logs::MetricFilter": { without_effect: "there are no metrics here", physicalId: shortId },
  "AWS::XRay::SamplingRule": { without_effect: "no traces are kept here", physicalId: shortId },
  "AWS::Logs::QueryDefinition": { without_effect: "a saved text of CloudWatch's pages", physicalId: shortId },
  "AWS::SNS::Topic": {
    without_effect: "only alarms and budgets publish to it",
    physicalId: (names) => arn("sns", names, named("TopicName")(names)),
    attributes: (names) => {
      const name = named("TopicName")(names);
      return { TopicArn: arn("sns", names, name), TopicName: name };
    },
  },
  "AWS::SNS::TopicPolicy": { without_effect: "only alarms and budgets publish to the topic", physicalId: shortId },
  "AWS::SNS::Subscription": { without_effect: "only alarms and budgets publish to the topic", physicalId: shortId },
};

/** How a resource type is known here; undefined when it is not, which must stop the runner. */
export function knownType(type: string): TypeRule | undefined {
  const idle = idleTypes[type];
  return running[type] ?? (idle && { ...idle, properties: "any" });
}
