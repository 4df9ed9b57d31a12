import type { Mutation } from "./mutations.ts";

/** Bugs that would falsify what is kept of the past: the comparison of books, the audit and the counts of usage. */
export const recordMutations: readonly Mutation[] = [
  {
    name: "a difference announced again",
    file: "shared/domain/books/run.ts",
    edits: [["run.difference_count === 0 && found.length > 0", "found.length > 0"]],
    test: { file: "test/domain/books/books.test.ts", name: "announces its first difference alone" },
  },
  {
    name: "no gap between events",
    file: "shared/domain/books/events.ts",
    edits: [["const kept = place.expires_at > nowSeconds;", "const kept = place.expires_at > nowSeconds + 1e9;"]],
    test: { file: "test/domain/books/books.test.ts", name: "have no gap after an event that is kept" },
  },
  {
    name: "a day without a cut",
    file: "shared/events/audit-sealing.ts",
    edits: [["seal.open.written.sequence, seal.open.cut.sequence)", "seal.open.written.sequence, 1e12)"]],
    test: { file: "test/data/audit/sealing.test.ts", name: "after it opened a day seals what the chain held then" },
  },
  {
    name: "a request counted for each of its lines",
    file: "shared/domain/usage/usage-count.ts",
    edits: [["this.seen.add(id).size > size;", "this.seen.add(id).size > 0;"]],
    test: { file: "test/domain/usage/usage-count.test.ts", name: "are counted once for each request" },
  },
  {
    name: "an earlier reading of the log in the place of a later one",
    file: "shared/usage/requests.ts",
    edits: [['is: "at_most", value: read_at }', 'is: "present" }']],
    test: { file: "test/data/usage/collect.test.ts", name: "of a reading that began earlier do not replace" },
  },
  {
    name: "an hour settled before its last lines",
    file: "shared/limits.ts",
    edits: [["settled_after_ms: 3_600_000,", "settled_after_ms: -3_600_000,"]],
    test: { file: "test/data/usage/collect.test.ts", name: "whose line comes late, or twice" },
  },
  {
    name: "objects of a day replaced",
    file: "shared/runtime/objects.ts",
    edits: [[', IfNoneMatch: "*" };', " };"]],
    test: {
      file: "test/data/audit/sealing.test.ts",
      name: "is not sealed where another object is in the place of one",
    },
  },
  {
    name: "an entry keeps what reaches it in clear",
    file: "shared/domain/audit/entry.ts",
    edits: [["withValues(entry, clear, () => erasedMark)", "withValues(entry, clear.slice(1), () => erasedMark)"]],
    test: {
      file: "test/domain/audit/personal.test.ts",
      name: "has no personal value that reached it in clear, of any resource",
    },
  },
  {
    name: "a client's key is only noted as destroyed",
    file: "shared/table/audit/erasure.ts",
    edits: [['remove: ["private_key"], when', "remove: [], when"]],
    test: {
      file: "test/data/audit/persons.test.ts",
      name: "stores nothing personal in clear, shows it while the key lives",
    },
  },
  {
    name: "an operator's names are forgotten before the key is destroyed",
    file: "shared/oauth/operator-items.ts",
    edits: [
      [
        "  await destroyPersonKey(operator.tenant_id, operator.id);\n" +
          "  return finish(operator, { ...namelessOperator(operator), wake_at: null });",
        "  const done = await finish(operator, { ...namelessOperator(operator), wake_at: null });\n" +
          "  await destroyPersonKey(operator.tenant_id, operator.id);\n  return done;",
      ],
    ],
    test: { file: "test/data/audit/persons.test.ts", name: "of a removed operator is completed by provisioning" },
  },
];
