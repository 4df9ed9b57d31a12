/**
 * Runs the tests of the mutations on sources with their bugs, as `npm test` would, and prints one line of JSON: what
 * became of each test. One server transforms the sources for all of them and keeps what it transformed. Before each
 * test file, the file with its bug and that with the one before are transformed again. It plants those of the short
 * form; with MUTANTS=all every one, and runs all these tests without a bug too.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVitest } from "vitest/node";
import { clientFiles, deployedClients } from "./support/deployed-clients.ts";
import { keptModules } from "./support/kept-modules.ts";
import { fileOf, type Mutation, mutations, planted, shortForm } from "./support/rules/mutations.ts";

/** Result of a test on the sources with a bug, or without one. */
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

/** A test to run, on the sources with its bug or without one. */
interface Run {
  readonly mutation: Mutation;
  readonly isHealthy: boolean;
}

/** The bug that the sources have now. */
let current: Mutation | undefined;

/**
 * Plants the bug of a run and removes the one before. It happens before the run and not when its file is queued, which
 * Vitest 5 does not wait for: what a process had loaded before would be there sooner than the bug.
 */
function plantFor({ mutation, isHealthy }: Run): void {
  const bug = isHealthy ? undefined : mutation;
  for (const each of [current, bug]) if (each !== undefined) vitest.invalidateFile(fileOf(each));
  current = bug;
}

const vitest = await createVitest(
  "test",
  {
    config: false,
    root,
    watch: false,
    reporters: [{}],
    server: { deps: { external: [clientFiles] } },
    // Answers here are no proof that a promised answer is seen in a test.
    provide: { notesDir },
    // A bug that makes something never come about is found by waiting for it: long enough for what is healthy.
    env: { EVENTUALLY_MS: "8000" },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    fsModuleCache: true,
    fsModuleCachePath: await keptModules(),
    maxWorkers: 1,
    isolate: false,
    setupFiles: ["test/support/fresh-file.ts"],
    include: [...new Set(chosen.map(({ test }) => test.file))],
  },
  {
    plugins: [
      await deployedClients(),
      {
        name: "mutation",
        enforce: "pre",
        // The cache of a file with a bug has the name of the bug as well.
        configureVitest: (context) =>
          context.experimental_defineCacheKeyGenerator(({ id }) =>
            bugIn(id) === undefined ? "" : JSON.stringify(current),
          ),
        transform(code, id) {
          const bug = bugIn(id);
          return bug === undefined ? undefined : planted(bug, code);
        },
      },
    ],
  },
);

/** The bug that a file has now. */
function bugIn(file: string): Mutation | undefined {
  return current !== undefined && file === fileOf(current) ? current : undefined;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The outcomes of one test file, on the sources with a bug or without one. */
async function outcomesOf(run: Run): Promise<MutantOutcome[]> {
  plantFor(run);
  const { name, test } = run.mutation;
  const moduleId = join(root, test.file);
  // Vitest writes ` > ` between the name of a group and that of a test.
  const testNamePattern = new RegExp(escaped(test.name).replaceAll(" ", "(?: > | )"));
  const specification = vitest.getRootProject().createSpecification(moduleId, { testNamePattern });
  const { testModules } = await vitest.runTestSpecifications([specification]);
  // The modules of earlier runs are among them.
  return testModules.flatMap((module) => {
    if (module.moduleId !== moduleId) return [];
    const project = run.isHealthy ? "healthy" : name;
    return [...module.children.allTests()].map((each) => {
      const { state, errors } = each.result();
      const messages = (errors ?? []).map(({ message, stack }) => `${message}\n${stack}`);
      return { project, test: each.fullName.replaceAll(" > ", " "), state, messages };
    });
  });
}

const runs = chosen.flatMap((mutation): Run[] => [
  { mutation, isHealthy: false },
  ...(isLong ? [{ mutation, isHealthy: true }] : []),
]);
const outcomes: MutantOutcome[] = [];
for (const run of runs) outcomes.push(...(await outcomesOf(run)));
await vitest.close();
rmSync(notesDir, { recursive: true });
// Vitest sets it where a test fails, as each is to do here.
process.exitCode = 0;
process.stdout.write(`\n${JSON.stringify({ outcomes })}\n`);
