import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { SealedDay } from "../../../shared/domain/audit/seal.ts";
import { stages } from "../../../shared/routes/route.ts";
import { helpAsked, readArguments, runCommand, UsageError } from "../../../shared/runtime/command-line.ts";
import { functionName } from "../../stages.ts";
import { invokeFunction, localRunner, noService } from "../operator.ts";
import { bucketSource, type ExportSource, folderSource } from "./days.ts";
import { type BrokerageReport, verifyExport } from "./verify.ts";

const help = `Checks the audit log as it was exported, by its own hashes: no service and no table is asked.

npm run audit -- verify [options]   checks sealed days and names the first entry or object at fault
  --bucket <name>    bucket of the export (output AuditBucketName of the stack)
  --dir <folder>     copy of the bucket in a folder, instead of a bucket
  --local            bucket of the service that npm start runs here
  --brokerage <id>   checks the days of this brokerage alone
  --head <hash>      hash that an event audit.sealed announced: one of the days must end with it

npm run audit -- seal [options]     seals the days that are over now; the service does it every hour
  --stage <stage>    stage to seal, ${stages.join(" or ")} (default sandbox)
  --local            on the service that npm start runs here, instead of AWS

  --help             this text

On AWS your credentials must allow s3:ListBucket and s3:GetObject, or lambda:InvokeFunction. verify ends with 0 when
everything is in order, with 2 when something is at fault, and with 1 when it could not check.`;

const broken = 2;
const betweenLinesMs = 2000;

interface Given {
  readonly bucket?: string | undefined;
  readonly dir?: string | undefined;
  readonly local: boolean;
}

/** Where the export lies that the arguments name; throws a UsageError unless it is one place. */
function sourceOf({ bucket, dir, local }: Given): ExportSource {
  if ([bucket !== undefined, dir !== undefined, local].filter(Boolean).length !== 1) {
    throw new UsageError("verify needs one of --bucket, --dir and --local.");
  }
  if (dir !== undefined) {
    if (!existsSync(dir)) throw new UsageError(`There is no folder ${dir}.`);
    return folderSource(resolve(dir));
  }
  if (bucket !== undefined) return bucketSource(bucket, {});
  const { config, audit_bucket } = localRunner();
  return bucketSource(audit_bucket, config);
}

/** Prefix of the keys of a brokerage, or of all; throws a UsageError for any other word. */
function prefixOf(brokerage: string | undefined): string {
  if (brokerage === undefined) return "";
  if (/^brk_[0-9A-HJKMNP-TV-Z]{26}$/.test(brokerage)) return `${brokerage}/`;
  throw new UsageError("--brokerage must be the id of a brokerage, brk_ and 26 characters.");
}

/** Tells on the error output how far a long check is, a line every two seconds. */
function progressLines(): (brokerage: string, day: string, entries: number) => void {
  let last = Date.now();
  return (brokerage, day, entries) => {
    if (Date.now() - last < betweenLinesMs) return;
    last = Date.now();
    process.stderr.write(`${brokerage}: ${day}, ${entries} entries\n`);
  };
}

function linesOf({ brokerage, days, entries, first, last, fault, unsealed }: BrokerageReport): string[] {
  const range = first && last ? `${days} days, ${first.day} to ${last.day}, ${entries} entries` : "no sealed day";
  const since = first === undefined || first.start.sequence === "0" ? "" : `, after entry ${first.start.sequence}`;
  const head = last === undefined ? [] : [`  head ${last.head.sequence} ${last.head.hash}`];
  if (fault !== undefined) {
    const { key, line, what } = fault;
    const place = line === undefined ? key : `${key}, line ${line}`;
    return [`BROKEN  ${brokerage}: ${what}`, `  ${place}`, `  in order before it: ${range}`];
  }
  const open = unsealed === undefined ? [] : [`  ${unsealed} is not sealed yet`];
  return [`intact  ${brokerage}: ${range}${since}`, ...head, ...open];
}

async function verify(source: ExportSource, prefix: string, head: string | undefined): Promise<void> {
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head)) {
    throw new UsageError("--head must be a hash of 64 hexadecimal digits.");
  }
  let withHead: SealedDay | undefined;
  const sealed = (day: SealedDay) => {
    if (day.head.hash === head) withHead = day;
  };
  let found = 0;
  let faults = 0;
  for await (const report of verifyExport(source, { prefix, progress: progressLines(), sealed })) {
    found += 1;
    faults += report.fault === undefined ? 0 : 1;
    console.log(linesOf(report).join("\n"));
  }
  if (found === 0) throw new UsageError(`There is no sealed day in ${source.name}: a day is sealed after its end.`);
  if (head !== undefined && withHead === undefined) {
    faults += 1;
    console.log(`BROKEN  no day in order ends with the head ${head}`);
  } else if (withHead !== undefined) {
    console.log(`  ${withHead.brokerage_id} ends ${withHead.day} with the head that was given`);
  }
  if (faults > 0) process.exitCode = broken;
}

async function seal(stage: string, local: boolean): Promise<void> {
  const known = stages.find((each) => each === stage);
  if (known === undefined) throw new UsageError(`--stage must be ${stages.join(" or ")}, not "${stage}".`);
  const config = local ? localRunner().config : {};
  const done = await invokeFunction(functionName(known, "seal-audit"), { action: "seal" }, config);
  console.log(JSON.stringify(done));
}

/** What keeps a bucket from being read, as a sentence that says what to do. */
function explained(error: unknown): unknown {
  if (error instanceof UsageError || !(error instanceof Error)) return error;
  if ("code" in error && error.code === "ECONNREFUSED") return new UsageError(noService);
  if (error.name === "CredentialsProviderError") {
    return new UsageError("There are no AWS credentials: sign in to AWS, or use --local or --dir.");
  }
  if (error.message === "Region is missing") return new UsageError("No AWS region is set: set AWS_REGION.");
  if ("$metadata" in error) return new UsageError(`The bucket could not be read: ${error.message}`);
  return error;
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      bucket: { type: "string" },
      dir: { type: "string" },
      local: { type: "boolean", default: false },
      brokerage: { type: "string" },
      head: { type: "string" },
      stage: { type: "string", default: "sandbox" },
    },
    { positionals: 1 },
  );
  const [command] = positionals;
  // The SDK announces which Node it will want one day; that is no matter of this command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  if (command === "seal") return seal(values.stage, values.local);
  if (command !== "verify") {
    const given = command === undefined ? "" : `, not "${command}"`;
    throw new UsageError(`The first argument must be verify or seal${given}.`);
  }
  await verify(sourceOf(values), prefixOf(values.brokerage), values.head).catch((error: unknown) => {
    throw explained(error);
  });
});
