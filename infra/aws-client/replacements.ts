/**
 * One module that is replaced while bundling. Sources keep importing the package; its commands, values, errors and
 * retries stay. The file of each replacement says what it leaves out; shared/decisions/0017-sdk-diet.md says what it is
 * worth.
 */
export interface Replacement {
  /** The import as packages write it, or, with a slash at its start, the end of the path of a file inside a package. */
  readonly replaces: string;
  /** The file of this folder that comes instead. */
  readonly by: string;
  /** Inputs whose presence means that the replacement must match. */
  readonly neededBy: RegExp;
}

/** Every client that a function may bundle. */
export const anyClient = /node_modules\/@aws-sdk\/client-/;
const documents = /node_modules\/@aws-sdk\/lib-dynamodb\//;
const jsonClientNames = "api-gateway|cloudwatch-logs|cognito-identity-provider|dynamodb|secrets-manager|sqs";
/** Clients of services that speak JSON, which `json-client.ts` stands in for. */
export const jsonClients = new RegExp(`node_modules/@aws-sdk/(client-(?:${jsonClientNames}))/`);

const smithy = "/@smithy/core/dist-es/submodules";
const library = "/@aws-sdk/lib-dynamodb/dist-es";

/** Every module that is replaced. */
export const replacements: readonly Replacement[] = [
  { replaces: `${smithy}/serde/uuid/v4.js`, by: "native-uuid.ts", neededBy: anyClient },
  { replaces: `${smithy}/serde/date-utils.js`, by: "native-dates.ts", neededBy: anyClient },
  { replaces: `${library}/DynamoDBDocumentClient.js`, by: "document-client.ts", neededBy: documents },
  {
    replaces: `${library}/baseCommand/DynamoDBDocumentClientCommand.js`,
    by: "document-command.ts",
    neededBy: documents,
  },
  {
    replaces: "/@aws-sdk/util-dynamodb/dist-es/convertToNative.js",
    by: "native-attributes.ts",
    neededBy: /node_modules\/@aws-sdk\/util-dynamodb\/dist-es\/unmarshall\.js$/,
  },
  {
    replaces: "@aws-sdk/client-s3",
    by: "object-client.ts",
    neededBy: /node_modules\/@aws-sdk\/client-s3\/|infra\/aws-client\/object-client\.ts$/,
  },
  {
    replaces: "@aws-sdk/client-apigatewaymanagementapi",
    by: "connection-client.ts",
    neededBy: /node_modules\/@aws-sdk\/client-apigatewaymanagementapi\/|infra\/aws-client\/connection-client\.ts$/,
  },
  {
    replaces: "@aws-sdk/client-lambda",
    by: "invocation-client.ts",
    neededBy: /node_modules\/@aws-sdk\/client-lambda\/|infra\/aws-client\/invocation-client\.ts$/,
  },
  { replaces: "@middy/util", by: "middy-parsing.ts", neededBy: /node_modules\/@middy\// },
  { replaces: "semver", by: "node-version.cjs", neededBy: /node_modules\/jsonwebtoken\// },
];

/** Functions of lodash that jsonwebtoken calls when it signs, as JavaScript has them: 6 KB less. */
export const nativeFunctions: Readonly<Record<string, string>> = {
  "lodash.includes": "(values, value) => values.includes(value)",
  "lodash.isboolean": '(value) => typeof value === "boolean"',
  "lodash.isinteger": "Number.isInteger",
  "lodash.isnumber": '(value) => typeof value === "number"',
  "lodash.isplainobject": '(value) => Object.prototype.toString.call(value) === "[object Object]"',
  "lodash.isstring": '(value) => typeof value === "string"',
  "lodash.once": "(run) => { let done = false; return (...given) => done ? undefined : (done = true, run(...given)); }",
};

/** Packages without a word on side effects, of which there are none: the bundler may leave out what is not used. */
export const withoutSideEffects = ["@aws-sdk/lib-dynamodb"];

/** Each service of `json-client.ts` by the package of its client; the comparison with the published client holds. */
export const jsonServices: Readonly<Record<string, object>> = {
  "client-api-gateway": { id: "API Gateway", host: "apigateway", query: false, attempts: 3, delay_ms: 50 },
  "client-cloudwatch-logs": {
    id: "CloudWatch Logs",
    host: "logs",
    target: "Logs_20140328",
    json: "1.1",
    query: false,
    attempts: 3,
    delay_ms: 50,
  },
  "client-cognito-identity-provider": {
    id: "Cognito Identity Provider",
    host: "cognito-idp",
    target: "AWSCognitoIdentityProviderService",
    json: "1.1",
    query: false,
    attempts: 3,
    delay_ms: 50,
  },
  "client-dynamodb": {
    id: "DynamoDB",
    host: "dynamodb",
    target: "DynamoDB_20120810",
    json: "1.0",
    query: false,
    attempts: 4,
    delay_ms: 25,
  },
  "client-secrets-manager": {
    id: "Secrets Manager",
    host: "secretsmanager",
    target: "secretsmanager",
    json: "1.1",
    query: false,
    attempts: 3,
    delay_ms: 50,
  },
  "client-sqs": {
    id: "SQS",
    host: "sqs",
    target: "AmazonSQS",
    json: "1.0",
    query: true,
    attempts: 3,
    delay_ms: 50,
  },
};

/**
 * The versions that the replacements were written for and compared with (test/infra/aws-client.test.ts). Another
 * version may mean another thing by the same import, so the build stops until the comparison was run on it.
 */
export const writtenFor: Readonly<Record<string, string>> = {
  "@smithy/core": "3.41.1",
  "@aws-sdk/client-api-gateway": "3.1142.0",
  "@aws-sdk/client-apigatewaymanagementapi": "3.1169.0",
  "@aws-sdk/client-cloudwatch-logs": "3.1169.0",
  "@aws-sdk/client-cognito-identity-provider": "3.1169.0",
  "@aws-sdk/client-dynamodb": "3.1169.0",
  "@aws-sdk/client-lambda": "3.1164.0",
  "@aws-sdk/core": "3.981.2",
  "@aws-sdk/middleware-sdk-sqs": "3.972.50",
  "@aws-sdk/client-s3": "3.1175.0",
  "@aws-sdk/client-secrets-manager": "3.1164.0",
  "@aws-sdk/client-sqs": "3.1175.0",
  "@aws-sdk/lib-dynamodb": "3.1169.0",
  "@aws-sdk/util-dynamodb": "3.996.9",
  "@smithy/signature-v4": "5.7.5",
  "@smithy/node-http-handler": "4.14.2",
  "@aws-sdk/credential-provider-node": "3.972.99",
  "@middy/core": "7.9.2",
  "@middy/http-json-body-parser": "7.9.2",
  jsonwebtoken: "9.0.3",
};
