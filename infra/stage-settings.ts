import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { tokenClaims } from "../shared/hosts.ts";
import { type Stage, stages } from "../shared/routes/route.ts";
import { settingsFile, settingsVariable } from "./settings-file.ts";
import { apiVersion, type StageConfig } from "./stages.ts";

/** Settings that cannot be used; the message names the place and what belongs there. */
export class SettingsError extends Error {}

const domainPattern = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;
const domain = z
  .string("a domain name such as api.example.com")
  .check(z.regex(domainPattern, "a domain name in lower case"));
const email = z.string("an email address").check(z.regex(/^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$/, "an email address"));
const emails = z.array(email, "a list of email addresses").check(z.maxLength(10, "a list of at most 10"));
const origin = z
  .string("an origin such as https://example.com")
  .check(z.regex(/^https:\/\/[^/\s]+$/, "an origin with https and without a path, such as https://example.com"));

/** ARN of a certificate of ACM in one region, or in any but China. */
function certificate(region: string, named: string) {
  const pattern = new RegExp(`^arn:aws(?:-cn)?:acm:${region}:\\d{12}:certificate/[\\w-]+$`);
  return z.string(named).check(z.regex(pattern, named));
}

function whole(least: number, most: number) {
  const named = `a whole number from ${least} to ${most}`;
  return z.number(named).check(z.int(named), z.minimum(least, named), z.maximum(most, named));
}

const regionNamed = "a region of AWS such as eu-central-1";

const streamNamed = "the ARN of the stream of a restored table";
const tableStream = /^arn:aws(?:-cn)?:dynamodb:[a-z0-9-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/;

/** Lambda accepts no maximum concurrency of an event source below 2 (AWS docs: scaling of SQS event sources). */
const sourceConcurrency = z.optional(whole(2, 1000));

const Settings = z.strictObject(
  {
    api: z.optional(
      z.strictObject(
        { domain, certificate_arn: certificate("[a-z0-9-]+", "the ARN of a certificate in the region of the stage") },
        "an object with domain and certificate_arn",
      ),
    ),
    stream: z.optional(
      z.strictObject(
        { domain, certificate_arn: certificate("[a-z0-9-]+", "the ARN of a certificate in the region of the stage") },
        "an object with domain and certificate_arn",
      ),
    ),
    dashboard: z.optional(
      z.strictObject(
        { domain, certificate_arn: certificate("us-east-1", "the ARN of a certificate in us-east-1") },
        "an object with domain and certificate_arn",
      ),
    ),
    alarm_emails: z.optional(emails),
    invitations_from: z.optional(email),
    sign_in_origins: z.optional(z.array(origin, "a list of origins")),
    monthly_budget_usd: z.optional(whole(1, 1_000_000)),
    concurrency: z.optional(
      z.strictObject(
        {
          first_deliveries: sourceConcurrency,
          unproven_deliveries: sourceConcurrency,
          retries: sourceConcurrency,
          publishing: sourceConcurrency,
          fan_out: sourceConcurrency,
          evaluations: sourceConcurrency,
          stream: sourceConcurrency,
        },
        "an object with numbers of invocations",
      ),
    ),
    stream_shards: z.optional(whole(1, 10_000)),
    copy_region: z.optional(z.string(regionNamed).check(z.regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, regionNamed))),
    table_stream: z.optional(z.string(streamNamed).check(z.regex(tableStream, streamNamed))),
    keep_warm: z.optional(z.boolean("true or false")),
  },
  "an object with settings",
);

/** Settings that differ from account to account; names as in the file. */
export type StageSettings = z.infer<typeof Settings>;

/** One sentence about the first fault of the settings of a stage. */
function faultOf(place: string, issue: z.core.$ZodIssue): string {
  const path = [place, ...issue.path.map(String)].join(".");
  if (issue.code === "unrecognized_keys") return `${path} has no setting "${issue.keys[0]}".`;
  return `${path} must be ${issue.message}.`;
}

/**
 * The settings in a text of JSON, by stage.
 * @param text JSON: an object with a member for each stage that has settings
 * @param source what the text is called in messages
 * @throws SettingsError one sentence that names the member at fault
 */
export function parseSettings(text: string, source: string): Readonly<Partial<Record<Stage, StageSettings>>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SettingsError(`${source} is not valid JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SettingsError(`${source} must be an object with the members ${stages.join(" and ")}.`);
  }
  const unknown = Object.keys(value).find((name) => !stages.some((stage) => stage === name));
  if (unknown !== undefined) {
    throw new SettingsError(`${source} has no stage "${unknown}"; the stages are ${stages.join(" and ")}.`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([stage, settings]) => {
      const checked = Settings.safeParse(settings);
      if (checked.success) return [stage, checked.data];
      const [issue] = checked.error.issues;
      throw new SettingsError(issue === undefined ? `${source} is not valid.` : faultOf(`${source}: ${stage}`, issue));
    }),
  );
}

/**
 * The settings of a stage: those of the environment, or else those of the file; empty where neither has any.
 * @throws SettingsError when they cannot be used
 */
export function readSettings(stage: string, folder: string, env: Readonly<NodeJS.ProcessEnv>): StageSettings {
  const file = join(folder, settingsFile);
  const given = env[settingsVariable];
  const read = () => {
    if (given !== undefined && given !== "") return parseSettings(given, settingsVariable);
    return existsSync(file) ? parseSettings(readFileSync(file, "utf8"), settingsFile) : {};
  };
  return read()[stage as Stage] ?? {};
}

/** The configuration of a stage with the settings of an account in the places that they are for. */
export function withSettings(config: StageConfig, settings: StageSettings): StageConfig {
  const { api, stream, dashboard, alarm_emails, invitations_from, sign_in_origins, monthly_budget_usd } = settings;
  const { copy_region, table_stream, keep_warm } = settings;
  return {
    ...config,
    ...(api !== undefined && withDomain(api)),
    ...(stream !== undefined && { stream: { domain: stream.domain, certificateArn: stream.certificate_arn } }),
    ...(dashboard !== undefined && {
      dashboard: { domain: dashboard.domain, certificateArn: dashboard.certificate_arn },
    }),
    ...(alarm_emails !== undefined && { alarmEmails: alarm_emails }),
    ...(invitations_from !== undefined && { mailFrom: invitations_from }),
    ...(sign_in_origins !== undefined && { signInOrigins: sign_in_origins }),
    ...(monthly_budget_usd !== undefined && { monthlyBudgetUsd: monthly_budget_usd }),
    ...(copy_region !== undefined && { copyRegion: copy_region }),
    ...(table_stream !== undefined && { tableStream: table_stream }),
    ...(keep_warm !== undefined && { keepWarm: keep_warm }),
    ...concurrencyOf(config, settings),
  };
}

/** Tokens name the address that callers use. */
function withDomain(api: NonNullable<StageSettings["api"]>): Partial<StageConfig> {
  const { issuer, audience } = tokenClaims(`https://${api.domain}/${apiVersion}`);
  return {
    api: { domain: api.domain, certificateArn: api.certificate_arn },
    tokenIssuer: issuer,
    tokenAudience: audience,
  };
}

function concurrencyOf(config: StageConfig, { concurrency = {}, stream_shards }: StageSettings): Partial<StageConfig> {
  const { deliveries, publishing, evaluations, streaming } = config;
  return {
    deliveries: {
      firstConcurrency: concurrency.first_deliveries ?? deliveries.firstConcurrency,
      unprovenConcurrency: concurrency.unproven_deliveries ?? deliveries.unprovenConcurrency,
      retryConcurrency: concurrency.retries ?? deliveries.retryConcurrency,
    },
    publishing: {
      ...publishing,
      concurrency: concurrency.publishing ?? publishing.concurrency,
      fanOutConcurrency: concurrency.fan_out ?? publishing.fanOutConcurrency,
      streamShards: stream_shards ?? publishing.streamShards,
    },
    evaluations: { concurrency: concurrency.evaluations ?? evaluations.concurrency },
    streaming: { ...streaming, concurrency: concurrency.stream ?? streaming.concurrency },
  };
}

/** Invocations that a stage reserves for each of these functions, by the id of the function. */
export function reservedConcurrency(config: StageConfig): Readonly<Record<string, number>> {
  const { firstConcurrency, unprovenConcurrency, retryConcurrency } = config.deliveries;
  const { concurrency, fanOutConcurrency, refusalConcurrency } = config.publishing;
  return {
    authorize: config.reserved.authorizer,
    route: config.reserved.router,
    deliver: firstConcurrency + unprovenConcurrency + 3 * retryConcurrency,
    publish: concurrency,
    "fan-out": fanOutConcurrency,
    "record-refusals": refusalConcurrency,
    evaluate: config.evaluations.concurrency,
    "stream-deliver": config.streaming.concurrency,
  };
}

/** Missing settings of a deployment with this configuration, as sentences. */
export function settingsWarnings({ stage, alarmEmails }: StageConfig): string[] {
  if (alarmEmails.length > 0) return [];
  return [
    `No alarm of the stage ${stage} reaches a person: name alarm_emails of ${stage} in ${settingsFile}, and confirm ` +
      "the subscription that AWS sends to each address.",
  ];
}
