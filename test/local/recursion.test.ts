import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FunctionDefinition } from "../../infra/local/functions/functions.ts";
import { passesOf } from "../../infra/local/queues/lineage.ts";
import { eventually } from "../support/wait.ts";
import { startTestCloud, type TestCloud, type TestStack, table } from "./fixture.ts";
import { localQueues, nothing, target } from "./queues-fixture.ts";

const { emptied, newQueue, queues, read, send } = localQueues();

/** Passes that a function wants, and stops after by itself. */
const wanted = 24;

/** Sends one message more to the queue that woke it, as `stream-deliver` does, until `wanted` passes are over. */
const wakesItself = `
const { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: id, AWS_SESSION_TOKEN: token } = process.env;
async function send(queue, body) {
  await fetch(endpoint, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": "AmazonSQS.SendMessage",
      "x-amz-date": "20200101T000000Z",
      "x-amz-security-token": token,
      "X-Amzn-Trace-Id": process.env._X_AMZN_TRACE_ID,
      authorization: "AWS4-HMAC-SHA256 Credential=" + id + "/20200101/x/y/aws4_request, SignedHeaders=h, Signature=x",
    },
    body: JSON.stringify({ QueueUrl: "https://sqs.eu-west-1.amazonaws.com/000000000000/" + queue, MessageBody: body }),
  });
}
export async function handler({ Records }) {
  for (const { body } of Records) {
    await send(process.env.SEEN, body);
    if (Number(body) < ${wanted}) await send(process.env.QUEUE, String(Number(body) + 1));
  }
}
`;

const queueOf = (QueueName: string) => ({ Type: "AWS::SQS::Queue", Properties: { QueueName } });

function functionOf(name: string, properties: Record<string, unknown>) {
  const Resource = [name, `${name}-seen`].map((queue) => `arn:aws:sqs:eu-west-1:000000000000:${queue}`);
  const Action = ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
  return {
    code: wakesItself,
    environment: { QUEUE: name, SEEN: `${name}-seen` },
    statements: [{ Sid: "Queues", Effect: "Allow", Action, Resource }],
    properties,
  };
}

const names = ["endless", "allowed"] as const;
const stack: TestStack = {
  resources: {
    Main: table,
    ...Object.fromEntries(
      names.flatMap((name) => [
        [`${name}Queue`, queueOf(name)],
        [`${name}Seen`, queueOf(`${name}-seen`)],
        [
          `${name}Mapping`,
          {
            Type: "AWS::Lambda::EventSourceMapping",
            Properties: {
              FunctionName: { Ref: `${name}Function` },
              EventSourceArn: { "Fn::GetAtt": [`${name}Queue`, "Arn"] },
            },
          },
        ],
      ]),
    ),
  },
  functions: { endless: functionOf("endless", {}), allowed: functionOf("allowed", { RecursiveLoop: "Allow" }) },
};

describe("a function that wakes itself in the runner", () => {
  let test: TestCloud;
  beforeAll(async () => {
    test = await startTestCloud(stack);
  });
  afterAll(() => test.stop());

  it.each([
    ["endless", 16],
    ["allowed", wanted],
  ] as const)("is ended where Lambda would end it: %s after %i passes", async (name, passes) => {
    const held = (queue: string) => Object.values(test.cloud.queues.counts(queue)).reduce((sum, one) => sum + one, 0);
    await test.cloud.queues.call("SendMessage", { QueueUrl: name, MessageBody: "1" });
    await eventually(() => held(`${name}-seen`) >= passes || undefined);
    await eventually(() => held(name) === 0 || undefined);
    const seen = test.cloud.queues.bodies(`${name}-seen`);
    expect(seen.map(Number)).toEqual(Array.from({ length: passes }, (_, at) => at + 1));
  });
});

describe("a chain of messages", () => {
  const root = "Root=1-5759e988-bd862e3fe1be46a994272793";
  const sendOn = (queue: string, trace: string, named?: string) =>
    queues.call(
      "SendMessage",
      {
        ...{ QueueUrl: queue, MessageBody: "m" },
        ...(named !== undefined && {
          MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: named } },
        }),
      },
      `${root};Sampled=0;${trace}`,
    );
  const other: FunctionDefinition = { ...target, name: "other", arn: `${target.arn}-other` };

  it("is ended when it comes back through another function", async () => {
    const [there, back] = [newQueue(), newQueue()];
    const ours = read(there, {}, async (_bodies, _records, trace) => {
      await sendOn(back, trace);
      return nothing;
    });
    const theirs = read(
      back,
      {},
      async (_bodies, _records, trace) => {
        await sendOn(there, trace);
        return nothing;
      },
      { definition: other },
    );
    await send(there, "m");
    await eventually(() => ours.batches.length >= 16 || undefined);
    await emptied(back);
    await emptied(there);
    expect([ours.batches.length, theirs.batches.length]).toEqual([16, 16]);
  });

  it("keeps the trace that its sender names, which says nothing of its passes", async () => {
    const queue = newQueue();
    const { records } = read(queue, {}, async (_bodies, _records, trace) => {
      await sendOn(queue, trace, "Root=1-00000000-000000000000000000000001");
      return nothing;
    });
    await send(queue, "m");
    await eventually(() => records.length >= 16 || undefined);
    await emptied(queue);
    expect(records).toHaveLength(16);
    const headers = records.slice(1).map(({ attributes }) => attributes["AWSTraceHeader"]);
    expect(new Set(headers.map((header) => header?.split(";")[0]))).toEqual(
      new Set(["Root=1-00000000-000000000000000000000001"]),
    );
    expect(headers.map((header) => passesOf(target.arn, header))).toEqual(headers.map((_, at) => at + 1));
  });

  it("counts no passes of another chain that shares its batches", async () => {
    const queue = newQueue();
    let fresh = 0;
    const { batches } = read(queue, { MaximumBatchingWindowInSeconds: 30, BatchSize: 2 }, async (_b, _r, trace) => {
      fresh += 1;
      if (fresh > 20) return nothing;
      await sendOn(queue, trace);
      await send(queue, "fresh");
      return nothing;
    });
    await send(queue, "a", "b");
    await eventually(() => batches.length >= 21 || undefined);
    await emptied(queue);
    expect(batches).toHaveLength(21);
  });
});
