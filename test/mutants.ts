/**
 * Runs the tests of the mutations on sources with their bugs, as `npm test` would, and prints one line of JSON: what
 * became of each test. One server transforms the sources for all of them; between two runs it forgets the files with
 * the bugs. It plants those of the short form; with MUTANTS=all every one, and runs all these tests without a bug too.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVitest } from "vitest/node";
import { clientFiles, deployedClients } from "./support/deployed-clients.ts";
import { fileOf, type Mutation, mutations, planted, shortForm } from "./support/rules/mutations.ts";

/** What became of a test that ran on the sources with a bug, or without one. */
export interface MutantOutcome {
  /** The mutation, or `healthy`. */
  readonly project: string;
  readonly test: string;
  readonly state: "passed" | "failed" | "skipped" | "pending";
  readonly messages: readonly string[];
}

const root = new URL("..", import.meta.url).pathname;
const isLong = process.env["MUTANTS"] === "all";
const chosen = isLong ? mutations : shortForm;
const notesDir = mkdtempSync(join(tmpdir(), "brokerage-notes-"));
/** The bug that the sources have now. */
let current: Mutation | undefined;

const vitest = await createVitest(
  "test",
  {
    config: false,
    root,
    watch: false,
    reporters: [{}],
    server: { deps: { external: [clientFiles] } },
    // What is answered here is no proof that a promised answer is seen in a test.
    provide: { notesDir },
    // A bug that makes something never come about is found by waiting for it: long enough for what is healthy.
    env: { EVENTUALLY_MS: "8000" },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    isolate: false,
    include: [...new Set(chosen.map(({ test }) => test.file))],
  },
  {
    plugins: [
      await deployedClients(),
      {
        name: "mutation",
        enforce: "pre",
        transform: (code, id) => (current !== undefined && id === fileOf(current) ? planted(current, code) : undefined),
      },
    ],
  },
);

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Runs one test on the sources with a bug, or without one. */
async function outcomesOf(project: string, { test }: Mutation, bug?: Mutation): Promise<MutantOutcome[]> {
  for (const mutation of [current, bug]) if (mutation !== undefined) vitest.invalidateFile(fileOf(mutation));
  current = bug;
  const testNamePattern = new RegExp(escaped(test.name));
  const specification = vitest.getRootProject().createSpecification(join(root, test.file), { testNamePattern });
  const { moduleId } = specification;
  const { testModules } = await vitest.runTestSpecifications([specification]);
  // The modules of earlier runs are among them.
  const ran = testModules.filter((module) => module.moduleId === moduleId);
  return ran.flatMap((module) =>
    [...module.children.allTests()].map((each) => {
      const { state, errors } = each.result();
      const messages = (errors ?? []).map(({ message, stack }) => `${message}\n${stack}`);
      return { project, test: each.fullName.replaceAll(" > ", " "), state, messages };
    }),
  );
}

const outcomes: MutantOutcome[] = [];
for (const mutation of chosen) {
  if (isLong) outcomes.push(...(await outcomesOf("healthy", mutation)));
  outcomes.push(...(await outcomesOf(mutation.name, mutation, mutation)));
}
await vitest.close();
rmSync(notesDir, { recursive: true });
// Vitest sets it where a test fails, as each is to do here.
process.exitCode = 0;
process.stdout.write(`\n${JSON.stringify({ outcomes })}\n`);
