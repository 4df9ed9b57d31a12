import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import type { FunctionDefinition } from "../functions/functions.ts";
import type { Resource } from "../template/assembly.ts";

/** Members of the request that are known; CloudWatch Logs has more. */
const members = ["logGroupName", "startTime", "endTime", "filterPattern", "nextToken"] as const;

/** The most that CloudWatch returns with one call (AWS docs: FilterLogEvents). */
const page = { events: 10_000, bytes: 1_000_000 } as const;

interface LogEvent {
  readonly logStreamName: string;
  readonly timestamp: number;
  readonly message: string;
  readonly eventId: string;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * The log groups of the template, read from the log files of the functions that write to them. A line counts by the
 * time that it says itself; those of JSON with a `timestamp` are all that is kept of a log here.
 */
export class RequestLogs {
  private readonly folder: string;
  private readonly groups: ReadonlyMap<string, { readonly arn: string; readonly functions: readonly string[] }>;

  /** `folder` has the log files, by the names of the functions. */
  constructor(resources: readonly Resource[], definitions: readonly FunctionDefinition[], folder: string) {
    this.folder = folder;
    const groups = resources.filter(({ type }) => type === "AWS::Logs::LogGroup");
    this.groups = new Map(
      groups.map(({ physical_id: name, attributes }) => {
        const functions = definitions.filter(({ log_group }) => log_group === name).map((each) => each.name);
        return [name, { arn: attributes["Arn"] ?? "", functions }];
      }),
    );
  }

  /** ARN of a log group by its name, for the check of the call. Throws ResourceNotFoundException. */
  arnOf(name: unknown): string {
    return this.find(name).arn;
  }

  /** Answers FilterLogEvents. Throws AwsErrors. */
  filter(body: Body): { readonly events: readonly LogEvent[]; readonly nextToken?: string } {
    const strange = Object.keys(body).find((name) => !members.some((known) => known === name));
    if (strange !== undefined) throw unknown(`the member ${strange} of FilterLogEvents`);
    const { startTime: from = 0, endTime: to = Number.MAX_SAFE_INTEGER, nextToken } = body;
    const matches = pattern(body["filterPattern"]);
    const after = typeof nextToken === "string" ? Buffer.from(nextToken, "base64url").toString() : "";
    const left = this.eventsOf(this.find(body["logGroupName"]).functions)
      .filter(({ timestamp, message }) => timestamp >= Number(from) && timestamp <= Number(to) && matches(message))
      .map((event) => ({ event, place: orderOf(event) }))
      .toSorted((a, b) => (a.place < b.place ? -1 : 1))
      .filter(({ place }) => place > after);
    const events = firstPage(left.map(({ event }) => event));
    const last = events.at(-1);
    if (last === undefined || events.length === left.length) return { events };
    return { events, nextToken: Buffer.from(orderOf(last)).toString("base64url") };
  }

  private find(name: unknown): { readonly arn: string; readonly functions: readonly string[] } {
    const found = this.groups.get(String(name));
    if (found !== undefined) return found;
    throw new AwsError(400, "ResourceNotFoundException", "The specified log group does not exist.");
  }

  private eventsOf(functions: readonly string[]): LogEvent[] {
    return functions.flatMap((name) => [`${name}.log.1`, `${name}.log`].flatMap((file) => this.eventsIn(name, file)));
  }

  private eventsIn(logStreamName: string, file: string): LogEvent[] {
    const path = join(this.folder, file);
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n");
    // Text behind the last end of a line is still being written.
    return lines.slice(0, -1).flatMap((message) => {
      const time = /"timestamp":"([^"]+)"/.exec(message)?.[1];
      if (time === undefined) return [];
      const eventId = createHash("sha256").update(message).digest("hex");
      return [{ logStreamName, timestamp: Date.parse(time), message, eventId }];
    });
  }
}

/** The order of events in an answer; a rotation of the files between two pages changes nothing about it. */
function orderOf({ timestamp, eventId }: LogEvent): string {
  return `${String(timestamp).padStart(14, "0")} ${eventId}`;
}

function firstPage(events: readonly LogEvent[]): readonly LogEvent[] {
  let bytes = 0;
  const end = events.findIndex(({ message }, index) => {
    bytes += Buffer.byteLength(message);
    return index === page.events || (index > 0 && bytes > page.bytes);
  });
  return end === -1 ? events : events.slice(0, end);
}

/**
 * Of the patterns for JSON the one that compares a member with a text, and those that take any of several such
 * comparisons, each in parentheses; without a pattern every line matches.
 */
function pattern(given: unknown): (message: string) => boolean {
  if (given === undefined) return () => true;
  const text = String(given);
  const terms = text.includes(" || ") ? text.slice(3, -3).split(") || (") : [text.slice(2, -2)];
  const wanted = terms.map((term) => /^\$\.(\w+) = "([^"*%]*)"$/.exec(term));
  const isWhole = text === (terms.length === 1 ? `{ ${terms[0]} }` : `{ (${terms.join(") || (")}) }`);
  if (!isWhole || wanted.includes(null)) throw unknown(`the filter pattern ${text}`);
  return (message) => {
    try {
      const line = JSON.parse(message) as Body;
      return wanted.some((term) => term !== null && line[term[1] ?? ""] === term[2]);
    } catch {
      return false;
    }
  };
}

function unknown(what: string): AwsError {
  return new AwsError(501, "NotImplemented", `The local runner does not know ${what} of CloudWatch Logs.`);
}
