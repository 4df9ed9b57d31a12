import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Stage, stages } from "../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { FolderLock, isAlive, processName } from "../folder-lock.ts";
import { accessToken, send } from "../tools/api-call.ts";
import { type Cloud, operatorEnvironment, startCloud } from "./cloud.ts";
import { watchLauncher } from "./launcher.ts";
import type { ReadyUser } from "./pool/index.ts";
import { type Reference, serveReference } from "./reference.ts";
import { writePrivately } from "./state-file.ts";
import { synthesizeOnce } from "./synthesis.ts";
import { AssemblyError } from "./template/assembly.ts";
import { isRecord } from "./template/intrinsics.ts";

const help = `Runs the synthesized service on this machine, until Ctrl-C.

npm start -- [options]
  --port <n>         port of the API; 0 takes any free one (default 3000)
  --data <folder>    where everything is kept between runs (default .local/data)
  --fresh            forget what an earlier run left in that folder
  --time-scale <n>   business delays and schedules pass n times as fast (default 1)
  --strict-egress    webhooks reach public addresses only, as when deployed
  --stage <name>     stage to run (default sandbox)
  --help             this text

.local/ready.json holds the address and the credentials as long as the service runs; .local/logs the logs.`;

interface Options {
  readonly port: number;
  readonly data: string;
  readonly fresh: boolean;
  readonly timeScale: number;
  readonly strictEgress: boolean;
  readonly stage: Stage;
}

interface Demo {
  readonly tenant_id: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Users of the pool, who can sign in at once; absent in files of older versions. */
  readonly operators?: readonly DemoOperator[];
  /** Whether they are operators of the brokerage. */
  readonly invited?: true;
}

interface DemoOperator extends ReadyUser {
  readonly role: string;
}

const demoRoles = ["owner", "finance"] as const;

const localDir = resolve(".local");
const readyFile = join(localDir, "ready.json");
/** Read by `npm run application` and `npm run audit` with `--local`. */
const operatorFile = join(localDir, "operator.json");
const defaultData = join(localDir, "data");
const stopLimitMs = 4_500;

/** Throws a UsageError for what is wrong. */
function readOptions(): Options {
  const { values } = readArguments({
    port: { type: "string", default: "3000" },
    data: { type: "string", default: defaultData },
    fresh: { type: "boolean", default: false },
    "time-scale": { type: "string", default: "1" },
    "strict-egress": { type: "boolean", default: false },
    stage: { type: "string", default: "sandbox" },
  });
  const timeScale = Number(values["time-scale"]);
  if (!(timeScale >= 1 && timeScale <= 100_000))
    throw new UsageError("--time-scale must be a number from 1 to 100000.");
  const stage = oneOf("stage", values.stage, stages);
  return {
    port: wholeNumber("port", values.port, 0, 65_535),
    data: resolve(values.data),
    fresh: values.fresh,
    timeScale,
    strictEgress: values["strict-egress"],
    stage,
  };
}

/** Says what is done and how long it took. */
async function step<T>(text: string, work: () => Promise<T>): Promise<T> {
  const started = Date.now();
  const result = await work();
  console.log(`  ${text} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return result;
}

/** Where the default data folder keeps it, or inside any other one. */
function lockFile(data: string): string {
  return data === defaultData ? join(localDir, "pids") : join(data, "pids");
}

function forget(data: string): void {
  if (!existsSync(data)) return;
  for (const name of readdirSync(data)) {
    if (name !== "pids") rmSync(join(data, name), { recursive: true, force: true });
  }
}

/** Takes the data folder, starts the cloud and makes it ready for calls; returns what stops it all. */
async function start(options: Options): Promise<{ cloud: Cloud; stop: () => Promise<void> }> {
  mkdirSync(options.data, { recursive: true, mode: 0o700 });
  const folder = relative(process.cwd(), options.data);
  const lock = await FolderLock.take(lockFile(options.data), (pid) => {
    return `Another runner (process ${pid}) uses ${folder}; stop it first, or give --data.`;
  });
  let cloud: Cloud | undefined;
  let reference: Reference | undefined;
  const stop = async (): Promise<void> => {
    retract();
    reference?.stop();
    await cloud?.stop();
    lock.release();
  };
  try {
    retract();
    if (options.fresh) forget(options.data);
    const { stage, data, port, timeScale, strictEgress } = options;
    const assembly = await step(`synthesized the stage ${stage}`, () =>
      synthesizeOnce(stage, join(localDir, "cdk"), (text) => console.log(`  ${text}`)),
    );
    const running = await step("started the cloud", () =>
      startCloud({
        assemblyDir: assembly.directory,
        dataDir: data,
        logsDir: data === defaultData ? join(dirname(data), "logs") : join(data, "logs"),
        port,
        timeScale,
        strictEgress,
        onNews: (line) => console.log(`  ${line}`),
        onDenied: ({ functionName, action, resource }) =>
          console.log(`  AccessDenied: ${functionName} may not ${action} on ${resource}`),
      }),
    );
    cloud = running;
    lock.list(running.servers);
    const demo = await step("made the demo application and operators", () => demoOf(running, stage, data));
    const token = await step("got an access token", () => accessToken(running.baseUrl, demo));
    if (demo.invited === undefined) {
      await step("invited the demo operators", () => invite(running.baseUrl, token, demo));
      writePrivately(demoFile(stage, data), `${JSON.stringify({ ...demo, invited: true })}\n`);
    }
    reference = await serveReference(stage, running.baseUrl, port === 0 ? 0 : port + 1);
    announce(running, demo, reference);
    return { cloud: running, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function demoFile(stage: string, data: string): string {
  return join(data, `demo.${stage}.json`);
}

/** Makes the users of the pool operators of the brokerage, as the demo application may; the keys make it repeatable. */
async function invite(baseUrl: string, token: string, { operators = [] }: Demo): Promise<void> {
  for (const { email, role } of operators) {
    const { status, text } = await send(`${baseUrl}/operators`, "POST", {
      token,
      headers: { "Idempotency-Key": `demo-operator-${role}` },
      body: { email, name: `Demo ${role}`, role },
    });
    if (status >= 300) throw new Error(`${email} is not invited: ${status} ${text}`);
  }
}

/** The application and the operators of the first run of a stage on this data. */
async function demoOf(cloud: Cloud, stage: string, data: string): Promise<Demo> {
  const file = demoFile(stage, data);
  const kept: Demo | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  if (kept?.operators !== undefined) return kept;
  const demo = { ...(kept ?? (await demoApplication(cloud, stage))), operators: demoOperators(cloud) };
  writePrivately(file, `${JSON.stringify(demo)}\n`);
  return demo;
}

/** Users of the pool with a password and a second factor; those that the pool already has keep theirs. */
function demoOperators({ pool }: Cloud): DemoOperator[] {
  return demoRoles.flatMap((role) => {
    const made = pool?.makeReady(`${role}@demo.example`);
    return made === undefined ? [] : [{ role, ...made }];
  });
}

/** Made by the function that makes all applications. */
async function demoApplication(cloud: Cloud, stage: string): Promise<Demo> {
  const request = { action: "create_application", tenant_id: null, name: "Demo", scopes: null };
  const { payload, functionError } = await cloud.invoke(`brokerage-${stage}-provision`, request);
  if (functionError !== undefined || !isRecord(payload)) {
    throw new Error(`The demo application cannot be made: ${JSON.stringify(payload)}`);
  }
  const [tenant_id, client_id] = [String(payload["tenant_id"]), String(payload["client_id"])];
  return { tenant_id, client_id, client_secret: String(payload["client_secret"]) };
}

/**
 * Takes back what was announced, also by a runner that was killed: a process that waits for the file must not find the
 * old one. The announcement of a runner on other data stays as long as that one runs.
 */
function retract(): void {
  const announced = existsSync(readyFile) ? JSON.parse(readFileSync(readyFile, "utf8")) : undefined;
  if (announced !== undefined && announced.pid !== process.pid && isAlive(announced)) return;
  for (const file of [readyFile, operatorFile]) rmSync(file, { force: true });
}

/** Tells people and programs that everything can be called. */
function announce(cloud: Cloud, demo: Demo, { url }: Reference): void {
  const { tenant_id, client_id, client_secret, operators = [] } = demo;
  const sign_in = cloud.pool === undefined ? null : { ...cloud.pool.addresses, operators };
  const ready = {
    ...{ base_url: cloud.baseUrl, client_id, client_secret, tenant_id },
    ...processName(process.pid),
    ...{ reference_url: url, dashboard_url: cloud.dashboardUrl ?? null, sign_in },
    stream_url: cloud.streamUrl ?? null,
  };
  const people = operators.map(({ email, password, totp_secret }) => `${email}  ${password}  ${totp_secret}`);
  const bucket = { AUDIT_BUCKET_NAME: cloud.assembly.outputs["AuditBucketName"] };
  writePrivately(operatorFile, `${JSON.stringify({ ...operatorEnvironment(cloud), ...bucket }, null, 2)}\n`);
  writePrivately(readyFile, `${JSON.stringify(ready, null, 2)}\n`);
  console.log(`
Ready.
  base_url       ${cloud.baseUrl}
  client_id      ${client_id}
  client_secret  ${client_secret}
  tenant_id      ${tenant_id}
  reference      ${url}
  dashboard      ${cloud.dashboardUrl}
  stream         ${cloud.streamUrl}
  sign-in        issuer ${sign_in?.issuer}, client id ${sign_in?.client_id}
  operators      with password and key of the second factor (its code: npm run code -- <email>)
                 ${people.join("\n                 ")}
  The same is in ${relative(process.cwd(), readyFile)}. Ctrl-C stops it.`);
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const options = readOptions();
  console.log("Starting the service on this machine:");
  const asked = new Promise<string>((resolveSignal) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolveSignal(signal));
    watchLauncher(() => resolveSignal("the end of npm"));
  });
  const starting = start(options);
  const running = await Promise.race([starting, asked]);
  // A signal to end ends the start at once: everything it started ends with it.
  if (typeof running === "string") process.exit(1);
  const reason = await Promise.race([asked, running.cloud.failed.catch((error: Error) => error)]);
  console.log(`\nStopping after ${reason instanceof Error ? `a failure: ${reason.message}` : reason} ...`);
  await Promise.race([running.stop(), new Promise((next) => setTimeout(next, stopLimitMs))]);
  console.log("Stopped.");
  process.exit(reason instanceof Error ? 1 : 0);
}

/** The error that stops the start, in words for the person who typed the command. */
function explained(error: unknown): unknown {
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  return taken ? new UsageError("The port is taken; give another one with --port, or --port 0 for any.") : error;
}

try {
  await main();
} catch (thrown) {
  const error = explained(thrown);
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) console.error(text);
  else console.error(error instanceof AssemblyError ? `\n${text}` : `\nThe service could not be started. ${text}`);
  process.exit(1);
}
