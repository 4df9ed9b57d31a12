import { dayOf, daysAfter } from "../../calendar.ts";
import { limits } from "../../limits.ts";
import { canonicalJson } from "./canonical-json.ts";
import { type BrokenLink, ChainCheck, type ChainedEntry, type Digest, type Link } from "./chain.ts";
import type { SealedDay, ShownLink } from "./seal.ts";

/** A day is sealed so long after its end at the latest: an hour lies between two runs, and a run takes five minutes. */
export const sealedWithinSeconds = limits.audit.sealed_after_seconds + 3600 + 300;

/** The service never writes deeper nesting: an entry adds a few levels to the body of a request. */
const deepest = 2 * limits.body.max_depth;

/** Something of an export that is not as it was sealed: the first such thing of a brokerage. */
export interface ExportFault {
  /** Key of the object at fault, or of the one that is missing. */
  readonly key: string;
  /** Line of the object, from 1; absent where the object as a whole is at fault. */
  readonly line?: number;
  readonly kind: "changed" | "removed" | "inserted" | "moved";
  readonly what: string;
}

/** Lines of a part, and whether there are more of them. */
interface PartPlace {
  readonly key: string;
  /** Place of its first line in the day, from 1. */
  readonly first: number;
  lines: number;
}

/**
 * Checks the entries of one day against what the day says of itself: every line is the canonical JSON of an entry, the
 * entries are linked from the start of the day to its head, and none is of a later day up to `until`. An entry may be
 * chained late, but not early; a time that lies behind all days that are over is that of a wrong clock. The lines come
 * part by part, in their order.
 */
export class DayCheck {
  private readonly day: SealedDay;
  private readonly chain: ChainCheck;
  private readonly head: Link;
  private readonly parts: PartPlace[] = [];
  private next: number;
  private isSound = true;
  private readonly until: string;
  private readonly latestMs: number;
  private early: BrokenLink | undefined;

  constructor(day: SealedDay, { until, digest }: { readonly until: string; readonly digest: Digest }) {
    const start = linkOf(day.start);
    this.day = day;
    this.until = until;
    this.latestMs = Date.parse(daysAfter(day.day, 1)) + sealedWithinSeconds * 1000;
    this.head = linkOf(day.head);
    this.chain = new ChainCheck(start, digest);
    this.next = start.sequence + 1;
  }

  /** Takes the lines of the next part. Returns whether more of them are needed. */
  add(key: string, lines: Iterable<string>): boolean {
    const before = this.parts.at(-1);
    const part = { key, first: before === undefined ? 1 : before.first + before.lines, lines: 0 };
    this.parts.push(part);
    for (const line of lines) {
      part.lines += 1;
      const entry = entryIn(line) ?? unreadable(this.next);
      this.isSound &&= this.chain.add(entry);
      if (this.isEarly(entry)) {
        this.early ??= { kind: "moved", sequence: this.next, id: entry.id, place: part.first + part.lines - 1 };
      }
      this.next += 1;
      if (!this.isSound) return false;
    }
    return true;
  }

  /** The first fault of the day; undefined where there is none. */
  end(): ExportFault | undefined {
    const { early } = this;
    const { broken: link } = this.chain.end(this.head);
    const broken = early !== undefined && (link === null || early.place < link.place) ? early : link;
    if (broken === null) return undefined;
    const { kind, sequence, id, place } = broken;
    const part = this.parts.findLast(({ first }) => first <= place) ?? this.parts.at(-1);
    const isThere = part !== undefined && place < part.first + part.lines;
    const named = id === null ? `entry ${sequence}` : `entry ${sequence} (${id})`;
    const { key = "" } = part ?? {};
    if (isThere) return { key, line: place - part.first + 1, kind, what: `${named} was ${kind}` };
    return { key, kind, what: `${named} of ${this.day.day} was ${kind}` };
  }

  /** Whether an entry is of a later day that is over, so that it would have ended this one (ADR 0059). */
  private isEarly({ at }: DatedEntry): boolean {
    return typeof at === "string" && Date.parse(at) > this.latestMs && dayOf(at) <= this.until;
  }
}

/** An entry with its own time, which a hostile one may lack. */
type DatedEntry = ChainedEntry & { readonly at?: unknown };

/** The entry of a line; undefined where the line is not the canonical JSON of one. */
function entryIn(line: string): DatedEntry | undefined {
  const value = canonicalIn(line) as DatedEntry | undefined;
  const isLinked = [value?.id, value?.sequence, value?.previous_hash, value?.hash].every((each) => isText(each));
  return isLinked ? value : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Stands for a line that is no entry: it claims the line's place, and no hash fits it. */
function unreadable(sequence: number): ChainedEntry {
  return { id: null as unknown as string, sequence: String(sequence), previous_hash: "", hash: "" };
}

/** The value of a text; undefined where the text is not the canonical JSON of an object. */
function canonicalIn(text: string): object | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // The depth first: canonical JSON is made by recursion, which would end with the stack and not with an answer.
  return isWithin(value, deepest) && canonicalJson(value) === text ? value : undefined;
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((each) => isWithin(each, depth - 1));
}

function linkOf({ sequence, hash }: ShownLink): Link {
  return { sequence: Number(sequence), hash };
}

/** The record of a sealed day; undefined where the text differs from what the service writes for this day. */
export function dayIn(text: string, brokerage: string, day: string): SealedDay | undefined {
  const value = text.endsWith("\n") ? (canonicalIn(text.slice(0, -1)) as SealedDay | undefined) : undefined;
  if (value === undefined) return undefined;
  const { object, brokerage_id, day: own, start, head, entries, parts } = value;
  const isOfDay = object === "audit_day" && brokerage_id === brokerage && own === day;
  if (!isOfDay || !isLink(start) || !isLink(head) || Object.keys(value).length !== 7) return undefined;
  const isCounted = entries === Number(head.sequence) - Number(start.sequence) && entries >= 0;
  return isCounted && Number.isSafeInteger(parts) && parts >= 0 ? value : undefined;
}

function isLink(link: Partial<ShownLink> | null | undefined): boolean {
  const { sequence, hash } = link ?? {};
  return isText(sequence) && isText(hash) && /^(?:0|[1-9]\d{0,15})$/.test(sequence) && /^[0-9a-f]{64}$/.test(hash);
}

/** Whether a day begins where the one before it ended. */
export function continues({ start }: SealedDay, { sequence, hash }: ShownLink): boolean {
  return start.sequence === sequence && start.hash === hash;
}
