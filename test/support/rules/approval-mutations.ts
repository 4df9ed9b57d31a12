import type { Mutation } from "./mutations.ts";

const books = { file: "test/domain/feed/command/approved-books.test.ts", name: "no money moves without its approvals" };
const second = "test/domain/access/second-person.test.ts";

/** Bugs that would move money which too few have approved, or move it twice. */
export const approvalMutations: readonly Mutation[] = [
  {
    name: "an approval that counts once its giver was removed",
    file: "shared/domain/money/approval.ts",
    edits: [["return giver?.active === true && ", "return giver !== undefined && "]],
    test: books,
  },
  {
    name: "an item that stands for an approval",
    file: "shared/domain/feed/join-operation.ts",
    edits: [["if (isUnapproved(named, links)) return", "if (isUnapproved(named, links) && minor === 0n) return"]],
    test: books,
  },
  {
    name: "a command for what is set aside",
    file: "shared/domain/money/move.ts",
    edits: [["if (transaction.set_aside !== undefined && goesOn(to)) {", "if (transaction.set_aside === null) {"]],
    test: books,
  },
  {
    name: "an item that is set aside and not claimed",
    file: "shared/domain/feed/unasked.ts",
    edits: [
      [
        "return { ...claimed(decision, {}, reported), aside: asideOf(after, detail, minor) };",
        "return { ...decision, result: {}, aside: asideOf(after, detail, minor) };",
      ],
    ],
    test: books,
  },
  {
    name: "a second person whom no rule accepts",
    file: "shared/domain/access/second-person.ts",
    edits: [
      ["return refuseSecond(strictestRule(tenant), context) ?? unchanged(undefined);", "return unchanged(undefined);"],
    ],
    test: { file: second, name: "ends when a second one agrees whom the rule accepts" },
  },
];
