/**
 * One module that is replaced while bundling. Sources keep importing the package; the official client, its commands,
 * middleware, signer, retry and serializers stay. What each replacement leaves out stands in its file; what it is worth
 * in shared/decisions/0017-sdk-diet.md.
 */
export interface Replacement {
  /** The import as packages write it, or, with a slash at its start, the end of the path of a file inside a package. */
  readonly replaces: string;
  /** The file of this folder that comes instead. */
  readonly by: string;
  /** Inputs whose presence means that the replacement must match. */
  readonly neededBy: RegExp;
  /** The files whose import is replaced, where others keep the package. */
  readonly importedBy?: RegExp;
}

const anyClient = /node_modules\/@aws-sdk\/client-/;
const dynamodb = /node_modules\/@aws-sdk\/client-dynamodb\//;
/** Clients of services that speak plain JSON, which is all but API Gateway. */
export const jsonClients = /node_modules\/@aws-sdk\/(client-(?:dynamodb|secrets-manager|sqs))\//;

function replacement(replaces: string, by: string, neededBy: RegExp = anyClient, importedBy?: RegExp): Replacement {
  return { replaces, by, neededBy, ...(importedBy && { importedBy }) };
}

/** Every module that is replaced. */
export const replacements: readonly Replacement[] = [
  replacement("@aws-sdk/credential-provider-node", "environment-credentials.ts"),
  replacement("@smithy/core/event-streams", "no-event-streams.ts"),
  replacement("/@smithy/core/dist-es/submodules/serde/util-stream/stream-type-check.js", "no-web-streams.ts"),
  replacement(
    "/@smithy/core/dist-es/submodules/retry/middleware-retry/isStreamingPayload/isStreamingPayload.js",
    "streaming-payload.ts",
  ),
  replacement("/@smithy/core/dist-es/submodules/serde/uuid/v4.js", "native-uuid.ts"),
  replacement("@smithy/core/config", "environment-config.ts"),
  replacement("/@smithy/core/dist-es/submodules/client/middleware-stack/MiddlewareStack.js", "middleware-stack.ts"),
  replacement("@aws-sdk/middleware-endpoint-discovery", "no-endpoint-discovery.ts", dynamodb),
  replacement("@smithy/core/checksum", "native-checksums.ts"),
  replacement("@smithy/node-http-handler", "http-handler.ts"),
  replacement("/@smithy/signature-v4/dist-es/HeaderFormatter.js", "no-event-headers.ts"),
  replacement("/@aws-sdk/core/dist-es/submodules/client/util-endpoints/lib/aws/partition.js", "no-partitions.ts"),
  replacement("/@aws-sdk/core/dist-es/submodules/client/middleware-logger/loggerMiddleware.js", "no-client-log.ts"),
  replacement(
    "/@aws-sdk/core/dist-es/submodules/client/middleware-user-agent/user-agent-middleware.js",
    "user-agent.ts",
  ),
  replacement("/@aws-sdk/core/dist-es/submodules/client/emitWarningIfUnsupportedVersion.js", "no-version-warning.ts"),
  replacement("/@smithy/core/dist-es/submodules/client/smithy-client/schemaLogFilter.js", "no-log-filter.ts"),
  replacement("/@smithy/core/dist-es/submodules/serde/date-utils.js", "native-dates.ts"),
  replacement("/@smithy/core/dist-es/submodules/retry/util-retry/AdaptiveRetryStrategy.js", "no-adaptive-retry.ts"),
  replacement(
    "/@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/service-customizations/s3.js",
    "no-buckets.ts",
  ),
  replacement("@aws/lambda-invoke-store", "no-invoke-store.ts"),
  replacement("@aws-sdk/core/protocols", "json-protocol.ts", jsonClients, jsonClients),
  replacement("@aws-sdk/dynamodb-codec", "no-codec.ts", dynamodb),
  replacement("@smithy/core/schema", "no-streams.ts", anyClient, /\/client\/smithy-client\/command\.js$/),
  replacement("@aws-sdk/core/account-id-endpoint", "no-account-endpoints.ts", dynamodb),
  replacement(
    "/@aws-sdk/lib-dynamodb/dist-es/commands/utils.js",
    "document-values.ts",
    /node_modules\/@aws-sdk\/lib-dynamodb\/dist-es\/baseCommand\//,
  ),
  replacement(
    "/@aws-sdk/util-dynamodb/dist-es/convertToNative.js",
    "native-attributes.ts",
    /node_modules\/@aws-sdk\/util-dynamodb\/dist-es\/unmarshall\.js$/,
  ),
  replacement("@middy/util", "parser-error.ts", /node_modules\/@middy\/http-json-body-parser\//),
  replacement("semver", "node-version.cjs", /node_modules\/jsonwebtoken\//),
];

/** What jsonwebtoken asks lodash when it signs, as JavaScript has known it since: 6 KB. */
export const nativeFunctions: Readonly<Record<string, string>> = {
  "lodash.includes": "(values, value) => values.includes(value)",
  "lodash.isboolean": '(value) => typeof value === "boolean"',
  "lodash.isinteger": "Number.isInteger",
  "lodash.isnumber": '(value) => typeof value === "number"',
  "lodash.isplainobject": '(value) => Object.prototype.toString.call(value) === "[object Object]"',
  "lodash.isstring": '(value) => typeof value === "string"',
  "lodash.once": "(run) => { let done = false; return (...given) => done ? undefined : (done = true, run(...given)); }",
};

/** Packages without a word on side effects, of which there are none: the bundler may leave out what nobody uses. */
export const withoutSideEffects = ["@aws-sdk/lib-dynamodb", "@middy/core"];

/** Host names of the services whose clients are bundled, by the client's package. Others keep their endpoint rules. */
export const serviceHosts: Readonly<Record<string, string>> = {
  "client-api-gateway": "apigateway",
  "client-dynamodb": "dynamodb",
  "client-secrets-manager": "secretsmanager",
  "client-sqs": "sqs",
};

/**
 * The versions that the replacements were written for and compared with (test/infra/sdk-diet.test.ts). Another version
 * may mean another thing by the same import, so the build stops until somebody has run the comparison on it.
 */
export const writtenFor: Readonly<Record<string, string>> = {
  "@smithy/core": "3.41.0",
  "@aws-sdk/client-dynamodb": "3.1162.0",
  "@aws-sdk/core": "3.981.0",
  "@aws-sdk/lib-dynamodb": "3.1162.0",
  "@aws-sdk/util-dynamodb": "3.996.9",
  "@aws/lambda-invoke-store": "0.3.0",
  "@smithy/signature-v4": "5.7.5",
  "@smithy/node-http-handler": "4.14.2",
  "@aws-sdk/credential-provider-node": "3.972.97",
  "@aws-sdk/middleware-endpoint-discovery": "3.972.37",
  "@middy/core": "6.4.5",
  "@middy/http-json-body-parser": "6.4.5",
  jsonwebtoken: "9.0.3",
};
