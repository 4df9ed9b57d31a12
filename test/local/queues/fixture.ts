import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { QueueClock } from "../../../infra/local/queues/queue.ts";
import { Queues } from "../../../infra/local/queues/queues.ts";
import type { Resource } from "../../../infra/local/template/assembly.ts";
import { temporaryFolder } from "../fixture.ts";

export const arnOf = (name: string) => `arn:aws:sqs:eu-west-1:000000000000:${name}`;
export const redriveTo = (name: string) => ({ deadLetterTargetArn: arnOf(name), maxReceiveCount: 3 });

/** A queue of a template. */
export function resource(name: string, properties: Record<string, unknown> = {}): Resource {
  const given = { QueueName: name, ...(name.endsWith(".fifo") && { FifoQueue: true }), ...properties };
  const attributes = { Arn: arnOf(name), QueueName: name };
  return { path: `test/${name}`, type: "AWS::SQS::Queue", physical_id: name, properties: given, attributes };
}

/** Time that passes only when a test says so. */
class VirtualClock implements QueueClock {
  private ms = 1_000_000;
  private timers: { readonly at: number; readonly callback: () => void }[] = [];
  readonly now = () => this.ms;
  readonly after = (ms: number, callback: () => void) => {
    this.timers.push({ at: this.ms + ms, callback });
  };

  /** Lets seconds pass, and calls back what is due on the way. */
  pass(seconds: number): void {
    this.ms += seconds * 1000;
    const due = this.timers.filter(({ at }) => at <= this.ms);
    this.timers = this.timers.filter(({ at }) => at > this.ms);
    for (const { callback } of due) callback();
  }
}

export type Shown = { Body: string; ReceiptHandle: string; MessageId: string; Attributes: Record<string, string> };

/** A folder that holds nothing yet, until the test ends. */
export function newFolder(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return join(folder.path, "data");
}

/** A queue of one test, whose name ends with the suffix, and its dead letters. */
export function opened(suffix: string, properties: Record<string, unknown> = {}, dataDir = newFolder(), timeScale = 1) {
  const clock = new VirtualClock();
  const [name, dead] = [`q${suffix}`, `dead${suffix}`];
  const resources = [resource(name, { RedrivePolicy: redriveTo(dead), ...properties }), resource(dead)];
  const woken: string[] = [];
  const arrived = (queue: string) => void woken.push(queue);
  const queues = new Queues({ resources, dataDir, clock, arrived, timeScale });
  let ids = 0;
  const call = (operation: string, body: object) => queues.call(operation, { QueueUrl: name, ...body });
  const send = (group: string, body: string, id?: string) => {
    ids += 1;
    const identifier = id ?? `id-${ids}`;
    return call("SendMessage", { MessageBody: body, MessageGroupId: group, MessageDeduplicationId: identifier });
  };
  const receive = async (most = 10, more: object = {}) => {
    const answer = await call("ReceiveMessage", { MaxNumberOfMessages: most, ...more });
    return (answer["Messages"] ?? []) as Shown[];
  };
  const remove = (message: Shown | undefined) => call("DeleteMessage", { ReceiptHandle: message?.ReceiptHandle });
  const bodies = async (most?: number) => (await receive(most)).map(({ Body }) => Body);
  return { clock, queues, call, send, receive, remove, bodies, woken };
}

export const queueOf = opened.bind(undefined, ".fifo");
export const standardOf = opened.bind(undefined, "");
