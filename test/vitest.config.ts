import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = new URL("..", import.meta.url).pathname;
const judgedLast = "test/coverage.test.ts";

// Vitest reads this file once for each project, and all of them share one folder.
const variable = "BROKERAGE_TEST_ANSWERS";
const answersDir = process.env[variable] ?? mkdtempSync(join(tmpdir(), "brokerage-answers-"));
process.env[variable] = answersDir;

/**
 * The whole suite: files run side by side on two workers; those that start the stack bring their own time bounds. What
 * all of them saw answered is judged after the last of them, so it is a project of its own.
 */
export default defineConfig({
  test: {
    root,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    provide: { answersDir },
    projects: [
      {
        extends: true,
        test: {
          name: "suite",
          include: ["test/**/*.test.ts"],
          exclude: [judgedLast],
          globalSetup: ["test/support/global-setup.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "coverage", include: [judgedLast], sequence: { groupOrder: 1 } } },
    ],
  },
});
