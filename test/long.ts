/** The long forms of the tests, one after the other, with a table of what each took: `npm run check:long`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { helpAsked, readArguments, runCommand, UsageError } from "../shared/runtime/command-line.ts";

/** A long form: test files, by the end of their names, with settings of their own, or a script of package.json. */
type LongForm =
  | { readonly env: Readonly<Record<string, string>>; readonly file: string | readonly string[] }
  | { readonly script: string; readonly args?: readonly string[] };

/**
 * Journeys on a database whose indexes lag by two seconds and which throttles every twentieth call. Left out are those
 * that bound times, and the walks of the documentation, which read a list right after they wrote.
 */
const strained = ["lists", "margin", "money", "oauth", "oauth-clients", "refusals", "sandbox", "webhooks"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Journeys with bounds of time, which stretch where other tests run at the same time. */
const bounded = ["e2e/stop-out", "e2e/webhooks", "browser/live"].map((name) => `test/${name}.test.ts`);

const random = { SIMULATION_SEED: "random" };
const longForms: Readonly<Record<string, LongForm>> = {
  debt: { env: { DEBT_RUNS: "20000" }, file: "test/domain/debt-programs.test.ts" },
  cycles: { env: { CYCLE_RUNS: "10000" }, file: "test/domain/money/transfer-cycles.test.ts" },
  "two-books": {
    env: { TWO_BOOKS_RUNS: "1500", TWO_BOOKS_SEED: String(Date.now() % 1e9) },
    file: "test/domain/feed/command/two-books.test.ts",
  },
  "approved-books": {
    env: { APPROVED_RUNS: "2500", APPROVED_SEED: String(Date.now() % 1e9) },
    file: "test/domain/feed/command/approved-books.test.ts",
  },
  search: { env: { SEARCH_CLIENTS: "50000", SEARCH_RUNS: "300" }, file: "test/data/clients/search.test.ts" },
  "state-reads": { env: { STATE_ITEMS: "50000" }, file: "test/data/capacity.test.ts" },
  restore: { env: { RESTORE_ITEMS: "200000" }, file: "test/data/events/restore-command.test.ts" },
  flood: { env: { FLOOD_SECONDS: "30" }, file: "test/e2e/rate.test.ts" },
  exports: { env: { EXPORT_ROWS: "200000", EXPORT_STEP_PAGES: "10" }, file: "test/data/jobs/large-export.test.ts" },
  filters: { env: { FILTER_SORTS: "both" }, file: "test/data/filters.test.ts" },
  fuzz: { env: { FUZZ_RUNS: "2000", FUZZ_SEED: String(Date.now() % 1e9) }, file: "test/http/fuzz.test.ts" },
  linters: { env: { LINTERS: "all" }, file: "test/http/linters.test.ts" },
  money: { env: { MONEY_AT_ONCE: "50" }, file: "test/e2e/money.test.ts" },
  webhooks: { env: { WEBHOOKS_TIMED: "30", EVENTS_EACH: "25" }, file: "test/e2e/webhooks.test.ts" },
  start: { env: { START_CLIENTS: "40" }, file: "test/local/start.test.ts" },
  lists: { env: { WALK_TRANSACTIONS: "1000" }, file: "test/e2e/lists.test.ts" },
  races: { env: { RACE_RUNS: "60", RACE_SEED: "random" }, file: "test/simulation/trading-races.test.ts" },
  "margin-walk": { env: { WALK_RUNS: "40", WALK_SEED: "random" }, file: "test/simulation/margin-walk.test.ts" },
  resumption: { env: { STREAM_RUNS: "1000" }, file: "test/data/stream/exactly.test.ts" },
  replay: { env: { REPLAYED_EVENTS: "5000" }, file: "test/data/stream/deliver.test.ts" },
  exposed: { env: { EXPOSED_ACCOUNTS: "10000" }, file: "test/data/trading/margin-reads.test.ts" },
  transfers: { env: { TRANSFER_TURNS: "500" }, file: "test/data/trading/internal-money.test.ts" },
  states: { env: { STATE_RACES: "60" }, file: "states.test.ts" },
  programs: { env: { ...random, SIMULATION_RUNS: "300" }, file: "test/simulation/programs.test.ts" },
  mutants: { env: { MUTANTS: "all" }, file: "test/simulation/mutants.test.ts" },
  publishing: {
    env: { PUBLISHING_RUNS: "200", PUBLISHING_SEED: "random" },
    file: "test/simulation/publishing.test.ts",
  },
  skips: { env: { SKIP_RUNS: "60", SKIP_SEED: "random" }, file: "test/data/events/skipped-endpoint.test.ts" },
  feed: { env: { FEED_EXECUTIONS: "10000", FEED_ACCOUNTS: "200" }, file: "test/simulation/feed.test.ts" },
  preview: { env: { PREVIEW_RUNS: "500", PREVIEW_SEED: String(Date.now() % 1e9) }, file: "preview.test.ts" },
  "page-size": { env: { PAGE_WALKS: "both" }, file: "test/data/page-size.test.ts" },
  ladder: { env: { LADDER_SCALE: "600" }, file: "test/e2e/ladder.test.ts" },
  interleavings: {
    env: { INTERLEAVING_RUNS: "100", INTERLEAVING_SEED: "random" },
    file: "test/simulation/interleavings.test.ts",
  },
  strain: { env: { INDEX_LAG_MS: "2000", THROTTLED_PERCENT: "5", EVENTUALLY_MS: "90000" }, file: strained },
  bounds: { env: { BUDGET_FACTOR: "1" }, file: bounded },
  smoke: { env: { SMOKE_SLOW: "1" }, file: "test/e2e/tools/smoke.test.ts" },
  scale: { script: "scale" },
  soak: { script: "soak" },
  bridge: { script: "bridge", args: ["--", "test", "--seconds", "300"] },
};

const names = Object.keys(longForms);
const help = `Runs the long forms of the tests: more runs of the models with new seeds, long walks,
journeys on a database that lags and throttles, bounds of time of a service that runs alone, the model of the event
pipeline, the soak, and a bridge over FIX that is killed at random.

npm run check:long -- [options]
  --only <list>   names with commas between them, of ${names.join(", ")}
  --help          this text

One runs after the other; the table at the end shows what each took. Ends with 1 when one failed. A failed model prints
the seed that fails again.`;

function chosen(only: string | undefined): string[] {
  const wanted = only?.split(",").map((name) => name.trim()) ?? names;
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`--only names "${unknown}"; the long forms are ${names.join(", ")}.`);
  return wanted;
}

/** Runs one long form with its output on this terminal; returns whether it passed. */
async function run(form: LongForm): Promise<boolean> {
  // The bounds of the short forms do not hold for these.
  const bounds = `--testTimeout=${2 * 3600 * 1000}`;
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", bounds];
  const [command, args] =
    "script" in form
      ? ["npm", ["run", "--silent", form.script, ...(form.args ?? [])]]
      : [process.execPath, vitest.concat(form.file)];
  const env = { ...process.env, ...("env" in form ? form.env : {}) };
  const child = spawn(command, args, { cwd: fileURLToPath(new URL("..", import.meta.url)), env, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0;
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({ only: { type: "string" } });
  const results: { name: string; passed: boolean; seconds: number }[] = [];
  const wanted = chosen(values.only);
  for (const [place, name] of wanted.entries()) {
    console.log(`\n== ${name} (${place + 1} of ${wanted.length})`);
    const startMs = Date.now();
    const passed = await run(longForms[name] as LongForm);
    results.push({ name, passed, seconds: Math.round((Date.now() - startMs) / 1000) });
  }
  console.log("\n| long form | result | seconds |\n|---|---|---:|");
  for (const { name, passed, seconds } of results) {
    console.log(`| ${name} | ${passed ? "passed" : "failed"} | ${seconds} |`);
  }
  if (results.some(({ passed }) => !passed)) process.exitCode = 1;
});
