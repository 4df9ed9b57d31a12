import { type Item, order, same, sizeOf, stored, type Value } from "./values.ts";

/** Names and values behind the placeholders of an expression. */
export interface Placeholders {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> | undefined;
}

type Scope = { readonly item: Item; readonly given: Placeholders };
type Operand = (scope: Scope) => Value | undefined;
type Test = (scope: Scope) => boolean;
type Path = (given: Placeholders) => readonly string[];
type Step = (target: Record<string, Value>, scope: Scope) => void;

const tokens = /\s*(<>|<=|>=|[=<>(),+.-]|[#:]?[A-Za-z0-9_]+)/y;

function tokensOf(text: string): string[] {
  const found: string[] = [];
  tokens.lastIndex = 0;
  while (tokens.lastIndex < text.trimEnd().length) {
    const token = tokens.exec(text)?.[1];
    if (token === undefined) throw new Error(`The model cannot read the expression ${text}.`);
    found.push(token);
  }
  return found;
}

const comparisons: Readonly<Record<string, (one: Value, other: Value) => boolean>> = {
  "=": same,
  "<>": (one, other) => !same(one, other),
  "<": (one, other) => (order(one, other) ?? 1) < 0,
  "<=": (one, other) => (order(one, other) ?? 1) <= 0,
  ">": (one, other) => (order(one, other) ?? -1) > 0,
  ">=": (one, other) => (order(one, other) ?? -1) >= 0,
};

function find(item: Item, path: readonly string[]): Value | undefined {
  let found: Value | undefined = item;
  for (const name of path) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return undefined;
    found = Object.hasOwn(found, name) ? (found as Item)[name] : undefined;
  }
  return found;
}

/** Reads the words of one expression from left to right. */
class Reader {
  private readonly words: readonly string[];
  private readonly text: string;
  private place = 0;

  constructor(text: string) {
    this.text = text;
    this.words = tokensOf(text);
  }

  get next(): string | undefined {
    return this.words[this.place];
  }

  take(word?: string): string {
    const found = this.words[this.place];
    this.place += 1;
    if (found === undefined || (word !== undefined && found !== word)) {
      throw new Error(`The model cannot read the expression ${this.text} at ${found}.`);
    }
    return found;
  }

  accepts(word: string): boolean {
    if (this.next?.toUpperCase() !== word) return false;
    this.place += 1;
    return true;
  }

  path(): Path {
    const parts = [this.take()];
    while (this.accepts(".")) parts.push(this.take());
    return ({ ExpressionAttributeNames: names = {} }) =>
      parts.map((part) => (part.startsWith("#") ? (names[part] ?? "") : part));
  }

  operand(): Operand {
    if (this.next?.startsWith(":")) {
      const name = this.take();
      return ({ given }) => stored(given.ExpressionAttributeValues?.[name]);
    }
    if (this.next === "size" && this.words[this.place + 1] === "(") {
      const path = this.call("size");
      return ({ item, given }) => {
        const value = find(item, path(given));
        return value === undefined ? undefined : sizeOf(value);
      };
    }
    const path = this.path();
    return ({ item, given }) => find(item, path(given));
  }

  private call(name: string): Path {
    this.take(name);
    this.take("(");
    const path = this.path();
    this.take(")");
    return path;
  }

  any(): Test {
    const tests = [this.all()];
    while (this.accepts("OR")) tests.push(this.all());
    return (scope) => tests.some((test) => test(scope));
  }

  private all(): Test {
    const tests = [this.test()];
    while (this.accepts("AND")) tests.push(this.test());
    return (scope) => tests.every((test) => test(scope));
  }

  private test(): Test {
    if (this.accepts("(")) {
      const inner = this.any();
      this.take(")");
      return inner;
    }
    if (this.next === "attribute_exists" || this.next === "attribute_not_exists") {
      const wanted = this.next === "attribute_exists";
      const path = this.call(this.next);
      return ({ item, given }) => (find(item, path(given)) !== undefined) === wanted;
    }
    if (this.next === "begins_with") return this.prefix();
    const left = this.operand();
    if (this.accepts("BETWEEN")) return this.between(left);
    const compare = comparisons[this.take()];
    if (compare === undefined) throw new Error(`The model cannot read the expression ${this.text}.`);
    const isNot = compare === comparisons["<>"];
    const right = this.operand();
    return (scope) => {
      const [one, other] = [left(scope), right(scope)];
      return one === undefined || other === undefined ? isNot && one !== other : compare(one, other);
    };
  }

  private prefix(): Test {
    this.take();
    this.take("(");
    const operand = this.operand();
    this.take(",");
    const prefix = this.operand();
    this.take(")");
    return (scope) => String(operand(scope) ?? "").startsWith(String(prefix(scope)));
  }

  private between(operand: Operand): Test {
    const low = this.operand();
    this.take("AND");
    const high = this.operand();
    return (scope) => {
      const [value, least, most] = [operand(scope), low(scope), high(scope)];
      if (value === undefined || least === undefined || most === undefined) return false;
      return (order(value, least) ?? -1) >= 0 && (order(value, most) ?? 1) <= 0;
    };
  }

  list<T>(read: () => T): T[] {
    const found = [read()];
    while (this.accepts(",")) found.push(read());
    return found;
  }

  set(): Step {
    const path = this.path();
    this.take("=");
    const value = this.operand();
    return (target, scope) => write(target, path(scope.given), value(scope));
  }

  add(): Step {
    const path = this.path();
    const value = this.operand();
    return (target, scope) => {
      const at = path(scope.given);
      // BigInt refuses a fraction: the service adds whole numbers only.
      const sum = BigInt((find(scope.item, at) ?? 0) as number) + BigInt(value(scope) as number);
      write(target, at, stored(sum));
    };
  }

  remove(): Step {
    const path = this.path();
    return (target, { given }) => erase(target, path(given));
  }
}

/** A path whose parent does not exist. */
class InvalidPath extends Error {}

function parentOf(target: Record<string, Value>, path: readonly string[]): Record<string, Value> | undefined {
  let parent = target;
  for (const name of path.slice(0, -1)) {
    const inner = parent[name];
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return undefined;
    parent[name] = { ...(inner as Item) };
    parent = parent[name] as Record<string, Value>;
  }
  return parent;
}

function write(target: Record<string, Value>, path: readonly string[], value: Value | undefined): void {
  const parent = parentOf(target, path);
  if (parent === undefined || value === undefined) throw new InvalidPath();
  parent[path.at(-1) ?? ""] = value;
}

function erase(target: Record<string, Value>, path: readonly string[]): void {
  const parent = parentOf(target, path);
  if (parent !== undefined) delete parent[path.at(-1) ?? ""];
}

/** Remembers what was compiled from a text: the service sends few different expressions, and each many times. */
function remembered<T>(compile: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text) ?? compile(text);
    // Names of slots and the like stand in the text, so that it has no end of forms.
    if (known.size > 5000) known.clear();
    known.set(text, found);
    return found;
  };
}

const conditionOf = remembered((text: string) => {
  const reader = new Reader(text);
  const test = reader.any();
  if (reader.next !== undefined) throw new Error(`The model cannot read the end of the expression ${text}.`);
  return test;
});

const updateOf = remembered((text: string): readonly Step[] => {
  const reader = new Reader(text);
  const steps: Step[] = [];
  while (reader.next !== undefined) {
    if (reader.accepts("SET")) steps.push(...reader.list(() => reader.set()));
    else if (reader.accepts("ADD")) steps.push(...reader.list(() => reader.add()));
    else if (reader.accepts("REMOVE")) steps.push(...reader.list(() => reader.remove()));
    else throw new Error(`The model cannot read the update ${text} at ${reader.next}.`);
  }
  return steps;
});

/** Whether a condition, or a filter, holds for an item; without one it does. */
export function holds(expression: string | undefined, item: Item, given: Placeholders): boolean {
  return expression === undefined || conditionOf(expression)({ item, given });
}

/** An item after an update; undefined where the parent of a path does not exist, which DynamoDB refuses. */
export function updated(expression: string, item: Item, given: Placeholders): Item | undefined {
  const target: Record<string, Value> = { ...item };
  try {
    for (const step of updateOf(expression)) step(target, { item, given });
    return target;
  } catch (error) {
    if (error instanceof InvalidPath) return undefined;
    throw error;
  }
}

/** The projected part of an item; all of it without a projection. */
export function projected(expression: string | undefined, item: Item, given: Placeholders): Item {
  if (expression === undefined) return item;
  const { ExpressionAttributeNames: names = {} } = given;
  const wanted = expression.split(",").map((name) => names[name.trim()] ?? name.trim());
  return Object.fromEntries(wanted.flatMap((name) => (Object.hasOwn(item, name) ? [[name, item[name] as Value]] : [])));
}

/** A key condition: the value of the partition key, and a test of the sort key. */
export interface KeyQuery {
  readonly partition: string;
  readonly matches: (sort: string) => boolean;
}

/** Reads a key condition: the partition key first, then at most one condition on the sort key. */
export function keyQuery(expression: string, sortName: string, given: Placeholders): KeyQuery {
  const [, first = "", rest] = /^\s*[#\w]+\s*=\s*(:\w+)(?:\s+AND\s+(.+))?$/s.exec(expression) ?? [];
  const partition = String(given.ExpressionAttributeValues?.[first]);
  return { partition, matches: (sort) => holds(rest, { [sortName]: sort }, given) };
}
