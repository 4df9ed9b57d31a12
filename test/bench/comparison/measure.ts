import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { routes } from "../../../shared/routes/index.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { Progress } from "../functions/progress.ts";
import { type Sample, type ShownAnswer, type Subject, sample, shuffled } from "../measure.ts";
import type { Workload } from "../workload.ts";
import { bundleContestants, bundleOf, type Compared, type Contestant, compared, contestants } from "./bundles.ts";
import { type Comparison, type Figures, type Round, ratioOf, type Taken, type Time } from "./figures.ts";
import { peerPackages } from "./packages.ts";

/** Requests before those that are measured, and as many of these. */
const warm: Readonly<Record<Compared, number>> = { "get-client": 200, "create-client": 80 };
const all = Object.keys(contestants) as Contestant[];
const requests = Object.keys(compared) as Compared[];
const times: readonly Time[] = ["init_ms", "first_ms", "cold_ms", "warm_ms"];

/**
 * Measures every contestant on the same requests, a new process for each in every round, in a new order each time.
 * Before that it checks that all of them do the same work and answer the same.
 * @throws Error when one of them does not
 */
export async function compare(workload: Workload, rounds: number): Promise<Comparison> {
  const outdir = await mkdtemp(join(tmpdir(), "bench-peers-"));
  try {
    await bundleContestants(outdir, await peerPackages((line) => process.stderr.write(`${line}\n`)));
    for (const name of requests) await assertSameWork(workload, outdir, name);
    const progress = new Progress("peers", rounds * requests.length * all.length);
    const taken: Record<Compared, Round[]> = { "get-client": [], "create-client": [] };
    for (let made = 0; made < rounds; made += 1) {
      const round = new Map<string, Taken>();
      for (const [name, contestant] of shuffled(requests.flatMap((each) => all.map((one) => [each, one] as const)))) {
        round.set(`${name} ${contestant}`, await takenBy(workload, outdir, name, contestant));
        progress.step();
      }
      for (const name of requests) {
        taken[name].push(Object.fromEntries(all.map((one) => [one, round.get(`${name} ${one}`)])) as Round);
      }
    }
    const entries = requests.map(async (name) => [name, await figuresOf(outdir, name, taken[name])] as const);
    return Object.fromEntries(await Promise.all(entries)) as Comparison;
  } finally {
    await rm(outdir, { recursive: true, force: true });
  }
}

async function takenBy(workload: Workload, outdir: string, name: Compared, contestant: Contestant): Promise<Taken> {
  const more: unknown[] = [];
  // A client is created once, so each of these requests is another one.
  if (name === "create-client") while (more.length < 2 * warm[name]) more.push(await eventFor(workload, name));
  const subject = subjectOf(workload, outdir, name, contestant);
  const { import_ms, first_ms = 0, warm_us = 0 } = await sample(subject, { warm: warm[name], more });
  return { init_ms: import_ms, first_ms, warm_ms: warm_us / 1000 };
}

async function figuresOf(outdir: string, name: Compared, rounds: readonly Round[]) {
  const figures: [Contestant, Figures][] = [];
  for (const contestant of all) {
    const bytes = await readFile(bundleOf(outdir, contestant, name));
    const measured = Object.fromEntries(times.map((time) => [time, ratioOf(rounds, contestant, time)]));
    const size = { kibibytes: bytes.length / 1024, gzipped: gzipSync(bytes).length / 1024 };
    figures.push([contestant, { ...(measured as Record<Time, Figures[Time]>), ...size }]);
  }
  return Object.fromEntries(figures) as Record<Contestant, Figures>;
}

function subjectOf(workload: Workload, outdir: string, name: Compared, contestant: Contestant): Subject {
  const file = bundleOf(outdir, contestant, name);
  return {
    name: `${contestants[contestant]}, ${name}`,
    module: pathToFileURL(file).href,
    event: () => eventFor(workload, name),
    environment: workload.environment,
  };
}

function eventFor(workload: Workload, name: Compared): Promise<unknown> {
  return workload.eventFor(compared[name]);
}

/** One request of every contestant: all ask DynamoDB for the same, and answer the same bytes and headers. */
async function assertSameWork(workload: Workload, outdir: string, name: Compared): Promise<void> {
  const row = routes.find(({ file }) => file === compared[name]);
  const expected = row && (await workload.callsOf(row));
  if (expected === undefined) throw new Error(`The bench has no request of ${name}.`);
  const { watched } = workload.api;
  const environment = { ...workload.environment, AWS_ENDPOINT_URL_DYNAMODB: watched.endpoint };
  let ours: ReturnType<typeof comparable> | undefined;
  for (const contestant of all) {
    watched.takeCalls();
    const shown = await sample({ ...subjectOf(workload, outdir, name, contestant), environment }, { shown: true });
    const calls = watched.takeCalls().filter(({ input }) => !JSON.stringify(input).includes("brk_prime"));
    const answer = comparable(shown);
    ours ??= answer;
    const missing = Object.entries(ours.headers).filter(([header, value]) => answer.headers[header] !== value);
    if (answer.body !== ours.body || missing.length > 0) {
      throw new Error(`${contestants[contestant]} answers ${name} otherwise: ${JSON.stringify({ answer, ours })}`);
    }
    const isOurs = contestant === "ours" || contestant === "published";
    if (!isOurs && unitsOf(calls) !== unitsOf(expected.calls)) {
      throw new Error(`${contestants[contestant]} takes ${unitsOf(calls)} units, ours ${unitsOf(expected.calls)}.`);
    }
  }
}

/** The part of an answer that must be the same: all but what belongs to one request and one client alone. */
function comparable({ answer }: Sample) {
  if (answer === undefined) throw new Error("The sample shows no answer.");
  const { headers = {}, multiValueHeaders = {}, body, isBase64Encoded } = answer satisfies ShownAnswer;
  const single = Object.entries(multiValueHeaders).map(([name, values]) => [name, values.join(", ")]);
  const given = Object.entries({ ...Object.fromEntries(single), ...headers });
  const lower = given.map(([name, value]) => [name.toLowerCase(), anonymous(String(value))] as const);
  const own = new Set(["x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"]);
  return {
    headers: Object.fromEntries(lower.filter(([name]) => !own.has(name))),
    body: anonymous(isBase64Encoded ? Buffer.from(body, "base64").toString() : body),
  };
}

function anonymous(text: string): string {
  return (
    text
      .replace(/cli_[0-9A-Z]{26}/g, "<id>")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replace(/client-\d+@/g, "<name>@")
      .replace(/^"1-[0-9a-f]{8}"$/, "<tag>")
      // Some frameworks add it to a type of JSON, which has no such parameter (RFC 8259 11).
      .replace(/^(application\/json); charset=utf-8$/, "$1")
  );
}
