import type { Resource } from "./finding.ts";

/** `update_transaction` and `sweep-events` as logical ids begin: `UpdateTransaction`, `SweepEvents`. */
function logical(id: string): string {
  return id.replaceAll(/(?:^|[^a-z0-9]+)([a-z0-9])/gi, (_, first: string) => first.toUpperCase());
}

/** The function of a route or of a background row, by its id. */
export function functionOf(id: string): Resource {
  return { type: "AWS::Lambda::Function", id: `${logical(id)}Function` };
}

/** The role of that function. */
export function roleOf(id: string): Resource {
  return { type: "AWS::IAM::Role", id: `${logical(id)}Role` };
}

/** The answer that API Gateway makes by itself for one of its response types. */
export function gatewayResponse(responseType: string): Resource {
  return { type: "AWS::ApiGateway::GatewayResponse", id: `ApiResponses${responseType.replaceAll("_", "")}` };
}

/** Resources that checks name apart from functions, roles and gateway responses. */
export const resources = {
  api: { type: "AWS::ApiGateway::RestApi", id: "ApiRestApi" },
  apiStage: { type: "AWS::ApiGateway::Stage", id: "ApiRestApiDeploymentStagev2" },
  plan: { type: "AWS::ApiGateway::UsagePlan", id: "ApiRestApiPlan" },
  authorizer: { type: "AWS::ApiGateway::Authorizer", id: "ApiAuthorizer" },
  invoker: { type: "AWS::IAM::Role", id: "ApiInvoker" },
  clientPaths: {
    type: "AWS::CloudFormation::Stack",
    id: "ApiClientsPathsNestedStackClientsPathsNestedStackResource",
  },
  mainTable: { type: "AWS::DynamoDB::GlobalTable", id: "TablesMain" },
  volatileTable: { type: "AWS::DynamoDB::GlobalTable", id: "TablesVolatile" },
  routeStream: { type: "AWS::Lambda::EventSourceMapping", id: "RouteStream" },
  publishQueue: { type: "AWS::Lambda::EventSourceMapping", id: "PublishFrompublish" },
  deliverQueue: { type: "AWS::SQS::Queue", id: "Ladderdeliver" },
  deliverUnproven: { type: "AWS::SQS::Queue", id: "Ladderdeliverunproven" },
  retryQueue: { type: "AWS::SQS::Queue", id: "Ladderretry1m" },
  retryMapping: { type: "AWS::Lambda::EventSourceMapping", id: "DeliverFromretry1m" },
  signingKey: { type: "AWS::SecretsManager::Secret", id: "SigningKey" },
  keyRotation: { type: "AWS::SecretsManager::RotationSchedule", id: "SigningKeyRotation" },
  providerSchedule: { type: "AWS::Scheduler::Schedule", id: "Schedulessandboxsimulateprovider" },
  scheduleRole: { type: "AWS::IAM::Role", id: "SchedulesRole" },
  streamApi: { type: "AWS::ApiGatewayV2::Api", id: "Api" },
  streamQueue: { type: "AWS::Lambda::EventSourceMapping", id: "StreamDeliverFromstream" },
  distribution: { type: "AWS::CloudFront::Distribution", id: "Distribution" },
  singlePage: { type: "AWS::CloudFront::Function", id: "SinglePage" },
  pageHeaders: { type: "AWS::CloudFront::ResponseHeadersPolicy", id: "Headers" },
  dashboardFiles: { type: "Custom::CDKBucketDeployment", id: "PageCustomResource" },
  originSecret: { type: "AWS::SecretsManager::Secret", id: "OriginSecret" },
  userPool: { type: "AWS::Cognito::UserPool", id: "OperatorsPool" },
  poolClient: { type: "AWS::Cognito::UserPoolClient", id: "OperatorsClient" },
  poolDomain: { type: "AWS::Cognito::UserPoolDomain", id: "OperatorsDomain" },
  poolBranding: { type: "AWS::Cognito::ManagedLoginBranding", id: "OperatorsBranding" },
} as const satisfies Readonly<Record<string, Resource>>;
