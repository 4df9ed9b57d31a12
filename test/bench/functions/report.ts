import { limits } from "../../../shared/limits.ts";
import { dollarsPerMillion, prices } from "../prices.ts";
import { type Measured, warmRequests } from "./measured.ts";

const number = (value: number | undefined, digits = 1) => (value === undefined ? "" : value.toFixed(digits));

const table = (rows: readonly (readonly string[])[]) => rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Billed time of a request at the prices: its processor time and two round trips to DynamoDB. */
const billedMs = 10;

const heads = [
  ...["function", "KiB min / gz", "cold CPU ratio", "import ms", "first request ms", "of empty"],
  ...["warm µs", "RSS MB"],
  ...["DynamoDB calls", "read units", "write units", "$ per million"],
];

/** The page of all functions. */
export function functionsReport(
  rows: readonly Measured[],
  given: { readonly rounds: number; readonly runtime: string; readonly missed: readonly string[] },
): string {
  const lines = rows.map(({ name, cost, ...row }) => {
    const dollars = cost && dollarsPerMillion({ ...cost, memory_mb: limits.functions.memory_mb, billed_ms: billedMs });
    return [
      name,
      `${number(row.kibibytes, 0)} / ${number(row.gzipped, 0)}`,
      `${number(row.ratio, 2)} ± ${number(row.ratio_spread / 2, 2)}`,
      number(row.import_ms),
      number(row.first_ms),
      number(row.first_ratio, 2),
      number(row.warm_us, 0),
      number(row.rss_mb, 0),
      cost === undefined ? "" : String(cost.calls),
      number(cost?.read_units),
      number(cost?.write_units, 0),
      number(dollars, 2),
    ];
  });
  const judged = given.missed.length === 0 ? "No row misses." : given.missed.map((line) => `- ${line}`).join("\n");
  const all = table([heads, heads.map(() => "---"), ...lines]);
  return `# Results of the bench\n\n${method(given)}\n\n${all}\n\n${notes}\n\n## Misses\n\n${judged}\n`;
}

function method({ rounds, runtime }: { readonly rounds: number; readonly runtime: string }): string {
  return `Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${rounds} rounds under
${runtime}. How the service compares with frameworks is in [PEERS.md](PEERS.md).

In each round every row is one new process, in a new random order, against a DynamoDB-compatible server on this
machine. Cold is the processor time of the whole process (\`process.cpuUsage()\` at its end) over that of the empty
function in the same round: median, and half the distance of the quartiles. Rounds in which the no-op handler took
half as long again as in the calmest one are thrown away. Import and first request are parts of it. As in Lambda,
node:http is loaded before any function is, the empty one included. Warm is the mean of ${warmRequests} requests
after as many others, with their calls over a kept connection; only of reads. Bundles are those that are deployed.
Capacity units are what the server reports, indexes and the rate counter included.`;
}

const notes = `Dollars are for ${prices.region} at the prices of ${prices.read_on} (\`prices.ts\`): gateway,
${billedMs} ms of a function and DynamoDB, without logs.`;

/** Figures of a function in the last complete run. */
export interface Recorded {
  /** SHA-256 of its bundle, the first 16 digits. */
  readonly digest: string;
  readonly kibibytes: number;
  readonly ratio: number;
  readonly first_ratio?: number;
}

/** Figures that later runs compare with, by the name of the function. */
export function recordOf(rows: readonly Measured[]): Readonly<Record<string, Recorded>> {
  const rounded = (value: number) => Number(value.toFixed(3));
  const own = rows.filter(({ baseline }) => !baseline);
  return Object.fromEntries(
    own.map(({ name, digest, kibibytes, ratio, first_ratio }) => [
      name,
      {
        ...{ digest, kibibytes: rounded(kibibytes), ratio: rounded(ratio) },
        ...(first_ratio !== undefined && { first_ratio: rounded(first_ratio) }),
      },
    ]),
  );
}

/** Changes of each row since the last complete run. */
export function changeReport(rows: readonly Measured[], before: Readonly<Record<string, Recorded>>): string {
  const moved = (was: number | undefined, is: number | undefined, digits: number) =>
    was === undefined ? number(is, digits) : `${number(was, digits)} → ${number(is, digits)}`;
  const lines = rows.map(({ name, kibibytes, ratio, first_ratio, warm_us }) => {
    const was = before[name];
    return [
      name,
      moved(was?.kibibytes, kibibytes, 1),
      moved(was?.ratio, ratio, 2),
      moved(was?.first_ratio, first_ratio, 2),
      number(warm_us, 0),
    ];
  });
  const names = ["function", "KiB min", "cold CPU ratio", "first request of empty", "warm µs"];
  return table([names, names.map(() => "---"), ...lines]);
}
