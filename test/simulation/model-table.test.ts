import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { type Condition, expressionOf, type ItemChange } from "../../shared/table/expression.ts";
import { indexes } from "../../shared/table/table-shape.ts";
import { startEmulator } from "../support/emulator/emulator.ts";
import { itemBytes } from "../support/emulator/item-size.ts";
import { type QueryInput, Tables, type WriteInput, type WriteKind } from "../support/model/tables.ts";
import { bytesOf, type Item } from "../support/model/values.ts";

const emulator = await startEmulator(false);
afterAll(emulator.stop);
const client = DynamoDBDocumentClient.from(emulator.client, { marshallOptions: { removeUndefinedValues: true } });
const TableName = emulator.tableName;

const sortKey = fc.constantFrom("A", "A#1", "B", "OUTBOX#1");
const value = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom("", "a", "b", "at"), fc.boolean());
const member = fc.oneof(value, fc.constant(null), fc.array(value, { maxLength: 2 }));
const attribute = fc.constantFrom("n", "text", "status", "slots");
const path = fc.oneof(attribute, fc.constantFrom("slots.a", "slots.b"));
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ attribute: path, is: fc.constantFrom("present", "absent") }),
  fc.record({ attribute: fc.constantFrom("pk"), is: fc.constantFrom("present", "absent") }),
  fc.record({
    attribute: path,
    is: fc.constantFrom("equal", "not", "at_least", "below", "above", "at_most"),
    value: value,
  }),
  fc.record({ attribute: fc.constant("slots"), is: fc.constant("size_at_most" as const), value: fc.nat(2) }),
) as fc.Arbitrary<Condition>;
const conditions = fc.array(
  fc.oneof(condition, fc.record({ any: fc.array(condition, { minLength: 1, maxLength: 2 }) })),
  { maxLength: 2 },
);
const indexKeys = fc.record(
  { due_pk: fc.constantFrom("DUE|1", "DUE|2"), due_sk: fc.constantFrom("1", "2", "3") },
  { requiredKeys: [] },
);
const fields = fc.record(
  {
    n: fc.integer({ min: -3, max: 3 }),
    text: member,
    status: member,
    slots: fc.dictionary(fc.constantFrom("a", "b"), value),
  },
  { requiredKeys: ["slots"] },
);
// The service sends no update that sets nothing, or that sets what it removes.
const set = fc.oneof(fc.dictionary(fc.constantFrom("text", "status", "slots.a"), member), indexKeys);
const remove = fc.constantFrom([], ["slots.b"], ["due_pk", "due_sk"]);
const change: fc.Arbitrary<ItemChange> = fc
  .record({ set, add: fc.dictionary(fc.constant("n"), fc.integer({ min: -3, max: 3 })), remove, when: conditions })
  .map((made) => ({
    ...made,
    set: { et: "KIND", ...made.set },
    remove: made.remove.filter((name) => !(name in made.set)),
  }));

interface Act {
  readonly kind: WriteKind;
  readonly sk: string;
  readonly item: Item;
  readonly change: ItemChange;
}

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom("Put" as const, "Update" as const, "Update" as const, "Delete" as const),
  sk: sortKey,
  item: fc.tuple(fields, indexKeys).map(([own, keys]) => ({ ...own, ...keys }) as Item),
  change,
});
const acts = fc.array(fc.oneof(act, fc.uniqueArray(act, { selector: ({ sk }) => sk, minLength: 2, maxLength: 3 })), {
  minLength: 1,
  maxLength: 12,
});

function inputOf(pk: string, { kind, sk, item, change: wanted }: Act): WriteInput & { TableName: string } {
  const { UpdateExpression, ...rest } = expressionOf(kind === "Update" ? wanted : { when: wanted.when });
  if (kind === "Put") return { TableName, Item: { ...item, pk, sk }, ...rest };
  const update = kind === "Update" && UpdateExpression !== undefined ? { UpdateExpression } : {};
  return { TableName, Key: { pk, sk }, ...update, ...rest };
}

async function onEmulator(given: Act | readonly Act[], pk: string): Promise<unknown> {
  try {
    if ("kind" in given) {
      const commands = { Put: PutCommand, Update: UpdateCommand, Delete: DeleteCommand, ConditionCheck: DeleteCommand };
      await client.send(new commands[given.kind](inputOf(pk, given) as never) as PutCommand);
    } else {
      const TransactItems = given.map((each) => ({ [each.kind]: inputOf(pk, each) }) as never);
      await client.send(new TransactWriteCommand({ TransactItems }));
    }
    return "done";
  } catch (error) {
    const { name, CancellationReasons: reasons } = error as { name: string; CancellationReasons?: { Code: string }[] };
    return reasons === undefined ? name : reasons.map(({ Code }) => Code);
  }
}

function onModel(tables: Tables, given: Act | readonly Act[], pk: string): unknown {
  const all = "kind" in given ? [given] : given;
  const plans = all.map((each) => tables.plan(each.kind, inputOf(pk, each)));
  const codes = plans.map((plan) => ("refused" in plan ? plan.refused : "None"));
  if (codes.some((code) => code !== "None")) {
    if (!("kind" in given)) return codes;
    return codes[0] === "ValidationError" ? "ValidationException" : "ConditionalCheckFailedException";
  }
  for (const plan of plans) {
    if ("refused" in plan) continue;
    tables.apply(plan);
    tables.index("due", plan.before, plan.after);
  }
  return "done";
}

async function read(
  send: (input: QueryInput) => Promise<{ items: readonly Item[]; last: Item | undefined }>,
  input: QueryInput,
) {
  const found: Item[] = [];
  let last: Item | undefined;
  do {
    const page = await send({ ...input, ExclusiveStartKey: last });
    found.push(...page.items);
    last = page.last;
  } while (last !== undefined);
  return found;
}

const queryEmulator = async (input: QueryInput) => {
  const { Items: items = [], LastEvaluatedKey: last } = await client.send(new QueryCommand(input as never));
  return { items: items as Item[], last: last as Item | undefined };
};

let runs = 0;

describe("the table of the model", () => {
  it("does with the same writes and reads what the emulator does", async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.constantFrom("A", "B"), async (all, prefix) => {
        runs += 1;
        const pk = `run-${runs}`;
        const tables = new Tables(TableName);
        for (const given of all) expect(onModel(tables, given, pk)).toEqual(await onEmulator(given, pk));
        const keys = ["A", "A#1", "B", "OUTBOX#1"].map((sk) => ({ pk, sk }));
        const { Responses } = await client.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys: keys } } }));
        const stored = (Responses?.[TableName] ?? []) as Item[];
        expect(keys.flatMap((key) => tables.get(TableName, key) ?? [])).toEqual(
          keys.flatMap(({ sk }) => stored.filter((item) => item["sk"] === sk)),
        );
        for (const item of stored) expect(bytesOf(item)).toBe(itemBytes(marshall(item)));
        const begins = {
          TableName,
          KeyConditionExpression: "pk = :pk AND begins_with(sk, :low)",
          ExpressionAttributeValues: { ":pk": pk, ":low": prefix },
          Limit: 1,
        };
        const ask = async (input: QueryInput) => tables.query(input);
        expect(await read(ask, begins)).toEqual(await read(queryEmulator, begins));
      }),
      { numRuns: Number(process.env["MODEL_RUNS"] ?? "60"), seed: 20 },
    );
  });

  it("reads a range of an index page by page, in both directions, as the emulator does", async () => {
    const tables = new Tables(TableName);
    for (const [at, due_sk] of ["1", "3", "2", "5", "4"].entries()) {
      const item = { pk: `due-${at}`, sk: "A", due_pk: "DUE|x", due_sk, status: "s", text: "t" };
      const plan = tables.plan("Put", { TableName, Item: item });
      if ("refused" in plan) throw new Error("A put without a condition was refused.");
      tables.apply(plan);
      tables.index("due", undefined, plan.after);
      await client.send(new PutCommand({ TableName, Item: item }));
    }
    for (const ScanIndexForward of [true, false]) {
      const input = {
        TableName,
        IndexName: indexes.due.name,
        KeyConditionExpression: "due_pk = :pk AND due_sk BETWEEN :low AND :high",
        ExpressionAttributeValues: { ":pk": "DUE|x", ":low": "2", ":high": "4" },
        ProjectionExpression: "#pk,#due_sk",
        ExpressionAttributeNames: { "#pk": "pk", "#due_sk": "due_sk" },
        ScanIndexForward,
        Limit: 2,
      };
      const found = await read(async (each) => tables.query(each), input);
      expect(found).toEqual(await read(queryEmulator, input));
      expect(found).toHaveLength(3);
    }
  });
});
