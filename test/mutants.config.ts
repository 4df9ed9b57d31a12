import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { fileOf, mutations, planted } from "./support/mutations.ts";

/** Runs tests on sources with the bug in them that `MUTANT` names; without it on the sources as they are. */
const name = process.env["MUTANT"];
const mutation = mutations.find((each) => each.name === name);
if (name !== undefined && mutation === undefined) throw new Error(`There is no mutation ${name}.`);

export default defineConfig({
  plugins: [
    {
      name: "mutation",
      enforce: "pre",
      transform(code, id) {
        return mutation === undefined || id !== fileOf(mutation) ? undefined : planted(mutation, code);
      },
    },
  ],
  test: {
    root: new URL("..", import.meta.url).pathname,
    // What is answered here is no proof that a promised answer is seen in a test.
    provide: { answersDir: mkdtempSync(join(tmpdir(), "brokerage-answers-")) },
    include: ["test/{data,domain,webhooks}/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
