import {
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/wait.ts";
import { startEventSources } from "./event-sources-fixture.ts";
import { callerCode, startTestCloud, type TestCloud } from "./fixture.ts";
import { localQueues } from "./queues-fixture.ts";

const { guard, queues } = localQueues();

describe("a queue of a template", () => {
  const code = "export const handler = () => {};";
  const arn = { "Fn::GetAtt": ["Queue", "Arn"] };
  const url = "https://sqs.eu-west-1.amazonaws.com/000000000000/work";
  const receive = ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"].map((action) => `sqs:${action}`);
  const stack = (actions: string[]) => ({
    resources: {
      Queue: { Type: "AWS::SQS::Queue", Properties: { QueueName: "work", VisibilityTimeout: 30 } },
      Own: { Type: "AWS::SQS::Queue", Properties: { QueueName: "own" } },
      Mapping: {
        Type: "AWS::Lambda::EventSourceMapping",
        Properties: { FunctionName: { Ref: "workerFunction" }, EventSourceArn: arn, BatchSize: 10 },
      },
    },
    functions: {
      owner: {
        code,
        statements: [{ Effect: "Allow", Action: "sqs:*", Resource: { "Fn::GetAtt": ["Own", "Arn"] } }],
      },
      sender: { code: callerCode, statements: [{ Effect: "Allow", Action: "sqs:SendMessage", Resource: arn }] },
      worker: { code, statements: [{ Sid: "Read", Effect: "Allow", Action: actions, Resource: arn }] },
    },
  });

  it.each(receive)("is refused when the reader's role may not %s", async (action) => {
    const lacking = receive.filter((one) => one !== action);
    const started = startEventSources(stack(lacking), { guard, queues });
    await expect(started).rejects.toThrow(`worker is not authorized to perform: ${action}`);
  });

  describe("that runs", () => {
    let test: TestCloud;
    beforeAll(async () => {
      test = await startTestCloud(stack(receive), { timeScale: 200 });
    });
    afterAll(() => test?.stop());

    const target = "AmazonSQS.SendMessage";
    const sendFrom = (body: object) => test.calls("sender", [{ target, body: { QueueUrl: url, ...body } }]);
    const worker = () => test.cloud.functions.find(({ function: name }) => name === "worker");

    it("wakes its reader in the name of the reader's role, and is counted and purged by a test", async () => {
      const { cloud } = test;
      await sendFrom({ MessageBody: "1" });
      await eventually(worker);
      expect(cloud.unusedGrants().filter(({ function: name }) => name !== "owner")).toEqual([]);
      await sendFrom({ MessageBody: "2", DelaySeconds: 900 });
      expect(cloud.queues.counts("work")).toMatchObject({ delayed: 1 });
      cloud.queues.purge("work");
      expect(cloud.queues.counts("work")).toMatchObject({ delayed: 0 });
    });

    it("is used by the published SDK, which reads the errors of SQS", async () => {
      const { endpoint, region } = test.cloud;
      const accessKeyId = test.cloud.accessKeyOf("arn:aws:lambda:eu-west-1:000000000000:function:owner");
      const credentials = { accessKeyId, secretAccessKey: "local" };
      const sqs = new SQSClient({ endpoint, region, credentials, maxAttempts: 1 });
      const QueueUrl = url.replace("work", "own");
      const Entries = ["1", "2"].map((MessageBody) => ({ Id: MessageBody, MessageBody }));
      const { Successful } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
      expect(Successful?.map(({ Id }) => Id)).toEqual(["1", "2"]);
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
      expect(Messages.map(({ Body }) => Body)).toEqual(["1", "2"]);
      const [first, second] = Messages.map(({ ReceiptHandle }) => ReceiptHandle);
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: first }));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries: [{ Id: "2", ReceiptHandle: second }] }));
      expect(test.cloud.queues.counts("own")).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
      const name = (sent: Promise<unknown>) => sent.catch((error: Error) => error.name);
      const nowhere = { QueueUrl: url.replace("work", "nowhere"), MessageBody: "1" };
      expect(await name(sqs.send(new SendMessageCommand(nowhere)))).toBe("QueueDoesNotExist");
      expect(await name(sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [] })))).toBe("EmptyBatchRequest");
      const late = new SendMessageCommand({ QueueUrl, MessageBody: "1", DelaySeconds: 901 });
      expect(await name(sqs.send(late))).toBe("InvalidParameterValue");
    });

    it("keeps what is held back for the next run when it is stopped", async () => {
      // The delay of 4.5 s begins after this; how long a busy machine takes for the answer says nothing.
      const began = Date.now();
      await sendFrom({ MessageBody: "later", DelaySeconds: 900 });
      await test.restart();
      await eventually(worker);
      expect(Date.now() - began).toBeGreaterThanOrEqual(4500);
    });
  });
});
