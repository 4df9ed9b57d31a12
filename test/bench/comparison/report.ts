import { type Compared, type Contestant, contestants } from "./bundles.ts";
import { type Comparison, type Figures, missesOf, type Ratio } from "./figures.ts";

const headlines: Readonly<Record<Compared, string>> = {
  "get-client": "The read: `GET /clients/{id}`",
  "create-client": "The write: `POST /clients`",
};

const heads = [
  ...["", "KiB min / gz", "ratio"],
  ...["start ms", "ratio", "first request ms", "ratio", "both ms", "ratio", "warm request ms", "ratio"],
];

/** The comparison as a page. */
export function comparisonReport(
  comparison: Comparison,
  given: { readonly rounds: number; readonly runtime: string; readonly versions: Readonly<Record<string, string>> },
): string {
  const misses = missesOf(comparison);
  const tables = (Object.keys(headlines) as Compared[]).flatMap((name) => [
    `## ${headlines[name]}`,
    tableOf(comparison[name]),
  ]);
  const judged = misses.length === 0 ? "No figure misses." : misses.map((line) => `- ${line}`).join("\n");
  const versions = Object.entries(given.versions).map(([name, version]) => `${name} ${version}`);
  return [
    "# The service compared with frameworks",
    method(given.rounds, given.runtime),
    ...tables,
    "## What must hold",
    `${mustHold}\n\n${judged}`,
    "## Versions",
    `${wrapped(versions.join(", "))}.\n`,
  ].join("\n\n");
}

const mustHold = `This service is ahead of every framework in the bundle, the start and the first request, and takes at
most what Hono takes for a warm one.`;

function tableOf(by: Readonly<Record<Contestant, Figures>>): string {
  const rows = (Object.keys(contestants) as Contestant[]).map((contestant) => {
    const { kibibytes, gzipped, init_ms, first_ms, cold_ms, warm_ms } = by[contestant];
    return [
      contestants[contestant],
      `${kibibytes.toFixed(0)} / ${gzipped.toFixed(0)}`,
      (gzipped / by.ours.gzipped).toFixed(2),
      ...[init_ms, first_ms, cold_ms, warm_ms].flatMap((time) => cellsOf(time, contestant)),
    ];
  });
  const align = ["---", ...heads.slice(1).map(() => "---:")];
  return [heads, align, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function cellsOf({ ms, lowest, median, highest }: Ratio, contestant: Contestant): string[] {
  const ratio = `**${median.toFixed(2)}** (${lowest.toFixed(2)} to ${highest.toFixed(2)})`;
  return [ms.toFixed(2), contestant === "ours" ? "1" : ratio];
}

function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length >= 118) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

function method(rounds: number, runtime: string): string {
  return `Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${rounds} rounds under ${runtime}.

Every contestant does the same work: it counts the request against the rate limit, checks the caller, reads the client
or validates, decides and commits it in the same transaction with its event and audit, and answers the same bytes and
headers. The bench checks that before it measures: the answers are equal, and so are the units that DynamoDB reports.
The frameworks run the service's own decisions, schemas and items (\`peers/service.ts\`) with the AWS SDK as it is
published, one request to a bundle, which suits them; events, routes, bodies and replies are theirs, as their
documentation shows it. They do not check a body for what \`JSON.parse\` hides, look for an Idempotency-Key, bound
the time of a request or prepare an environment before its first request, as this service does.

Times are of the processor, without what waited: the start is what loading the bundle takes, with the warm-up request
that this service makes then; the warm request is the mean of many after as many others. In each round every contestant
is one new process, in a new random order, against a DynamoDB-compatible server on this machine. Milliseconds are
medians and belong to this machine; a ratio is that to this service in the same round: the median, and from the lowest
to the highest of the rounds.`;
}
