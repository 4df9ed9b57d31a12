import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isDay } from "../../../shared/calendar.ts";
import { sealedWithinSeconds } from "../../../shared/domain/audit/export-check.ts";
import { lastDayOver, type SealedDay } from "../../../shared/domain/audit/seal.ts";
import { stages } from "../../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, runCommand, UsageError } from "../../../shared/runtime/command-line.ts";
import { functionName } from "../../stages.ts";
import { awsAdvice, invokeFunction, localRunner } from "../operator.ts";
import { bucketSource, type ExportSource, folderSource } from "./days.ts";
import { checkHistory } from "./history.ts";
import { type BrokerageReport, verifyExport } from "./verify.ts";

const help = `Checks the audit log as it was exported, by its own hashes: no service and no table is asked.

npm run audit -- verify [options]   checks sealed days and names the first entry or object at fault
  --bucket <name>    bucket of the export (output AuditBucketName of the stack)
  --dir <folder>     copy of the bucket in a folder, instead of a bucket
  --local            bucket of the service that npm start runs here
  --brokerage <id>   checks the days of this brokerage alone, which must be there; may be given again
  --head <hash>      hash that an event audit.sealed announced: one of the days must end with it; <brokerage>=<hash>
                     names the brokerage, and the option may be given for each of them
  --until <day>      the days must reach this one, 2026-11-23 (default the last day that must be sealed by now): for a
                     copy that was made before

npm run audit -- seal [options]     seals the days that are over now; the service does it every hour
  --stage <stage>    stage to seal, ${stages.join(" or ")} (default sandbox)
  --local            on the service that npm start runs here, instead of AWS

  --help             this text

intact: the last day ends with a head that was given, which proves all entries before it. linked: the entries and days
are whole and follow each other, but a chain that was written again as a whole would be too; give the newest head.
A brokerage all of whose objects are gone is missed only if --brokerage or --head names it. An object with a delete
marker or a second version is BROKEN; NOT CHECKED tells that there are no versions to look at.

On AWS your credentials must allow s3:ListBucket, s3:ListBucketVersions, s3:GetBucketObjectLockConfiguration and
s3:GetObject, or lambda:InvokeFunction. verify ends with 0 when
everything is in order, with 2 when something is at fault, and with 1 when it could not check.`;

const unseen = "an object that was deleted or written again is found by its versions, in the bucket on AWS alone";

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

const brokerageForm = /^brk_[0-9A-HJKMNP-TV-Z]{26}$/;

/** The brokerages that are named, each once; throws a UsageError for any other word. */
function brokeragesOf(words: readonly string[]): string[] {
  if (words.every((word) => brokerageForm.test(word))) return [...new Set(words)];
  throw new UsageError("--brokerage must be the id of a brokerage, brk_ and 26 characters.");
}

/** A head that an event announced, and the day that was found to end with it. */
interface Head {
  /** Absent where none was named: then any brokerage may have it. */
  readonly brokerage?: string;
  readonly hash: string;
  found?: SealedDay;
}

/** The heads that are named; throws a UsageError for any other word. */
function headsOf(words: readonly string[]): Head[] {
  return words.map((word) => {
    const [hash = "", brokerage, ...more] = word.split("=").reverse();
    const isNamed = brokerage === undefined || (brokerageForm.test(brokerage) && more.length === 0);
    if (!isNamed || !/^[0-9a-f]{64}$/.test(hash)) {
      throw new UsageError("--head must be a hash of 64 hexadecimal digits, or <brokerage>=<hash>.");
    }
    return brokerage === undefined ? { hash } : { brokerage, hash };
  });
}

/** The day that each brokerage must reach; throws a UsageError for a word that is no day, or one that is not over. */
function untilOf(word: string | undefined): string {
  const now = new Date().toISOString();
  if (word === undefined) return lastDayOver(now, sealedWithinSeconds);
  if (isDay(word) && word <= lastDayOver(now, 0)) return word;
  throw new UsageError("--until must be a day that is over, such as 2026-11-22.");
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

/** Lines of the report on a brokerage; `proven` is the newest of its days that ends with a head that was given. */
function linesOf(report: BrokerageReport, proven: SealedDay | undefined): string[] {
  const { brokerage, days, entries, first, last, faults, unsealed } = report;
  const range = first && last ? `${days} days, ${first.day} to ${last.day}, ${entries} entries` : "no sealed day";
  if (faults.length > 0) {
    const named = faults.flatMap(({ key, line, what }) => [
      `BROKEN  ${brokerage}: ${what}`,
      `  ${line === undefined ? key : `${key}, line ${line}`}`,
    ]);
    return [...named, `  in order before it: ${range}`];
  }
  const since = first === undefined || first.start.sequence === "0" ? "" : `, after entry ${first.start.sequence}`;
  const head = last === undefined ? [] : [`  head ${last.head.sequence} ${last.head.hash}`];
  const open = unsealed === undefined ? [] : [`  ${unsealed} is not sealed yet`];
  if (last !== undefined && proven?.day === last.day)
    return [`intact  ${brokerage}: ${range}${since}`, ...head, ...open];
  const compared = proven === undefined ? "no head was given to compare with" : `a head was given up to ${proven.day}`;
  return [`linked  ${brokerage}: ${range}${since}`, ...head, `  ${compared}`, ...open];
}

/** Prints lines without the control characters that an object may hold in its key or in an entry. */
function print(lines: readonly string[]): void {
  console.log(lines.map((line) => line.replace(/\p{Cc}/gu, "?")).join("\n"));
}

/** Options of a check. */
interface Wanted {
  readonly brokerages: readonly string[];
  readonly heads: readonly Head[];
  readonly until: string;
}

/** Checks the brokerages that are wanted, or all, and prints what it finds. Returns whether everything is in order. */
async function verify(source: ExportSource, { brokerages, heads, until }: Wanted): Promise<boolean> {
  const sealed = (day: SealedDay) => {
    for (const head of heads) {
      if (head.hash === day.head.hash && (head.brokerage ?? day.brokerage_id) === day.brokerage_id) head.found = day;
    }
  };
  const checked = new Set<string>();
  let faults = 0;
  let unchecked: string | undefined;
  const progress = progressLines();
  for (const prefix of brokerages.length === 0 ? [""] : brokerages.map((id) => `${id}/`)) {
    const { faults: further, unchecked: why } = await checkHistory(source.history, prefix);
    unchecked ??= why;
    for await (const report of verifyExport(source, { prefix, until, progress, sealed, further })) {
      const proven = heads.flatMap(({ found }) => (found?.brokerage_id === report.brokerage ? [found] : []));
      checked.add(report.brokerage);
      faults += report.faults.length;
      print(linesOf(report, proven.toSorted((a, b) => (a.day < b.day ? -1 : 1)).at(-1)));
    }
  }
  const lost = brokerages.filter((id) => !checked.has(id)).map((id) => `BROKEN  ${id}: none of its days is there`);
  const unmet = heads
    .filter(({ found }) => found === undefined)
    .map(
      ({ brokerage, hash }) =>
        `BROKEN  no day in order${brokerage ? ` of ${brokerage}` : ""} ends with the head ${hash}`,
    );
  if (checked.size + lost.length + unmet.length === 0) {
    throw new UsageError(`There is no sealed day in ${source.name}: a day is sealed after its end.`);
  }
  for (const line of [...lost, ...unmet]) print([line]);
  if (unchecked !== undefined) print([`NOT CHECKED  versions: ${unchecked}`, `  ${unseen}`]);
  return faults + lost.length + unmet.length === 0;
}

async function seal(stage: string, local: boolean): Promise<void> {
  const known = oneOf("stage", stage, stages);
  const config = local ? localRunner().config : {};
  const done = await invokeFunction(functionName(known, "seal-audit"), { action: "seal" }, config);
  console.log(JSON.stringify(done));
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      bucket: { type: "string" },
      dir: { type: "string" },
      local: { type: "boolean", default: false },
      brokerage: { type: "string", multiple: true, default: [] },
      head: { type: "string", multiple: true, default: [] },
      until: { type: "string" },
      stage: { type: "string", default: "sandbox" },
    },
    { positionals: 1 },
  );
  const [command] = positionals;
  if (command === "seal") return seal(values.stage, values.local);
  if (command !== "verify") {
    const given = command === undefined ? "" : `, not "${command}"`;
    throw new UsageError(`The first argument must be verify or seal${given}.`);
  }
  const source = sourceOf(values);
  const { brokerage, head, until } = values;
  const wanted = { brokerages: brokeragesOf(brokerage), heads: headsOf(head), until: untilOf(until) };
  const isInOrder = await verify(source, wanted).catch((error: unknown) => {
    throw awsAdvice(error, (text) => `The bucket could not be read: ${text}`);
  });
  if (!isInOrder) process.exitCode = broken;
});
