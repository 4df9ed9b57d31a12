import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { helpAsked, readArguments, UsageError, wholeNumber } from "../../../shared/runtime/command-line.ts";
import { request } from "../answered.ts";
import { parsed } from "../api-call.ts";
import type { SmokeOptions } from "./check.ts";
import { Finding } from "./finding.ts";
import { checks, type Result, type SmokeReport, smoke } from "./smoke.ts";

const help = `Checks a deployed stage from outside: what only a running deployment shows.

npm run smoke -- [options]
  --base-url <url>       address of the API with its version, the stack output ApiUrl (default: the running npm start)
  --client-id <id>       client id of an application with all scopes, or BROKERAGE_CLIENT_ID in the environment
  --client-secret <s>    its secret, or BROKERAGE_CLIENT_SECRET: an argument stays in the history of the shell
  --dashboard-url <url>  address of the dashboard, the stack output DashboardUrl; without it nothing is checked there
  --receiver <url>       public https address that answers 2xx to webhooks; without it the service posts to itself, and
                         on this machine to a receiver that the test starts
  --issuer <url>         claim iss of access tokens, when it is not the published one of the stage
  --audience <url>       claim aud of access tokens, likewise
  --only <list>          names of checks with commas between them
  --quick                leaves out what waits a minute or more: the ladder, revocation, schedules, the usage plan
  --time-scale <n>       that of npm start, whose business delays are so much shorter (default 1)
  --patience <seconds>   time for an event, a webhook or an index to appear (default 30)
  --production           agrees to making a client, an account and a deposit in production
  --json                 one JSON document instead of lines
  --help                 this text

Use an application of a brokerage of its own:
npm run application -- create --stage sandbox --brokerage new --name Smoke.
What was made is taken back as far as the API allows, and the rest is named. Ends with 0 when every check passed, with 1
when one failed, and with 2 when the test could not run.

Checks:
${checks.map(({ name, title, slow }) => `  ${name.padEnd(20)} ${title}${slow ? " (slow)" : ""}`).join("\n")}`;

const defaultPatienceSeconds = "30";
const answerLimitMs = 30_000;

/** Announcement of `npm start` about the service that it runs here. */
interface Ready {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly dashboard_url: string | null;
}

function localService(): Ready | undefined {
  const file = resolve(".local", "ready.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Ready) : undefined;
}

function urlOf(option: string, text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`--${option} must be a URL, not ${text}.`);
  return text.replace(/\/+$/, "");
}

/** Names of checks, in the order of the words. */
function checkNames(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !checks.some((check) => check.name === name));
  if (unknown === undefined) return names;
  throw new UsageError(`--only names "${unknown}"; the checks are ${checks.map(({ name }) => name).join(", ")}.`);
}

function optionsOf() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = readArguments({
    ...{ "base-url": text, "client-id": text, "client-secret": text, "dashboard-url": text, receiver: text },
    ...{ issuer: text, audience: text, only: text, quick: flag, production: flag, json: flag },
    "time-scale": { ...text, default: "1" },
    patience: { ...text, default: defaultPatienceSeconds },
  });
  const local = values["base-url"] === undefined ? localService() : undefined;
  const baseUrl = values["base-url"] ?? local?.base_url;
  if (baseUrl === undefined) throw new UsageError("No service runs here: npm start starts one, or give --base-url.");
  const clientId = values["client-id"] ?? process.env["BROKERAGE_CLIENT_ID"] ?? local?.client_id;
  const clientSecret = values["client-secret"] ?? process.env["BROKERAGE_CLIENT_SECRET"] ?? local?.client_secret;
  if (!clientId || !clientSecret) {
    throw new UsageError(`${baseUrl} needs BROKERAGE_CLIENT_ID and BROKERAGE_CLIENT_SECRET in the environment.`);
  }
  const dashboardUrl = values["dashboard-url"] ?? local?.dashboard_url ?? undefined;
  const options: SmokeOptions = {
    ...{ baseUrl: urlOf("base-url", baseUrl), clientId, clientSecret, quick: values.quick },
    ...{ issuer: values.issuer, audience: values.audience },
    dashboardUrl: dashboardUrl === undefined ? undefined : urlOf("dashboard-url", dashboardUrl),
    receiver: values.receiver === undefined ? undefined : urlOf("receiver", values.receiver),
    only: values.only === undefined ? undefined : checkNames(values.only),
    timeScale: wholeNumber("time-scale", values["time-scale"], 1, 100_000),
    patienceMs: 1000 * wholeNumber("patience", values.patience, 1, 600),
  };
  return { options, json: values.json, production: values.production };
}

/** In production the test leaves a closed client and entries in the ledger, so it has to be asked for. */
async function mustAgree({ baseUrl }: SmokeOptions, agreed: boolean): Promise<void> {
  const { text } = await request(answerLimitMs, `${baseUrl}/health`, {}).catch((error: Error) => {
    throw new UsageError(
      `${baseUrl} does not answer: ${error.cause instanceof Error ? error.cause.message : error.message}`,
    );
  });
  if (parsed(text)?.environment === "production" && !agreed) {
    throw new UsageError(
      "This is production, where a client, an account and a deposit would remain: add --production.",
    );
  }
}

const marks = { passed: "ok  ", failed: "FAIL", unseen: "?   ", skipped: "-   " } as const;

function line({ name, title, outcome, ms, detail, resources }: Result): string {
  const time = outcome === "skipped" ? "" : ` ${(ms / 1000).toFixed(1)} s`;
  if (outcome === "passed")
    return `${marks.passed} ${name}${time}: ${title}${detail === undefined ? "" : ` (${detail})`}`;
  const where = resources.map(({ type, id }) => `\n       look at ${id} (${type})`).join("");
  return `${marks[outcome]} ${name}${time}: ${outcome === "failed" ? `${title}\n     ${detail}` : detail}${where}`;
}

function summary({ results, remaining }: SmokeReport): string {
  const count = (outcome: Result["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const counts = (["passed", "failed", "unseen", "skipped"] as const)
    .map((each) => `${count(each)} ${each}`)
    .join(", ");
  const left = remaining.length === 0 ? "Nothing remains." : `Remains:\n  ${remaining.join("\n  ")}`;
  return `\n${counts}.\n${left}`;
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { options, json, production } = optionsOf();
  await mustAgree(options, production);
  if (!json) console.log(`Checking ${options.baseUrl}\n`);
  const report = await smoke(options, (result) => {
    if (!json) console.log(line(result));
  });
  console.log(json ? JSON.stringify({ base_url: options.baseUrl, ...report }, null, 2) : summary(report));
  if (report.results.some(({ outcome }) => outcome === "failed")) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  const isKnown = error instanceof UsageError || error instanceof Finding;
  const where =
    error instanceof Finding ? error.resources.map(({ type, id }) => `\n  look at ${id} (${type})`).join("") : "";
  console.error(isKnown ? `${error.message}${where}` : error);
  process.exitCode = 2;
}
