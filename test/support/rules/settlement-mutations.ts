import type { Mutation } from "./mutations.ts";

const settlements = "test/domain/feed/command/settlements.test.ts";

/** Bugs that would make a platform follow twice, or not at all, what was settled here, or book it again. */
export const settlementMutations: readonly Mutation[] = [
  {
    name: "a correction commanded twice",
    file: "shared/domain/feed/command/settlement.ts",
    edits: [["const issued = settled.map((entry) => {", "const issued = [...settled, ...settled].map((entry) => {"]],
    test: { file: settlements, name: "with one command of the same amount that names the correction" },
  },
  {
    name: "a repayment that the platform is not asked for",
    file: "shared/domain/feed/command/settlement.ts",
    edits: [['new Set(["correction", "credit", "repayment"])', 'new Set(["correction", "credit"])']],
    test: { file: settlements, name: "is a payout that fails after the loss" },
  },
  {
    name: "an item of a settlement booked again",
    file: "shared/domain/feed/join-operation.ts",
    edits: [["  if (isCorrection(command)) {\n", '  if (isCorrection(command) && command.purpose === "drift") {\n']],
    test: { file: settlements, name: "is the only booking, in whatever order" },
  },
  {
    name: "an open settlement compared as booked",
    file: "shared/domain/feed/drift/compare.ts",
    edits: [["const awaited = feed_seq === undefined && isOpen(command);", "const awaited = false;"]],
    test: { file: settlements, name: "shows no drift while the command waits" },
  },
  {
    name: "a refused settlement forgotten",
    file: "shared/domain/feed/command/correction.ts",
    edits: [['const forgotten = before.purpose === "drift" && !isOpen(after)', "const forgotten = !isOpen(after)"]],
    test: { file: settlements, name: "whose command was refused still tells the operation of a person there" },
  },
  {
    name: "a settlement that a person books by hand",
    file: "shared/domain/feed/command/move.ts",
    edits: [["isOpen(command) && !isCorrection(command)) {", "isOpen(command) && command.attempt >= 0) {"]],
    test: { file: settlements, name: "is not booked again by a person who settles its command by hand" },
  },
  {
    name: "a settlement handed out while its operation is put aside",
    always: true,
    file: "shared/domain/feed/command/settlement.ts",
    edits: [["(balance?.aside_minor ?? 0n) >= amount_minor;", "(balance?.aside_minor ?? 0n) < 0n;"]],
    test: {
      file: "test/data/feed/linked-loss.test.ts",
      name: "is joined with the correction that the platform makes by itself",
    },
  },
];
