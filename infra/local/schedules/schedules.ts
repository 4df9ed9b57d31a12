import type { FunctionDefinition, InvocationOutcome } from "../functions/functions.ts";
import type { Permissions } from "../iam/permissions.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

/** Surroundings of the schedules. */
export interface ScheduleHost {
  find(nameOrArn: string): FunctionDefinition | undefined;
  invoke(name: string, event: unknown): Promise<InvocationOutcome>;
  readonly permissions: Permissions;
  /** How much faster intervals pass. */
  readonly timeScale: number;
  /** Whether each schedule has its first turn at once. */
  readonly schedulesAtStart: boolean;
}

/** A thing that is done again and again. */
export interface Schedule {
  readonly path: string;
  readonly function: FunctionDefinition;
  readonly event: unknown;
  /** Between two turns, before the time scale. */
  readonly interval_ms: number;
}

/** Something that runs on a clock until it is stopped. */
export interface Ticking {
  stop(): void;
}

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** At a large time scale more frequent turns would take the processor time that the functions need. */
const leastIntervalMs = 1000;
/** Timers of Node take less than 25 days, so long waits are made of short ones. */
const longestTimerMs = 3_600_000;

/** Milliseconds of `rate(5 minutes)`; throws an AssemblyError for other expressions. */
export function rateMs(expression: unknown, path: string): number {
  const [, count = "", unit = ""] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(String(expression)) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms > 0) return ms;
  throw new AssemblyError(path, `the schedule expression ${String(expression)} is not known to the local runner`);
}

const targetParts: Readonly<Record<string, string>> = {
  Arn: "read",
  RoleArn: "read",
  Input: "read",
  RetryPolicy: "an invocation is always taken here; the next turn does the work of one that failed",
  DeadLetterConfig: "an invocation is always taken here",
};

/**
 * Reads a schedule and checks that its role may invoke the function; undefined for a disabled one. Throws an
 * AssemblyError for what is not understood or not allowed.
 */
export async function readSchedule(resource: Resource, host: ScheduleHost): Promise<Schedule | undefined> {
  const { properties, path, physical_id } = resource;
  const { Target: target, FlexibleTimeWindow: window } = properties;
  if (properties["State"] === "DISABLED") return undefined;
  if (!isRecord(target) || !isRecord(window) || window["Mode"] !== "OFF") {
    throw new AssemblyError(path, "a schedule needs a target and no flexible time window");
  }
  const unknown = Object.keys(target).find((key) => !(key in targetParts));
  if (unknown !== undefined) throw new AssemblyError(path, `the target property ${unknown} is not known`);
  const definition = host.find(String(target["Arn"]));
  if (definition === undefined) throw new AssemblyError(path, "the target is no function of the template");
  const access = { action: "lambda:InvokeFunction", resource: definition.arn };
  const decision = await host.permissions.decide(String(target["RoleArn"]), physical_id, access);
  if (!decision.allowed) throw new AssemblyError(path, `the role may not invoke ${definition.name}`);
  const event: unknown = target["Input"] === undefined ? {} : JSON.parse(String(target["Input"]));
  return { path, function: definition, event, interval_ms: rateMs(properties["ScheduleExpression"], path) };
}

/**
 * Runs a schedule: at once, as after its creation on AWS, unless the host says otherwise, and then at its rate. A turn
 * that is not done skips the next.
 */
export function startSchedule(schedule: Schedule, host: ScheduleHost): Ticking {
  const interval = Math.max(leastIntervalMs, schedule.interval_ms / host.timeScale);
  let stopped = false;
  let busy = false;
  const turn = async (): Promise<void> => {
    if (busy || stopped) return;
    busy = true;
    try {
      await host.invoke(schedule.function.arn, schedule.event);
    } catch {
      // The function's log tells; the next turn does the same work.
    } finally {
      busy = false;
    }
  };
  const first = host.schedulesAtStart ? setImmediate(() => void turn()) : undefined;
  const timer = setInterval(() => void turn(), interval);
  return {
    stop: () => {
      stopped = true;
      clearImmediate(first);
      clearInterval(timer);
    },
  };
}

/** A secret that a function makes anew from time to time. */
export interface Rotation {
  readonly path: string;
  readonly secret_arn: string;
  readonly function: FunctionDefinition;
  readonly interval_ms: number;
  readonly at_creation: boolean;
}

/**
 * Reads a rotation and checks that Secrets Manager may invoke the function. Throws an AssemblyError like
 * `readSchedule`.
 */
export function readRotation(resource: Resource, all: readonly Resource[], host: ScheduleHost): Rotation {
  const { properties, path } = resource;
  const definition = host.find(String(properties["RotationLambdaARN"]));
  const secret_arn = String(properties["SecretId"]);
  const rules = properties["RotationRules"];
  if (definition === undefined) throw new AssemblyError(path, "the rotation function is not in the template");
  if (!isRecord(rules)) throw new AssemblyError(path, "the rotation has no rules");
  const unknown = Object.keys(rules).find((key) => !["AutomaticallyAfterDays", "ScheduleExpression"].includes(key));
  if (unknown !== undefined) throw new AssemblyError(path, `the rotation rule ${unknown} is not known`);
  const permitted = all.some(({ type, properties: given }) => {
    if (type !== "AWS::Lambda::Permission" || given["Principal"] !== "secretsmanager.amazonaws.com") return false;
    const source = given["SourceArn"];
    return host.find(String(given["FunctionName"])) === definition && (source === undefined || source === secret_arn);
  });
  if (!permitted) throw new AssemblyError(path, `Secrets Manager has no permission to invoke ${definition.name}`);
  const { AutomaticallyAfterDays: days, ScheduleExpression: expression } = rules;
  const interval_ms = days === undefined ? rateMs(expression, path) : Number(days) * (unitMs["day"] ?? 0);
  const at_creation = properties["RotateImmediatelyOnUpdate"] !== false;
  return { path, secret_arn, function: definition, interval_ms, at_creation };
}

const steps = ["createSecret", "setSecret", "testSecret", "finishSecret"] as const;
const firstRetryMs = 250;
const maxRetryMs = 60_000;

/**
 * Rotates a secret by the four steps of its function (AWS docs: rotation by Lambda function). Throws when one fails.
 */
export async function rotate(rotation: Rotation, secrets: Secrets, host: ScheduleHost): Promise<void> {
  const token = secrets.startRotation(rotation.secret_arn);
  for (const Step of steps) {
    const event = { Step, SecretId: rotation.secret_arn, ClientRequestToken: token };
    const { payload, functionError } = await host.invoke(rotation.function.arn, event);
    if (functionError === undefined) continue;
    const why = isRecord(payload) ? String(payload["errorMessage"]) : "no answer";
    throw new Error(`${rotation.path}: ${Step} failed: ${why}`);
  }
  secrets.finishRotation(rotation.secret_arn);
}

/** Rotates a new secret at once and every secret when its time has come; a failed rotation is tried again. */
export function startRotation(rotation: Rotation, secrets: Secrets, host: ScheduleHost): Ticking {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  const interval = Math.max(leastIntervalMs, rotation.interval_ms / host.timeScale);
  const born = Date.now();
  const turn = async (): Promise<void> => {
    const last = secrets.lastRotatedMs(rotation.secret_arn);
    const since = last ?? (rotation.at_creation ? 0 : born);
    let wait = since + interval - Date.now();
    if (wait <= 0) {
      try {
        await rotate(rotation, secrets, host);
        failures = 0;
        wait = interval;
      } catch (error) {
        failures += 1;
        wait = Math.min(maxRetryMs, firstRetryMs * 2 ** failures);
        if (!stopped) process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      }
    }
    if (!stopped) timer = setTimeout(() => void turn(), Math.min(wait, longestTimerMs));
  };
  void turn();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
