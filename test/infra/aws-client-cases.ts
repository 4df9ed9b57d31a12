import type { Fault } from "../support/emulator/fault-proxy.ts";
import type * as Clients from "./fixtures/clients.ts";

/** Tools of a case: the bundled SDK and how to make a client of it. */
export interface Stage {
  readonly sdk: typeof Clients;
  /** Settings of a client that talks to the proxy, with short times. */
  readonly settings: Settings;
  readonly client: Clients.DynamoDBClient;
  readonly table: string;
}

export interface Settings {
  readonly endpoint: string;
  readonly region: string;
  readonly maxAttempts: number;
  readonly requestHandler: Record<string, unknown>;
}

/** One thing that a client is put through, with what happens to its requests on their way. */
export interface Case {
  readonly faults?: readonly Fault[];
  readonly run: (stage: Stage) => Promise<unknown>;
  readonly tls?: true;
  readonly settings?: Partial<Settings>;
}

/** JSON with white space between its tokens, which servers may send (RFC 8259 section 2). */
function spaced(body: unknown): string {
  return JSON.stringify(body, null, 1);
}

const exception = (name: string, more: object = {}): Fault => ({
  status: 400,
  body: spaced({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: "planted", ...more }),
});

const planted = (status: number, body: string | object, headers: Record<string, string> = {}): Fault => ({
  status,
  body: typeof body === "string" ? body : spaced(body),
  headers,
});

/** An answer of a service whose clock is an hour ahead. */
const hourAhead = (status: number, body: object, headers: Record<string, string> = {}): Fault =>
  planted(status, body, { date: new Date(Date.now() + 3_600_000).toUTCString(), ...headers });

const throttle = exception("ProvisionedThroughputExceededException");

const key = (name: string) => ({ pk: { S: "diet" }, sk: { S: name } });

const get = ({ sdk, client, table }: Stage, name = "plain") =>
  client.send(new sdk.GetItemCommand({ TableName: table, Key: key(name), ConsistentRead: true }));

export const put = ({ sdk, client, table }: Stage, name: string, more: object, condition: object = {}) =>
  client.send(new sdk.PutItemCommand({ TableName: table, Item: { ...key(name), ...more }, ...condition }));

const create = { ConditionExpression: "attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure: "ALL_OLD" };

const large = "ä€𝒳 ".repeat(30_000);

export const cases: Readonly<Record<string, Case>> = {
  "a read of an item": { run: (stage) => get(stage) },
  "a read of nothing": { run: (stage) => get(stage, "nothing") },
  "a read from a table that does not exist": {
    run: ({ sdk, client }) => client.send(new sdk.GetItemCommand({ TableName: "none", Key: key("a") })),
  },
  "a read with a wrong key": {
    run: ({ sdk, client, table }) => client.send(new sdk.GetItemCommand({ TableName: table, Key: { pk: { N: "1" } } })),
  },
  "a conditional write that is accepted, and its undoing": {
    run: async (stage) => {
      const { sdk, client, table } = stage;
      const accepted = await put(stage, "new", { a: { S: "1" } }, create);
      return [accepted, await client.send(new sdk.DeleteItemCommand({ TableName: table, Key: key("new") }))];
    },
  },
  "a conditional write that is refused, with the item": { run: (stage) => put(stage, "plain", {}, create) },
  "an update with its result": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.UpdateItemCommand({
          TableName: table,
          Key: key("counter"),
          UpdateExpression: "SET #n = :n",
          ExpressionAttributeNames: { "#n": "n" },
          ExpressionAttributeValues: { ":n": { N: "12345678901234567890.123" } },
          ReturnValues: "ALL_NEW",
        }),
      ),
  },
  "a delete with what was there": {
    run: async (stage) => {
      await put(stage, "gone", { a: { BOOL: true } });
      const { sdk, client, table } = stage;
      return client.send(new sdk.DeleteItemCommand({ TableName: table, Key: key("gone"), ReturnValues: "ALL_OLD" }));
    },
  },
  "a query in pages": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.QueryCommand({
          TableName: table,
          KeyConditionExpression: "pk = :p",
          ExpressionAttributeValues: { ":p": { S: "pages" } },
          Limit: 2,
          ReturnConsumedCapacity: "TOTAL",
        }),
      ),
  },
  "a batch of reads": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: [key("plain")], ConsistentRead: true } } }),
      ),
  },
  "a batch that is done in part": {
    faults: [planted(200, { Responses: {}, UnprocessedKeys: { t: { Keys: [{ pk: { S: "a" }, sk: { S: "b" } }] } } })],
    run: ({ sdk, client, table }) =>
      client.send(new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: [key("plain")] } } })),
  },
  "a batch of writes": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.BatchWriteItemCommand({ RequestItems: { [table]: [{ PutRequest: { Item: key("batch") } }] } }),
      ),
  },
  "a transaction of writes": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.TransactWriteItemsCommand({
          TransactItems: [
            { Put: { TableName: table, Item: key("one") } },
            { ConditionCheck: { TableName: table, Key: key("plain"), ConditionExpression: "attribute_exists(pk)" } },
          ],
        }),
      ),
  },
  "a cancelled transaction with its reasons": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.TransactWriteItemsCommand({
          ClientRequestToken: "the-same",
          TransactItems: [
            { Put: { TableName: table, Item: key("two") } },
            { Put: { TableName: table, Item: key("plain"), ...(create as { ConditionExpression: string }) } },
          ].map(({ Put }) => ({ Put: { ...Put, ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const } })),
        }),
      ),
  },
  "a transaction in conflict": {
    faults: [
      exception("TransactionCanceledException", {
        Message: "Transaction cancelled [None, TransactionConflict]",
        CancellationReasons: [{ Code: "None" }, { Code: "TransactionConflict", Message: "ongoing" }],
      }),
    ],
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName: table, Item: key("three") } }] }),
      ),
  },
  "a transaction of reads": {
    run: ({ sdk, client, table }) =>
      client.send(
        new sdk.TransactGetItemsCommand({ TransactItems: [{ Get: { TableName: table, Key: key("plain") } }] }),
      ),
  },
  "an error that no function's call can get": {
    faults: [exception("BackupInUseException")],
    run: (stage) => get(stage),
  },
  "an unknown error": { faults: [exception("NewException", { extra: 1 })], run: (stage) => get(stage) },
  "a throttle, then an answer": { faults: [throttle], run: (stage) => get(stage) },
  "throttles to the end": { faults: [throttle, throttle, throttle], run: (stage) => get(stage) },
  "a throttle named in a header": {
    faults: [planted(400, {}, { "x-amzn-errortype": "ThrottlingException:http://aws/" })],
    run: (stage) => get(stage),
  },
  "failures of the service, then an answer": {
    faults: [planted(500, {}), planted(503, "busy", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })],
    run: (stage) => get(stage),
  },
  "failures of the service to the end": {
    faults: [planted(500, {}), planted(502, "<html>"), planted(503, {})],
    run: (stage) => get(stage),
  },
  "a pause that the service asks for": {
    faults: [planted(503, {}, { "x-amz-retry-after": "5" })],
    run: (stage) => get(stage),
  },
  "a connection cut before the answer, then an answer": { faults: ["cut"], run: (stage) => get(stage) },
  "connections cut to the end": { faults: ["cut", "cut", "cut"], run: (stage) => get(stage) },
  "a connection cut inside the body, then an answer": { faults: ["cut_in_body"], run: (stage) => get(stage) },
  "connections cut inside the body to the end": {
    faults: ["cut_in_body", "cut_in_body", "cut_in_body"],
    run: (stage) => get(stage),
  },
  "a silence, then an answer": { faults: ["silence"], run: (stage) => get(stage) },
  "silence to the end": { faults: ["silence", "silence", "silence"], run: (stage) => get(stage) },
  "a connection refused": {
    settings: { endpoint: "refused" },
    run: (stage) => get(stage),
  },
  "an answer of broken JSON": { faults: [planted(200, '{"Item":{"a":')], run: (stage) => get(stage) },
  "an error of broken JSON": { faults: [planted(400, "{")], run: (stage) => get(stage) },
  "an answer without a body": { faults: [planted(200, "")], run: (stage) => get(stage) },
  "an answer byte by byte": { faults: ["bytes"], run: (stage) => get(stage, "unicode") },
  "text of every kind": {
    run: async (stage) => {
      const text = { S: 'ä€𝒳👩‍👩‍👧 \u0000\u2028\\"' };
      await put(stage, "ünïcode 𝒳", { "näme 👍": text, M: { M: { "": text } }, SS: { SS: ["ß", "ss"] } });
      return get(stage, "ünïcode 𝒳");
    },
  },
  "binary of every kind": {
    run: async (stage) => {
      const bytes = (...values: number[]) => Uint8Array.from(values);
      await put(stage, "binary", {
        B: { B: bytes(0, 255, 128) },
        BS: { BS: [bytes(1), bytes(2, 3)] },
        buffer: { B: Buffer.from([0, 255]) },
        empty: { B: bytes() },
      });
      return get(stage, "binary");
    },
  },
  "numbers, nulls and nesting": {
    run: async (stage) => {
      const item = { n: { N: "0.1" }, big: { N: "99999999999999999999999999999999999999" }, none: { NULL: true } };
      await put(stage, "numbers", { ...item, l: { L: [item.n, { M: item }] }, ns: { NS: ["1", "2"] } });
      return get(stage, "numbers");
    },
  },
  "a body of a third of a megabyte, there and back": {
    run: async (stage) => {
      await put(stage, "large", { text: { S: large } });
      return get(stage, "large");
    },
  },
  "a connection that serves request after request": {
    run: async (stage) => [
      await get(stage),
      await get(stage, "nothing"),
      await get(stage),
      await get(stage, "unicode"),
    ],
  },
  "a connection that the service ends after the answer": {
    faults: ["close"],
    run: async (stage) => [await get(stage), await get(stage)],
  },
  "a request that is given up before it begins": {
    run: ({ sdk, client, table }) =>
      client.send(new sdk.GetItemCommand({ TableName: table, Key: key("a") }), { abortSignal: AbortSignal.abort() }),
  },
  "a request that is given up while it waits": {
    faults: ["silence"],
    run: ({ sdk, client, table }) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error("enough")), 50);
      const command = new sdk.GetItemCommand({ TableName: table, Key: key("a") });
      return client.send(command, { abortSignal: controller.signal });
    },
  },
  "a request with a time limit of its own": {
    faults: ["silence"],
    settings: { maxAttempts: 1 },
    run: ({ sdk, client, table }) =>
      client.send(new sdk.GetItemCommand({ TableName: table, Key: key("a") }), { requestTimeout: 350 }),
  },
  "requests over TLS": { tls: true, run: async (stage) => [await get(stage), await get(stage, "unicode")] },
  "a cut connection over TLS": { tls: true, faults: ["cut"], run: (stage) => get(stage) },
  "a certificate of an unknown authority": {
    tls: true,
    settings: { requestHandler: { requestTimeout: 1000, throwOnRequestTimeout: true } },
    run: (stage) => get(stage),
  },
  "binary in a refused condition, and in a cancelled transaction": {
    faults: [
      exception("ConditionalCheckFailedException", { Item: { b: { B: "AP8=" }, s: { S: '"B":"' } } }),
      exception("TransactionCanceledException", {
        CancellationReasons: [{ Code: "None", Item: { b: { BS: ["AQ=="] } } }],
      }),
    ],
    run: async (stage) => [
      await put(stage, "b", {}).catch((error: unknown) => error),
      await stage.client
        .send(new stage.sdk.TransactWriteItemsCommand({ TransactItems: [] }))
        .catch((error: unknown) => error),
    ],
  },
  "an answer with what is null": {
    faults: [planted(200, { Item: { a: { NULL: true } }, ConsumedCapacity: null })],
    run: (stage) => get(stage),
  },
  "a write conflict between regions, which the service marks as worth another try": {
    faults: [exception("ReplicatedWriteConflictException")],
    run: (stage) => get(stage),
  },
  "a table with its moments": {
    run: async ({ sdk, client, table }) => {
      const { Table } = await client.send(new sdk.DescribeTableCommand({ TableName: table }));
      return { status: Table?.TableStatus, created: Table?.CreationDateTime };
    },
  },
  "documents instead of attribute values": {
    run: async ({ sdk, client, table }) => {
      const documents = sdk.DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
      const item = { pk: "diet", sk: "document", a: [1, "b", { c: null }], d: undefined, e: new Set(["f"]), g: 12n };
      const inner = {
        bytes: Uint8Array.from([7]),
        none: undefined,
        list: [undefined, [], {}],
        run: () => 1,
        half: 0.5,
      };
      await documents.send(new sdk.PutCommand({ TableName: table, Item: { ...item, inner } }));
      return documents.send(new sdk.GetCommand({ TableName: table, Key: { pk: "diet", sk: "document" } }));
    },
  },
  "documents that are updated, found and refused": {
    run: async ({ sdk, client, table }) => {
      const documents = sdk.DynamoDBDocumentClient.from(client);
      const Key = { pk: "diet", sk: "documents" };
      const changed = { ":n": { b: Uint8Array.from([1, 255]) }, ":l": [true, null, 0.5] };
      return [
        await documents.send(
          new sdk.UpdateCommand({
            TableName: table,
            Key,
            UpdateExpression: "SET n = :n, l = :l",
            ExpressionAttributeValues: changed,
            ReturnValues: "ALL_NEW",
          }),
        ),
        await documents.send(
          new sdk.QueryCommand({
            TableName: table,
            KeyConditionExpression: "pk = :p",
            ExpressionAttributeValues: { ":p": { S: "pages" } },
            Limit: 2,
          }),
        ),
        await documents
          .send(new sdk.PutCommand({ TableName: table, Item: Key, ConditionExpression: "attribute_not_exists(pk)" }))
          .catch((error: unknown) => error),
        await documents
          .send(new sdk.PutCommand({ TableName: table, Item: { ...Key, what: undefined } }))
          .catch((error: unknown) => error),
        await documents
          .send(new sdk.PutCommand({ TableName: table, Item: { ...Key, what: new URL("http://a") } }))
          .catch((error: unknown) => error),
      ];
    },
  },
  "a clock that is an hour late, told by the refusal of a signature": {
    faults: [hourAhead(400, { __type: "InvalidSignatureException", message: "Signature expired: now" })],
    run: async (stage) => {
      const answers = [await get(stage), await get(stage)];
      return [answers, Math.abs(Number(stage.client.config.systemClockOffset)) < 60_000];
    },
  },
  "a clock that is an hour late, told by an answer": {
    faults: [hourAhead(200, { Item: {} })],
    run: async (stage) => {
      const answer = await get(stage);
      const ahead = Number(stage.client.config.systemClockOffset);
      return [answer, Math.round(ahead / 60_000)];
    },
  },
  "a clock that an old answer tells": {
    faults: [hourAhead(200, { Item: {} }, { age: "3600" })],
    run: async (stage) => [await get(stage), stage.client.config.systemClockOffset],
  },
  "another client's connections": {
    run: async ({ sdk, client, settings, table }) => {
      const shared = { ...settings, requestHandler: client.config.requestHandler };
      const other = new sdk.DynamoDBClient(shared as never);
      const command = new sdk.GetItemCommand({ TableName: table, Key: key("plain") });
      return [await client.send(command), await other.send(command)];
    },
  },
  "an endpoint with a path": {
    run: async ({ sdk, settings, table }) => {
      const client = new sdk.DynamoDBClient({ ...settings, endpoint: `${settings.endpoint}/a b/ä` });
      return client.send(new sdk.GetItemCommand({ TableName: table, Key: key("plain") }));
    },
  },
  "an endpoint and a number of tries from the environment, under a trace": {
    faults: [throttle, throttle],
    run: ({ sdk, settings, table }) =>
      within(
        {
          AWS_ENDPOINT_URL_DYNAMODB: "",
          AWS_ENDPOINT_URL: settings.endpoint,
          AWS_RETRY_MODE: "",
          AWS_MAX_ATTEMPTS: "2",
          AWS_LAMBDA_FUNCTION_NAME: "f",
          _X_AMZN_TRACE_ID: "Root=1-5759e988-bd862e3fe1be46a994272793",
        },
        () => new sdk.DynamoDBClient({}).send(new sdk.GetItemCommand({ TableName: table, Key: key("plain") })),
      ),
  },
  "a queue elsewhere than its service": {
    faults: [planted(200, { MessageId: "m", MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592" })],
    run: ({ sdk, settings }) =>
      within({ AWS_ENDPOINT_URL: "http://127.0.0.1:1" }, () =>
        new sdk.SQSClient({}).send(new sdk.SendMessageCommand({ QueueUrl: queueOf(settings), MessageBody: "hello" })),
      ),
  },
  "no region": {
    run: ({ sdk, settings: { endpoint }, table }) =>
      within({ AWS_REGION: undefined }, () =>
        new sdk.DynamoDBClient({ endpoint }).send(new sdk.GetItemCommand({ TableName: table, Key: key("plain") })),
      ),
  },
  "a region that is no name": {
    run: ({ sdk, settings, table }) =>
      new sdk.DynamoDBClient({ ...settings, region: "eu.west" }).send(
        new sdk.GetItemCommand({ TableName: table, Key: key("plain") }),
      ),
  },
  "credentials of the client's own": {
    run: ({ sdk, settings, table }) =>
      new sdk.DynamoDBClient({
        ...settings,
        credentials: async () => ({ accessKeyId: "AKIDOTHER", secretAccessKey: credentials.AWS_SECRET_ACCESS_KEY }),
      }).send(new sdk.GetItemCommand({ TableName: table, Key: key("plain") })),
  },
  "a secret": {
    faults: [planted(200, { Name: "s", SecretString: "ä", SecretBinary: "AP8=", CreatedDate: 1700000000.123 })],
    run: ({ sdk, settings }) =>
      new sdk.SecretsManagerClient(settings).send(new sdk.GetSecretValueCommand({ SecretId: "s" })),
  },
  "secrets that are written, which get a token each": {
    faults: [planted(200, { Name: "s", VersionId: "v" }), planted(200, { ARN: "a", VersionStages: ["AWSCURRENT"] })],
    run: async ({ sdk, settings }) => {
      const secrets = new sdk.SecretsManagerClient(settings);
      const SecretBinary = Uint8Array.from([0, 255]);
      return [
        await secrets.send(new sdk.CreateSecretCommand({ Name: "s", SecretString: "ä" })),
        await secrets.send(new sdk.PutSecretValueCommand({ SecretId: "s", SecretBinary, ClientRequestToken: "own" })),
      ];
    },
  },
  "a secret that is not there": {
    faults: [planted(400, { __type: "ResourceNotFoundException", Message: "no secret" })],
    run: ({ sdk, settings }) =>
      new sdk.SecretsManagerClient(settings).send(new sdk.GetSecretValueCommand({ SecretId: "s" })),
  },
  "a user of a pool that is made, and read with its dates": {
    faults: [
      planted(200, {
        User: { Username: "u", Enabled: true, UserCreateDate: 1700000000.5, Attributes: [{ Name: "a" }] },
      }),
      planted(200, { Username: "u", UserLastModifiedDate: 1.7e9, UserStatus: "CONFIRMED", Enabled: false }),
    ],
    run: async ({ sdk, settings }) => {
      const pool = new sdk.CognitoIdentityProviderClient(settings);
      const user = { UserPoolId: "eu-west-1_p", Username: "ä@example.com" };
      const UserAttributes = [{ Name: "email_verified", Value: "true" }];
      return [
        await pool.send(new sdk.AdminCreateUserCommand({ ...user, UserAttributes })),
        await pool.send(new sdk.AdminGetUserCommand(user)),
      ];
    },
  },
  "a user of a pool that is there already": {
    faults: [planted(400, { __type: "UsernameExistsException", message: "User account already exists" })],
    run: ({ sdk, settings }) =>
      new sdk.CognitoIdentityProviderClient(settings).send(
        new sdk.AdminCreateUserCommand({ UserPoolId: "eu-west-1_p", Username: "a@example.com" }),
      ),
  },
  "a pool that is asked too often": {
    faults: [planted(400, { __type: "TooManyRequestsException", message: "Too many requests" }), planted(200, {})],
    run: ({ sdk, settings }) =>
      new sdk.CognitoIdentityProviderClient(settings).send(
        new sdk.AdminGetUserCommand({ UserPoolId: "eu-west-1_p", Username: "a@example.com" }),
      ),
  },
  "a page of a log and the place where the next one begins": {
    faults: [planted(200, { events: [{ timestamp: 1_795_000_000_123, message: '{"ä":1}' }], nextToken: "b/f" })],
    run: ({ sdk, settings }) =>
      new sdk.CloudWatchLogsClient(settings).send(
        new sdk.FilterLogEventsCommand({
          logGroupName: "l",
          startTime: 1_795_000_000_000,
          filterPattern: "{ $.a = 1 }",
        }),
      ),
  },
  "a log that is read too often": {
    faults: [planted(400, { __type: "ThrottlingException", message: "Rate exceeded" }), planted(200, { events: [] })],
    run: ({ sdk, settings }) =>
      new sdk.CloudWatchLogsClient(settings).send(new sdk.FilterLogEventsCommand({ logGroupName: "l" })),
  },
  "a log that is not there": {
    faults: [planted(400, { __type: "ResourceNotFoundException", message: "The log group does not exist." })],
    run: ({ sdk, settings }) =>
      new sdk.CloudWatchLogsClient(settings).send(new sdk.FilterLogEventsCommand({ logGroupName: "l" })),
  },
  "a message that the queue took as it was": {
    faults: [planted(200, { MessageId: "m", MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592" })],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(
        new sdk.SendMessageCommand({ QueueUrl: queueOf(settings), MessageBody: "hello" }),
      ),
  },
  "a message that the queue took for another": {
    faults: [planted(200, { MessageId: "m", MD5OfMessageBody: "00000000000000000000000000000000" })],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(
        new sdk.SendMessageCommand({ QueueUrl: queueOf(settings), MessageBody: "hello" }),
      ),
  },
  "a message with attributes of every kind": {
    faults: [planted(400, { __type: "com.amazonaws.sqs#InvalidMessageContents" })],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(
        new sdk.SendMessageCommand({
          QueueUrl: queueOf(settings),
          MessageBody: "hello",
          MessageAttributes: {
            text: { DataType: "String", StringValue: "ä" },
            bytes: { DataType: "Binary", BinaryValue: Uint8Array.from([1, 2, 255]) },
          },
        }),
      ),
  },
  "messages that are received, with their bytes": {
    faults: [
      planted(200, {
        Messages: [
          { MessageId: "m", Body: "b", MessageAttributes: { a: { DataType: "Binary", BinaryValue: "AP8=" } } },
        ],
      }),
    ],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(new sdk.ReceiveMessageCommand({ QueueUrl: queueOf(settings) })),
  },
  "a batch of messages that is taken in part": {
    faults: [
      planted(200, {
        Successful: [{ Id: "1", MessageId: "m", MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592" }],
        Failed: [{ Id: "2", Code: "InternalError", SenderFault: false }],
      }),
    ],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(
        new sdk.SendMessageBatchCommand({
          QueueUrl: queueOf(settings),
          Entries: [
            { Id: "1", MessageBody: "hello", DelaySeconds: 60, MessageGroupId: "g" },
            { Id: "2", MessageBody: "𝒳" },
          ],
        }),
      ),
  },
  "a queue that does not exist": {
    faults: [
      planted(
        400,
        { __type: "com.amazonaws.sqs#QueueDoesNotExist", message: "no queue" },
        { "x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender" },
      ),
    ],
    run: ({ sdk, settings }) =>
      new sdk.SQSClient(settings).send(
        new sdk.ReceiveMessageCommand({ QueueUrl: queueOf(settings), WaitTimeSeconds: 1 }),
      ),
  },
  "an API key": {
    faults: [planted(201, { id: "k", enabled: true, createdDate: 1700000000, tags: { "ä b": "c" } })],
    run: ({ sdk, settings }) =>
      new sdk.APIGatewayClient(settings).send(
        new sdk.CreateApiKeyCommand({ name: "ä/ b", enabled: true, tags: { "ä b": "c" } }),
      ),
  },
  "a list with parameters in its address": {
    faults: [planted(200, { item: [] })],
    run: ({ sdk, settings }) =>
      new sdk.APIGatewayClient(settings).send(
        new sdk.GetUsagePlanKeysCommand({ usagePlanId: "a b/c", limit: 10, nameQuery: "x&y=ä" }),
      ),
  },
  "a list of API keys, whose answer names its members otherwise": {
    faults: [planted(200, { position: "p", item: [{ id: "k", name: "n", createdDate: 1700000000, stageKeys: [] }] })],
    run: ({ sdk, settings }) =>
      new sdk.APIGatewayClient(settings).send(new sdk.GetApiKeysCommand({ nameQuery: "(ä)!*'", includeValues: false })),
  },
  "an API key that joins a plan, twice": {
    faults: [
      planted(201, { id: "k", type: "API_KEY", value: "v", name: "n" }),
      planted(409, { message: "is in the plan" }, { "x-amzn-errortype": "ConflictException:http://aws/" }),
    ],
    run: async ({ sdk, settings }) => {
      const gateway = new sdk.APIGatewayClient(settings);
      const join = () =>
        gateway.send(new sdk.CreateUsagePlanKeyCommand({ usagePlanId: "p", keyId: "k", keyType: "API_KEY" }));
      return [await join(), await join().catch((error: unknown) => error)];
    },
  },
  "an API key that is gone, then too many requests": {
    faults: [
      planted(429, { message: "slow" }, { "x-amzn-errortype": "TooManyRequestsException", "retry-after": "0.05" }),
      planted(404, { message: "none" }, { "x-amzn-errortype": "NotFoundException" }),
    ],
    run: ({ sdk, settings }) => new sdk.APIGatewayClient(settings).send(new sdk.DeleteApiKeyCommand({ apiKey: "k" })),
  },
};

/** Does something with these variables in the environment. */
export async function within<T>(
  variables: Readonly<Record<string, string | undefined>>,
  work: () => Promise<T>,
): Promise<T> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  setVariables(variables);
  try {
    return await work();
  } finally {
    setVariables(before);
  }
}

function setVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function queueOf({ endpoint }: Settings): string {
  return `${endpoint}/123456789012/deliver`;
}

/** Credentials that a role gives to a function. */
export const credentials = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_SESSION_TOKEN: "token",
};
