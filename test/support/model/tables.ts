import { type IndexName, indexes, keyAttributes, slimAttributes } from "../../../shared/table/table-shape.ts";
import { holds, keyQuery, type Placeholders, projected, updated } from "./expressions.ts";
import { bytesOf, type Item, stored, type Value } from "./values.ts";

/** A write as the document client hands it over: a put, an update, a deletion or a check. */
export interface WriteInput extends Placeholders {
  readonly TableName?: string | undefined;
  readonly Item?: Readonly<Record<string, unknown>> | undefined;
  readonly Key?: Readonly<Record<string, unknown>> | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ConditionExpression?: string | undefined;
}

/** A query as the document client hands it over. */
export interface QueryInput extends Placeholders {
  readonly TableName?: string | undefined;
  readonly IndexName?: string | undefined;
  readonly KeyConditionExpression?: string | undefined;
  readonly FilterExpression?: string | undefined;
  readonly ProjectionExpression?: string | undefined;
  readonly ExclusiveStartKey?: Readonly<Record<string, unknown>> | undefined;
  readonly ScanIndexForward?: boolean | undefined;
  readonly Limit?: number | undefined;
  readonly ConsistentRead?: boolean | undefined;
}

/** Kind of a write. */
export type WriteKind = "Put" | "Update" | "Delete" | "ConditionCheck";

/** A write whose condition held: what is stored before and after it; undefined where nothing is. */
export interface Planned {
  readonly table: string;
  readonly pk: string;
  readonly sk: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly kind: WriteKind;
}

/** A write that DynamoDB refuses, by its code in a cancelled transaction, and what is stored in its place. */
export interface Refused {
  readonly refused: "ConditionalCheckFailed" | "ValidationError";
  readonly item: Item | undefined;
}

/** A page of a query. */
export interface Page {
  readonly items: readonly Item[];
  readonly last: Item | undefined;
  /** Bytes that were read for it. */
  readonly bytes: number;
}

const pageBytes = 1024 * 1024;
const separator = "\u0000";

/** Entries of one partition in the order of their sort keys. */
class Partition {
  readonly sorts: string[] = [];
  readonly items = new Map<string, Item>();

  /** Where a sort key is, or would be. */
  place(sort: string): number {
    let [low, high] = [0, this.sorts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.sorts[middle] as string) < sort) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  put(sort: string, item: Item): void {
    if (!this.items.has(sort)) this.sorts.splice(this.place(sort), 0, sort);
    this.items.set(sort, item);
  }

  remove(sort: string): void {
    if (this.items.delete(sort)) this.sorts.splice(this.place(sort), 1);
  }
}

/** Partitions of a table or of an index. */
class Partitions {
  private readonly all = new Map<string, Partition>();

  of(key: string): Partition {
    const found = this.all.get(key) ?? new Partition();
    this.all.set(key, found);
    return found;
  }

  find(key: string): Partition | undefined {
    return this.all.get(key);
  }

  *items(): Generator<Item> {
    for (const { items } of this.all.values()) yield* items.values();
  }
}

const carried = new Set<string>([keyAttributes.partition, keyAttributes.sort, ...slimAttributes]);

/** The entry of an index for an item; undefined when the index does not hold it. */
export function entryOf(name: IndexName, item: Item | undefined): Item | undefined {
  const { partition, sort } = indexes[name];
  if (item === undefined || typeof item[partition] !== "string" || typeof item[sort] !== "string") return undefined;
  const own = (attribute: string) =>
    attribute === partition ||
    attribute === sort ||
    (name === "due" ? attribute === "pk" || attribute === "sk" : carried.has(attribute));
  return Object.fromEntries(Object.entries(item).filter(([attribute]) => own(attribute)));
}

const sortOf = (name: IndexName, { pk, sk, ...entry }: Item) =>
  [entry[indexes[name].sort], pk, sk].map(String).join(separator);

/**
 * The tables of a stage in memory: what DynamoDB does with items, without time. Only the main table has indexes. An
 * index follows when {@link index} is called for it, so that a caller can let it lag.
 */
export class Tables {
  private readonly tables = new Map<string, Partitions>();
  private readonly entries = new Map<IndexName, Partitions>();
  private readonly main: string;

  constructor(main: string) {
    this.main = main;
    for (const name of Object.keys(indexes)) this.entries.set(name as IndexName, new Partitions());
  }

  /** Whether a table has indexes. */
  isIndexed(table: string): boolean {
    return table === this.main;
  }

  /** Every item of a table, in no order. */
  items(table: string): Iterable<Item> {
    return this.table(table).items();
  }

  private table(name: string): Partitions {
    const found = this.tables.get(name) ?? new Partitions();
    this.tables.set(name, found);
    return found;
  }

  get(table: string, key: Readonly<Record<string, unknown>>): Item | undefined {
    return this.table(table).find(String(key["pk"]))?.items.get(String(key["sk"]));
  }

  /** The effect of a write, or that its condition fails. Nothing is written yet. */
  plan(kind: WriteKind, input: WriteInput): Planned | Refused {
    const { TableName: table = "", UpdateExpression: expression } = input;
    const { pk, sk } = (input.Item ?? input.Key ?? {}) as Readonly<Record<string, unknown>>;
    const before = this.get(table, { pk, sk });
    if (!holds(input.ConditionExpression, before ?? {}, input))
      return { refused: "ConditionalCheckFailed", item: before };
    const place = { table, pk: String(pk), sk: String(sk), before, kind };
    if (kind === "Put") return { ...place, after: stored(input.Item) as Item };
    if (kind === "Delete") return { ...place, after: undefined };
    if (kind === "ConditionCheck") return { ...place, after: before };
    const base = before ?? { pk: String(pk), sk: String(sk) };
    const after = expression ? updated(expression, base, input) : base;
    return after === undefined ? { refused: "ValidationError", item: before } : { ...place, after };
  }

  /** Does what was planned. The indexes do not know it yet. */
  apply({ table, pk, sk, after }: Planned): void {
    const partition = this.table(table).of(pk);
    if (after === undefined) partition.remove(sk);
    else partition.put(sk, after);
  }

  /** Brings one index to what a write did. */
  index(name: IndexName, before: Item | undefined, after: Item | undefined): void {
    const [old, fresh] = [entryOf(name, before), entryOf(name, after)];
    const { partition } = indexes[name];
    const all = this.entries.get(name) as Partitions;
    if (old !== undefined) all.of(String(old[partition])).remove(sortOf(name, old));
    if (fresh !== undefined) all.of(String(fresh[partition])).put(sortOf(name, fresh), fresh);
  }

  /** One page of a query of a table or of an index. */
  query(input: QueryInput): Page {
    const index = input.IndexName as IndexName | undefined;
    const { sort: name } = index === undefined ? keyAttributes : indexes[index];
    const { partition: key, matches } = keyQuery(input.KeyConditionExpression ?? "", name, input);
    const partitions = index === undefined ? this.table(input.TableName ?? "") : this.entries.get(index);
    const found = partitions?.find(key);
    if (found === undefined) return { items: [], last: undefined, bytes: 0 };
    return pageOf(found, input, (sort) => matches(sort.split(separator)[0] ?? ""), index);
  }
}

function pageOf(
  { sorts, items }: Partition,
  input: QueryInput,
  matches: (sort: string) => boolean,
  index: IndexName | undefined,
): Page {
  const { ExclusiveStartKey: start, ScanIndexForward: forward, Limit: most = Number.POSITIVE_INFINITY } = input;
  const after = start && (index ? sortOf(index, start as Item) : String(start["sk"]));
  const step = forward === false ? -1 : 1;
  const read: Item[] = [];
  let [bytes, last] = [0, undefined as Item | undefined];
  for (let at = step === 1 ? 0 : sorts.length - 1; at >= 0 && at < sorts.length; at += step) {
    const sort = sorts[at] as string;
    if (after !== undefined && (step === 1 ? sort <= after : sort >= after)) continue;
    if (!matches(sort)) continue;
    const item = items.get(sort) as Item;
    read.push(item);
    bytes += bytesOf(item);
    last = keysOf(item, index);
    if (read.length >= most || bytes >= pageBytes) break;
  }
  const isWhole = read.length < most && bytes < pageBytes;
  const kept = read.filter((item) => holds(input.FilterExpression, item, input));
  return {
    items: kept.map((item) => projected(input.ProjectionExpression, item, input)),
    last: isWhole ? undefined : last,
    bytes,
  };
}

function keysOf(item: Item, index: IndexName | undefined): Item {
  const names = ["pk", "sk", ...(index === undefined ? [] : [indexes[index].partition, indexes[index].sort])];
  return Object.fromEntries(names.map((name) => [name, item[name] as Value]));
}
