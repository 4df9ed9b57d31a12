/**
 * Runs the tests of the mutations on sources with their bugs, as `npm test` would, and prints one line of JSON: what
 * became of each test. One server transforms the sources for all of them and keeps what it transformed, and test files
 * follow each other in one process; before each, the file with its bug and that with the one before are transformed
 * again. It plants those of the short form; with MUTANTS=all every one, and runs all these tests without a bug too.
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

/** Runs of this round, by the path of the test file. */
let running: ReadonlyMap<string, Run> = new Map();
/** The bug that the sources have now. */
let current: Mutation | undefined;

/** Plants the bug of a test file, before the file and what it imports are loaded, and removes the one before. */
function plantFor(moduleId: string): void {
  const run = running.get(moduleId);
  const bug = run?.isHealthy === false ? run.mutation : undefined;
  for (const mutation of [current, bug]) if (mutation !== undefined) vitest.invalidateFile(fileOf(mutation));
  current = bug;
}

const vitest = await createVitest(
  "test",
  {
    config: false,
    root,
    watch: false,
    reporters: [{ onTestModuleQueued: ({ moduleId }) => plantFor(moduleId) }],
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
    // Files of a round share a process, and each loads the sources again, without the bug of the file before.
    runner: "test/support/rules/planting-runner.ts",
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

/** Runs of the list in which each test file has one run at most: files of one call are run in one process. */
function roundsOf(runs: readonly Run[]): Run[][] {
  const rounds: Run[][] = [];
  for (const run of runs) {
    const { file } = run.mutation.test;
    const free = rounds.find((round) => round.every(({ mutation }) => mutation.test.file !== file));
    if (free === undefined) rounds.push([run]);
    else free.push(run);
  }
  return rounds;
}

/** Runs the tests of a round, each on the sources with its bug or without one. */
async function outcomesOf(round: readonly Run[]): Promise<MutantOutcome[]> {
  running = new Map(round.map((run) => [join(root, run.mutation.test.file), run]));
  const specifications = [...running].map(([moduleId, { mutation }]) => {
    // Vitest writes ` > ` between the name of a group and that of a test.
    const testNamePattern = new RegExp(escaped(mutation.test.name).replaceAll(" ", "(?: > | )"));
    return vitest.getRootProject().createSpecification(moduleId, { testNamePattern });
  });
  const { testModules } = await vitest.runTestSpecifications(specifications);
  // The modules of earlier runs are among them.
  return testModules.flatMap((module) => {
    const run = running.get(module.moduleId);
    if (run === undefined) return [];
    const project = run.isHealthy ? "healthy" : run.mutation.name;
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
for (const round of roundsOf(runs)) outcomes.push(...(await outcomesOf(round)));
await vitest.close();
rmSync(notesDir, { recursive: true });
// Vitest sets it where a test fails, as each is to do here.
process.exitCode = 0;
process.stdout.write(`\n${JSON.stringify({ outcomes })}\n`);
