import { marshall } from "@aws-sdk/util-dynamodb";
import { type IndexName, indexes } from "../../../shared/table/table-shape.ts";
import type { Simulation } from "./clock.ts";
import { Capacity } from "./partitions.ts";
import {
  entryOf,
  type Planned,
  type QueryInput,
  type Refused,
  Tables,
  type WriteInput,
  type WriteKind,
} from "./tables.ts";
import type { Timings } from "./timings.ts";
import { bytesOf, type Item, same } from "./values.ts";

/** A change of one item, as a stream reports it. */
export type Change = Pick<Planned, "table" | "pk" | "sk" | "before" | "after">;

/** Transactions of one function, and those that a conflict, a condition or a spent partition cancelled. */
export interface TransactionCounts {
  sent: number;
  conflict: number;
  condition: number;
  throttled: number;
}

/** Calls to the database since it began. */
export interface Counts {
  /** By the name of the function that sent them. */
  transactions: Record<string, TransactionCounts>;
  calls: Record<string, number>;
  throttled: Record<string, number>;
  write_units: number;
  read_units: number;
}

type Input = Readonly<Record<string, unknown>>;

const indexNames = Object.keys(indexes) as IndexName[];
const unit = (bytes: number, size: number) => Math.max(1, Math.ceil(bytes / size));

/** An error as the SDK throws it. */
function failure(name: string, more: object = {}): Error {
  return Object.assign(new Error(`${name} (model)`), {
    name,
    $metadata: { httpStatusCode: 400, attempts: 1 },
    ...more,
  });
}

/**
 * DynamoDB in virtual time: calls take as long as the timings say, items in an ongoing transaction are not to be
 * written by others, partitions and index partitions have an end, and indexes lag. A call takes effect where it reaches
 * the table, a transaction at its end.
 */
export class Database {
  readonly tables: Tables;
  readonly counts: Counts = {
    transactions: {},
    calls: {},
    throttled: {},
    write_units: 0,
    read_units: 0,
  };
  /** Called for every change when it becomes visible. */
  readonly listeners: ((change: Change) => void)[] = [];
  private readonly simulation: Simulation;
  private readonly timings: Timings;
  private readonly capacity: Capacity;
  private readonly ongoing = new Set<string>();
  private readonly indexedMs = new Map<string, number>();

  constructor(simulation: Simulation, timings: Timings, mainTable: string) {
    this.simulation = simulation;
    this.timings = timings;
    this.tables = new Tables(mainTable);
    this.capacity = new Capacity(timings);
  }

  /** Puts an item before the simulation begins: at once, in every index, and in no stream. */
  seed(table: string, item: Readonly<Record<string, unknown>>): void {
    const plan = this.tables.plan("Put", { TableName: table, Item: item });
    if ("refused" in plan) throw new Error("The item could not be put.");
    this.tables.apply(plan);
    if (this.tables.isIndexed(table)) for (const name of indexNames) this.tables.index(name, plan.before, plan.after);
  }

  /**
   * Does what a command of the document client asks for, with one try.
   * @throws Error as DynamoDB would answer it
   */
  async send(command: string, input: Input, sender: string): Promise<Input> {
    this.counts.calls[command] = (this.counts.calls[command] ?? 0) + 1;
    switch (command) {
      case "GetCommand":
        return this.read(() => this.get(input));
      case "BatchGetCommand":
        return this.read(() => this.batchGet(input));
      case "QueryCommand":
        return this.read(() => this.query(input));
      case "PutCommand":
        return this.write("Put", input);
      case "UpdateCommand":
        return this.write("Update", input);
      case "DeleteCommand":
        return this.write("Delete", input);
      case "BatchWriteCommand":
        return this.batchWrite(input);
      case "TransactWriteCommand":
        return this.transact(input, sender);
      default:
        throw new Error(`The model does not know the command ${command}.`);
    }
  }

  /** Lets a call reach the table, and its answer the caller, so that all of it takes so long. */
  private async exchange<T>(ms: number, work: () => T | Promise<T>): Promise<T> {
    const whole = ms * (1 + this.simulation.random() * this.timings.jitter);
    const { network_ms } = this.timings;
    await this.simulation.sleep(whole - network_ms);
    try {
      return await work();
    } finally {
      await this.simulation.sleep(network_ms);
    }
  }

  private read(work: () => Input): Promise<Input> {
    return this.exchange(this.timings.read_ms, work);
  }

  private takeReads(partition: string, bytes: number, consistent: boolean): void {
    const units = unit(bytes, 4096) * (consistent ? 1 : 0.5);
    const spent = this.capacity.take("read", new Map([[partition, units]]), this.simulation.nowMs);
    if (spent !== undefined) throw this.throttled(spent);
    this.counts.read_units += units;
  }

  private throttled(partition: string): Error {
    // Keys carry identifiers; what is counted are kinds of partitions.
    const kind = partition.replace(/(?:[a-z]+_)?[0-9A-HJKMNP-TV-Z]{26}/g, "…").replace(/\d+/g, "n");
    this.counts.throttled[kind] = (this.counts.throttled[kind] ?? 0) + 1;
    return failure("ProvisionedThroughputExceededException");
  }

  private get({ TableName, Key, ConsistentRead }: Input): Input {
    const item = this.tables.get(String(TableName), Key as Item);
    this.takeReads(`${TableName} ${(Key as Item)["pk"]}`, item ? bytesOf(item) : 0, ConsistentRead === true);
    return item === undefined ? {} : { Item: item };
  }

  private batchGet({ RequestItems }: Input): Input {
    const requests = Object.entries(RequestItems as Record<string, { Keys: Item[]; ConsistentRead?: boolean }>);
    const responses: Record<string, Item[]> = {};
    const unprocessed: Record<string, { Keys: Item[] }> = {};
    for (const [table, { Keys, ConsistentRead }] of requests) {
      for (const key of Keys) {
        const item = this.tables.get(table, key);
        try {
          this.takeReads(`${table} ${key["pk"]}`, item ? bytesOf(item) : 0, ConsistentRead === true);
        } catch {
          unprocessed[table] = { Keys: [...(unprocessed[table]?.Keys ?? []), key] };
          continue;
        }
        if (item !== undefined) responses[table] = [...(responses[table] ?? []), item];
      }
    }
    return { Responses: responses, UnprocessedKeys: unprocessed };
  }

  private query(input: Input): Input {
    const query = input as QueryInput;
    const { items, last, bytes } = this.tables.query(query);
    const partition = String(
      query.ExpressionAttributeValues?.[":pk"] ?? query.ExpressionAttributeValues?.[":partition"],
    );
    this.takeReads(`${query.IndexName ?? query.TableName} ${partition}`, bytes, query.ConsistentRead === true);
    return { Items: input["Select"] === "COUNT" ? [] : items, Count: items.length, LastEvaluatedKey: last };
  }

  private write(kind: WriteKind, input: Input): Promise<Input> {
    return this.exchange(this.timings.put_ms, () => {
      const write = input as WriteInput;
      if (this.ongoing.has(lockOf(write))) throw failure("TransactionConflictException");
      const plan = this.tables.plan(kind, write);
      if ("refused" in plan) throw refusal(plan, input);
      this.takeWrites([plan], 1);
      this.show(plan);
      const { before, after } = plan;
      const shown = { ALL_NEW: after, UPDATED_NEW: after, ALL_OLD: before }[String(input["ReturnValues"])];
      return shown === undefined ? {} : { Attributes: shown };
    });
  }

  private batchWrite({ RequestItems }: Input): Promise<Input> {
    type Request = { readonly PutRequest?: { Item: Item }; readonly DeleteRequest?: { Key: Item } };
    return this.exchange(this.timings.batch_write_ms, () => {
      const unprocessed: Record<string, Request[]> = {};
      for (const [table, requests] of Object.entries(RequestItems as Record<string, Request[]>)) {
        for (const request of requests) {
          const kind = request.PutRequest === undefined ? "Delete" : "Put";
          const write = { TableName: table, ...request.PutRequest, ...request.DeleteRequest };
          const plan = this.tables.plan(kind, write);
          if ("refused" in plan) throw new Error("A batch has no conditions.");
          try {
            if (this.ongoing.has(lockOf(write))) throw failure("TransactionConflictException");
            this.takeWrites([plan], 1);
            this.show(plan);
          } catch {
            unprocessed[table] = [...(unprocessed[table] ?? []), request];
          }
        }
      }
      return { UnprocessedItems: unprocessed };
    });
  }

  private async transact({ TransactItems }: Input, sender: string): Promise<Input> {
    const { timings, simulation } = this;
    const members = (TransactItems as Record<string, WriteInput>[]).flatMap((member) =>
      Object.entries(member).map(([kind, write]) => ({ kind: kind as WriteKind, write })),
    );
    const locks = members.map(({ write }) => lockOf(write));
    // DynamoDB takes 100 items, each once.
    if (members.length > 100 || new Set(locks).size < locks.length) throw failure("ValidationException");
    const counts = this.counts.transactions[sender] ?? { sent: 0, conflict: 0, condition: 0, throttled: 0 };
    this.counts.transactions[sender] = counts;
    counts.sent += 1;
    const jitter = 1 + simulation.random() * timings.jitter;
    const whole = (timings.transaction_ms + members.length * timings.transaction_item_ms) * jitter;
    await simulation.sleep(timings.network_ms);
    const plans = members.map(({ kind, write }) => this.tables.plan(kind, write));
    const cancelled = this.cancellation(members, locks, plans, counts);
    if (cancelled === undefined) for (const lock of locks) this.ongoing.add(lock);
    await simulation.sleep(whole - 2 * timings.network_ms);
    if (cancelled === undefined) {
      for (const lock of locks) this.ongoing.delete(lock);
      for (const plan of plans) if (!("refused" in plan) && plan.kind !== "ConditionCheck") this.show(plan);
    }
    await simulation.sleep(timings.network_ms);
    if (cancelled !== undefined) throw failure("TransactionCanceledException", { CancellationReasons: cancelled });
    return {};
  }

  /** Why each member of a transaction is not written; undefined when all are. */
  private cancellation(
    members: readonly { readonly write: WriteInput }[],
    locks: readonly string[],
    plans: readonly (Planned | Refused)[],
    lost: TransactionCounts,
  ): readonly object[] | undefined {
    const codes = plans.map((plan, at) => {
      if (this.ongoing.has(locks[at] as string)) return "TransactionConflict";
      return "refused" in plan ? plan.refused : "None";
    });
    if (codes.every((code) => code === "None")) {
      try {
        this.takeWrites(plans as readonly Planned[], 2);
        return undefined;
      } catch {
        lost.throttled += 1;
        return members.map(() => ({ Code: "ThrottlingError" }));
      }
    }
    this.chargeLoser(plans);
    if (codes.includes("TransactionConflict")) lost.conflict += 1;
    else lost.condition += 1;
    return codes.map((Code, at) => {
      const plan = plans[at] as Planned | Refused;
      const asks = (members[at] as { write: Input }).write["ReturnValuesOnConditionCheckFailure"] === "ALL_OLD";
      const shown = asks && "refused" in plan && plan.item !== undefined ? { Item: marshall(plan.item) } : {};
      return { Code, ...shown };
    });
  }

  /** A cancelled transaction costs as much as one that is made (docs), unless its partition is spent anyway. */
  private chargeLoser(plans: readonly (Planned | Refused)[]): void {
    const whole = plans.filter((plan): plan is Planned => !("refused" in plan));
    try {
      this.takeWrites(whole, 2, false);
    } catch {
      // It was cancelled for another reason, which the caller learns.
    }
  }

  /** Takes the units of writes from their partitions and from those of the indexes that follow. */
  private takeWrites(plans: readonly Planned[], factor: number, indexed = true): void {
    const wanted = new Map<string, number>();
    const add = (partition: string, units: number) => wanted.set(partition, (wanted.get(partition) ?? 0) + units);
    for (const { table, pk, before, after } of plans) {
      const bytes = Math.max(before ? bytesOf(before) : 0, after ? bytesOf(after) : 0);
      add(`${table} ${pk}`, unit(bytes, 1024) * factor);
      if (!indexed || !this.tables.isIndexed(table)) continue;
      for (const name of indexNames) {
        for (const { partition, units } of indexUnits(name, before, after)) add(`${name} ${partition}`, units);
      }
    }
    const spent = this.capacity.take("write", wanted, this.simulation.nowMs);
    if (spent !== undefined) throw this.throttled(spent);
    for (const units of wanted.values()) this.counts.write_units += units;
  }

  private show(plan: Planned): void {
    this.tables.apply(plan);
    for (const listener of this.listeners) listener(plan);
    if (!this.tables.isIndexed(plan.table)) return;
    const { before, after, pk, sk } = plan;
    const [least, most] = this.timings.index_lag_ms;
    for (const name of indexNames) {
      if (indexUnits(name, before, after).length === 0) continue;
      // An index sees the writes of one item in their order.
      const place = `${name} ${pk} ${sk}`;
      const atMs = Math.max(
        this.simulation.nowMs + this.simulation.between(least, most),
        this.indexedMs.get(place) ?? 0,
      );
      this.indexedMs.set(place, atMs);
      this.simulation.after(atMs - this.simulation.nowMs, () => {
        if (this.indexedMs.get(place) === atMs) this.indexedMs.delete(place);
        this.tables.index(name, before, after);
      });
    }
  }
}

function lockOf({ TableName, Item: item, Key: key }: WriteInput): string {
  const { pk, sk } = (item ?? key ?? {}) as Item;
  return `${TableName} ${pk} ${sk}`;
}

function refusal(plan: Refused, input: Input): Error {
  if (plan.refused === "ValidationError") return failure("ValidationException");
  const shown = input["ReturnValuesOnConditionCheckFailure"] === "ALL_OLD" && plan.item !== undefined;
  return failure("ConditionalCheckFailedException", shown ? { Item: marshall(plan.item as Item) } : {});
}

/** Units of an index for one write: one for an entry put, changed or removed, two where its key changes. */
function indexUnits(name: IndexName, before: Item | undefined, after: Item | undefined) {
  const { partition, sort } = indexes[name];
  if (before?.[partition] === undefined && after?.[partition] === undefined) return [];
  const [old, fresh] = [entryOf(name, before), entryOf(name, after)];
  const cost = (entry: Item) => ({ partition: String(entry[partition]), units: unit(bytesOf(entry), 1024) });
  if (old === undefined || fresh === undefined) return [old, fresh].flatMap((entry) => (entry ? [cost(entry)] : []));
  const moved = old[partition] !== fresh[partition] || old[sort] !== fresh[sort];
  if (moved) return [cost(old), cost(fresh)];
  return same(old, fresh) ? [] : [cost(fresh)];
}
