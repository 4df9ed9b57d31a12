import type { Simulation } from "./clock.ts";
import type { Outcome } from "./functions.ts";
import type { Timings } from "./timings.ts";

/** A queue as its construct describes it. */
export interface QueueDefinition {
  readonly name: string;
  readonly fifo?: boolean;
  readonly visibilitySeconds: number;
  readonly maxReceives: number;
}

/** How a function reads a queue. */
export interface QueueMapping {
  readonly batchSize: number;
  /** How long a batch waits to fill; not at all without it. */
  readonly windowSeconds?: number;
  readonly concurrency: number;
  readonly invoke: (event: { Records: readonly QueueRecord[] }) => Promise<Outcome>;
}

/** A message as a function gets it. */
export interface QueueRecord {
  readonly messageId: string;
  readonly eventSourceARN: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string;
  readonly sentMs: number;
  /** When it may be received; later while it is in flight. */
  visibleMs: number;
  receives: number;
  inFlight: boolean;
}

interface Sent {
  readonly Id?: string;
  readonly MessageBody?: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
  readonly DelaySeconds?: number;
}

/** SQS takes an id of a deduplication for a repetition for so long, whatever became of the message (docs). */
const deduplicationMs = 300_000;
/** A mapping of a FIFO queue gets no more messages than this, whatever its batch size (docs). */
const mostOfFifo = 10;

/**
 * A queue of SQS: standard, or FIFO with the order of each group. A group with a message in flight is locked until that
 * is deleted or visible again. A message that was received too often goes to the dead letters.
 */
export class Queue {
  readonly deadLetters: Message[] = [];
  /** Milliseconds that a message waited for its first receipt beyond its own delay, the longest. */
  longestAgeMs = 0;
  sent = 0;
  private readonly definition: QueueDefinition;
  private readonly simulation: Simulation;
  private readonly timings: Timings;
  private messages: Message[] = [];
  private readonly seen = new Map<string, number>();
  private readonly mappings: { readonly mapping: QueueMapping; running: number }[] = [];

  constructor(definition: QueueDefinition, simulation: Simulation, timings: Timings) {
    this.definition = definition;
    this.simulation = simulation;
    this.timings = timings;
  }

  /** Messages that are neither deleted nor dead. */
  get depth(): number {
    return this.messages.length;
  }

  read(mapping: QueueMapping): void {
    this.mappings.push({ mapping, running: 0 });
  }

  add({ MessageBody = "", MessageGroupId = "", MessageDeduplicationId: repetition, DelaySeconds = 0 }: Sent): void {
    const { nowMs } = this.simulation;
    if (this.definition.fifo && repetition !== undefined) {
      if ((this.seen.get(repetition) ?? Number.NEGATIVE_INFINITY) > nowMs - deduplicationMs) return;
      this.seen.set(repetition, nowMs);
    }
    this.sent += 1;
    const visibleMs = nowMs + this.timings.receive_ms + DelaySeconds * 1000;
    this.messages.push({
      id: `message-${this.sent}`,
      body: MessageBody,
      group: MessageGroupId,
      sentMs: nowMs,
      visibleMs,
      receives: 0,
      inFlight: false,
    });
    this.simulation.after(visibleMs - nowMs, () => this.serve());
  }

  /** Hands over what is visible, as far as the concurrency goes. Called whenever a message or a reader is free. */
  private serve(): void {
    for (const reader of this.mappings) {
      while (reader.running < reader.mapping.concurrency) {
        if (this.isFilling(reader.mapping)) break;
        const batch = this.receive(reader.mapping.batchSize);
        if (batch.length === 0) break;
        reader.running += 1;
        this.simulation.start(async () => {
          await this.handOver(reader.mapping, batch);
          reader.running -= 1;
          this.serve();
        });
      }
    }
  }

  /** Whether a batch still waits for more messages; then it is looked at again when its time is over. */
  private isFilling({ batchSize, windowSeconds = 0 }: QueueMapping): boolean {
    if (windowSeconds === 0) return false;
    const { nowMs } = this.simulation;
    const ready = this.messages.filter(({ inFlight, visibleMs }) => !inFlight && visibleMs <= nowMs);
    if (ready.length === 0 || ready.length >= batchSize) return false;
    const endMs = Math.min(...ready.map(({ visibleMs }) => visibleMs)) + windowSeconds * 1000;
    if (endMs <= nowMs) return false;
    this.simulation.after(endMs - nowMs, () => this.serve());
    return true;
  }

  private receive(most: number): Message[] {
    const { nowMs } = this.simulation;
    const { fifo, visibilitySeconds, maxReceives } = this.definition;
    const batch: Message[] = [];
    const dead = new Set<Message>();
    const locked = new Set(fifo ? this.messages.filter(({ inFlight }) => inFlight).map(({ group }) => group) : []);
    for (const message of this.messages) {
      if (batch.length >= (fifo ? Math.min(most, mostOfFifo) : most)) break;
      if (message.inFlight || locked.has(message.group)) continue;
      if (message.visibleMs > nowMs) {
        // Of a group none passes one that was sent before it.
        if (fifo) locked.add(message.group);
        continue;
      }
      if (message.receives >= maxReceives) {
        dead.add(message);
        continue;
      }
      batch.push(message);
    }
    if (dead.size > 0) this.messages = this.messages.filter((message) => !dead.has(message));
    this.deadLetters.push(...dead);
    for (const message of batch) {
      if (message.receives === 0) this.longestAgeMs = Math.max(this.longestAgeMs, nowMs - message.visibleMs);
      message.receives += 1;
      message.inFlight = true;
      message.visibleMs = nowMs + visibilitySeconds * 1000;
    }
    return batch;
  }

  private async handOver(mapping: QueueMapping, batch: readonly Message[]): Promise<void> {
    const outcome = await mapping.invoke({ Records: batch.map((message) => this.recordOf(message)) });
    const { batchItemFailures: failures = [] } = (outcome.ok ? outcome.result : {}) as {
      batchItemFailures?: readonly { readonly itemIdentifier: string }[];
    };
    const failed = new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
    const done = new Set(outcome.ok ? batch.filter(({ id }) => !failed.has(id)) : []);
    this.messages = this.messages.filter((message) => !done.has(message));
    for (const message of batch) {
      if (done.has(message)) continue;
      // It stays hidden, and its group locked, until its visibility ends.
      this.simulation.after(message.visibleMs - this.simulation.nowMs, () => {
        message.inFlight = false;
        this.serve();
      });
    }
  }

  private recordOf({ id, body, group, receives, sentMs }: Message): QueueRecord {
    return {
      messageId: id,
      eventSourceARN: `arn:aws:sqs:eu-west-1:000000000000:${this.definition.name}`,
      body,
      attributes: {
        ApproximateReceiveCount: String(receives),
        MessageGroupId: group,
        SentTimestamp: String(Math.floor(sentMs)),
      },
    };
  }
}

/** The queues of a run, by the last part of their address. */
export class Queues {
  private readonly all = new Map<string, Queue>();
  private readonly simulation: Simulation;
  private readonly timings: Timings;

  constructor(simulation: Simulation, timings: Timings) {
    this.simulation = simulation;
    this.timings = timings;
  }

  make(definition: QueueDefinition): Queue {
    const queue = new Queue(definition, this.simulation, this.timings);
    this.all.set(definition.name, queue);
    return queue;
  }

  get entries(): Iterable<[string, Queue]> {
    return this.all;
  }

  /** Does what a command of the SQS client asks for. */
  async send(command: string, input: Readonly<Record<string, unknown>>): Promise<object> {
    const queue = this.all.get(String(input["QueueUrl"]).split("/").at(-1) ?? "");
    if (queue === undefined) throw new Error(`The model has no queue ${input["QueueUrl"]}.`);
    const { queue_ms, jitter } = this.timings;
    await this.simulation.sleep((queue_ms / 2) * (1 + this.simulation.random() * jitter));
    const entries = command === "SendMessageCommand" ? [input as Sent] : (input["Entries"] as readonly Sent[]);
    for (const entry of entries) queue.add(entry);
    await this.simulation.sleep(queue_ms / 2);
    return { Successful: entries.map(({ Id }) => ({ Id })), Failed: [] };
  }
}
