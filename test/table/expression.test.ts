import { describe, expect, it } from "vitest";
import { expressionOf, type ItemChange, isNew, isStill, isStored } from "../../shared/table/expression.ts";

/** A change, the expressions that it becomes, and the names and values behind their placeholders. */
type Row = readonly [
  change: ItemChange,
  update: string | undefined,
  condition: string | undefined,
  names: Readonly<Record<string, string>> | undefined,
  values: Readonly<Record<string, unknown>> | undefined,
];

const at = "2026-01-01T00:00:00.000Z";

const rows: Record<string, Row> = {
  "nothing at all": [{}, undefined, undefined, undefined, undefined],
  "no member of an empty clause": [
    { set: {}, add: {}, remove: [], when: [] },
    undefined,
    undefined,
    undefined,
    undefined,
  ],
  "members that are set, a reserved word among them": [
    { set: { status: "sent", wake_at: null } },
    "SET #status = :v0, #wake_at = :v1",
    undefined,
    { "#status": "status", "#wake_at": "wake_at" },
    { ":v0": "sent", ":v1": null },
  ],
  "clauses in the order of their kinds": [
    { remove: ["due_pk", "due_sk"], add: { n: 2, held_minor: -5n }, set: { et: "SEQ" } },
    "SET #et = :v0 ADD #n :v1, #held_minor :v2 REMOVE #due_pk, #due_sk",
    undefined,
    { "#et": "et", "#n": "n", "#held_minor": "held_minor", "#due_pk": "due_pk", "#due_sk": "due_sk" },
    { ":v0": "SEQ", ":v1": 2, ":v2": -5n },
  ],
  "a path into a map": [
    {
      set: { "slots.dlv_1": at },
      remove: ["slots.dlv_2"],
      when: [
        { attribute: "slots", is: "size_at_most", value: 3 },
        { attribute: "slots.dlv_2", is: "at_most", value: at },
      ],
    },
    "SET #slots.#dlv_1 = :v0 REMOVE #slots.#dlv_2",
    "size(#slots) <= :v1 AND #slots.#dlv_2 <= :v2",
    { "#slots": "slots", "#dlv_1": "dlv_1", "#dlv_2": "dlv_2" },
    { ":v0": at, ":v1": 3, ":v2": at },
  ],
  "every comparison": [
    {
      when: [
        { attribute: "a", is: "equal", value: 1 },
        { attribute: "b", is: "not", value: 2 },
        { attribute: "c", is: "at_least", value: 3 },
        { attribute: "d", is: "at_most", value: 4 },
        { attribute: "e", is: "above", value: 5 },
        { attribute: "f", is: "below", value: 6 },
      ],
    },
    undefined,
    "#a = :v0 AND #b <> :v1 AND #c >= :v2 AND #d <= :v3 AND #e > :v4 AND #f < :v5",
    { "#a": "a", "#b": "b", "#c": "c", "#d": "d", "#e": "e", "#f": "f" },
    { ":v0": 1, ":v1": 2, ":v2": 3, ":v3": 4, ":v4": 5, ":v5": 6 },
  ],
  "an item that is there, and a member that is not": [
    { when: [isStored, { attribute: "revoked_at", is: "absent" }] },
    undefined,
    "attribute_exists(#pk) AND attribute_not_exists(#revoked_at)",
    { "#pk": "pk", "#revoked_at": "revoked_at" },
    undefined,
  ],
  "one of several conditions beside another one": [
    { when: [{ any: [isNew, { attribute: "expires_at", is: "below", value: 9 }] }, ...isStill({ n: 1 })] },
    undefined,
    "(attribute_not_exists(#pk) OR #expires_at < :v0) AND #n = :v1",
    { "#pk": "pk", "#expires_at": "expires_at", "#n": "n" },
    { ":v0": 9, ":v1": 1 },
  ],
  "what is still as it was read": [
    { when: isStill({ wake_at: at, attempt: 2 }) },
    undefined,
    "#wake_at = :v0 AND #attempt = :v1",
    { "#wake_at": "wake_at", "#attempt": "attempt" },
    { ":v0": at, ":v1": 2 },
  ],
};

describe("the expressions of a change", () => {
  it.each(Object.entries(rows))("say %s", (_, [change, update, condition, names, values]) => {
    expect(expressionOf(change)).toEqual({
      UpdateExpression: update,
      ConditionExpression: condition,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
    });
  });
});
