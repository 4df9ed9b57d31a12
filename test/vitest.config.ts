import { randomUUID } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { clientFiles, deployedClients } from "./support/deployed-clients.ts";
import { keptModules } from "./support/kept-modules.ts";
import { onSharedStack, onWatchedStack } from "./support/stack/on-shared-stack.ts";

const root = new URL("..", import.meta.url).pathname;
const judgedLast = "test/coverage.test.ts";

// Databases of the tests are files. In memory they cost no disk, on which workers wait for each other.
const memory = "/dev/shm";
const enough = 2 ** 30;
const isRoomy = ({ bavail, bsize }: { bavail: number; bsize: number }) => bavail * bsize > enough;
if (existsSync(memory) && isRoomy(statfsSync(memory))) process.env["TMPDIR"] = memory;

// Vitest reads this file once for each project, and all of them share one folder, which the global setup makes.
const variable = "BROKERAGE_TEST_NOTES";
const notesDir = process.env[variable] ?? join(tmpdir(), `brokerage-notes-${randomUUID()}`);
process.env[variable] = notesDir;

/** Tests that start nothing and need no synthesis, without models that take seconds alone: the inner loop. */
const fast = [
  "test/{architecture,language}.test.ts",
  "test/bench/{load-figures,comparison/figures}.test.ts",
  "test/dashboard/!(live-events).test.ts",
  "test/domain/!(debt-programs).test.ts",
  "test/domain/!(command)/**/!(drive|exposure|one-person|requested-stop-out).test.ts",
  "test/domain/feed/command/!(corrections|two-books).test.ts",
  "test/local/queues/*.test.ts",
  "test/table/!(person-key).test.ts",
  "test/tools/!(answered|audit-command|audit-export|stream-client).test.ts",
  "test/http/!(compatibility|failures|fuzz|linters|openapi|webhooks).test.ts",
  "test/webhooks/!(webhook-sender*|receivers).test.ts",
];

/** The files that the command names. */
const named = process.argv.slice(2).filter((word, at, words) => {
  const isValue = /^--?[^=]+$/.test(words[at - 1] ?? "");
  return !(word.startsWith("-") || isValue || ["run", "watch", "dev", "list"].includes(word));
});
const sharing = [...onSharedStack, ...onWatchedStack].map((name) => normalize(`test/e2e/${name}.test.ts`));
const together = ["test/e2e/shared-stack.test.ts", "test/e2e/together/watched-stack.test.ts"];

/** Tests of the local runner, and by it. A process can have the market of one stack (`floorOf`), which grants keeps. */
const running = [
  ...["test/local/**/*.test.ts", "test/browser/*.test.ts", "test/e2e/!(grants).test.ts"],
  ...["test/e2e/{reports,resources,stream,together,tools}/*.test.ts", "test/simulation/feed.test.ts"],
];
/** Files that share a stack run as one, and by themselves when a file is named. */
const elsewhere = named.every((word) => together.some((name) => name.includes(word))) ? sharing : together;

/** Stories of half a minute and more; started last, each would leave a processor idle. */
const longest = [
  ...["e2e/shared-stack", "e2e/grants", "simulation/soak", "e2e/together/watched-stack", "simulation/mutants"],
  ...["e2e/ladder", "bench/bench", "bench/load"],
].map((name) => `test/${name}.test.ts`);

/**
 * Begins with the longest files. Without a cache of earlier runs the size of a file says little. Files of a project
 * without isolation follow each other: a worker ends when the next file is one of another project.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = [...longest, "running", "suite", "fast"];
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = order.findIndex((name) => moduleId.endsWith(name));
      return place === -1 ? order.indexOf(project.name) : place;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/**
 * The whole suite: files run on four workers, and those of one worker and project share its process; those that start
 * the stack bring their own time bounds. `fast` needs no synthesis and ends within seconds (`npm test -- --project
 * fast`). Answers of all files, and grants that their stacks needed, are judged after the last of them, so they are a
 * project of its own.
 */
export default defineConfig({
  plugins: [await deployedClients()],
  test: {
    root,
    server: { deps: { external: [clientFiles] } },
    // Two more than the processors of the gate: a worker waits for a third of its time.
    maxWorkers: 4,
    // A worker makes and drops objects for minutes: with more room for them it collects garbage less often. Most code
    // runs a few times in each file: compiled at its first call it takes 4 to 11 percent less of a processor.
    execArgv: [
      ...["--max-semi-space-size=64", "--min-semi-space-size=64", "--initial-heap-size=1000"],
      "--always-sparkplug",
    ],
    // `fast` took 20.5 s without it, and 15.7 to 16.9 s with what the run before had kept, on one machine.
    fsModuleCache: true,
    fsModuleCachePath: await keptModules(),
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    // Polled values are late on a busy machine: a second, the default, is over before the second look.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 120_000,
    provide: { notesDir },
    // Everything shares two processors here: a request that is slow for that alone must not be answered 503.
    env: { BUDGET_FACTOR: process.env["BUDGET_FACTOR"] ?? "3" },
    projects: [
      // They keep nothing between files, so that files of one worker share what they import.
      { extends: true, test: { name: "fast", isolate: false, include: fast, sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: "suite",
          // Packages stay loaded; modules of the functions keep clients and caches, so each file loads them again.
          isolate: false,
          setupFiles: ["test/support/fresh-file.ts"],
          include: ["test/**/*.test.ts"],
          exclude: [judgedLast, ...fast, ...running],
          globalSetup: ["test/support/global-setup.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "running",
          isolate: false,
          include: running,
          exclude: elsewhere,
          globalSetup: ["test/support/global-setup.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "coverage", include: [judgedLast], sequence: { groupOrder: 1 } } },
    ],
  },
});
