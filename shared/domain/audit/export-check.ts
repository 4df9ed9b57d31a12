import { canonicalJson } from "./canonical-json.ts";
import { ChainCheck, type ChainedEntry, type Digest, type Link } from "./chain.ts";
import type { SealedDay, ShownLink } from "./seal.ts";

/** Something of an export that is not as it was sealed: the first such thing of a brokerage. */
export interface ExportFault {
  /** Key of the object at fault, or of the one that is missing. */
  readonly key: string;
  /** Line of the object, from 1; absent where the object as a whole is at fault. */
  readonly line?: number;
  readonly kind: "changed" | "removed" | "inserted" | "moved";
  /** What is at fault and how. */
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
 * Checks the entries of one day against what the day says of itself: every line is the canonical JSON of an entry, and
 * the entries are linked from the start of the day to its head. The lines come part by part, in their order.
 */
export class DayCheck {
  private readonly day: SealedDay;
  private readonly chain: ChainCheck;
  private readonly head: Link;
  private readonly parts: PartPlace[] = [];
  private next: number;
  private isSound = true;

  constructor(day: SealedDay, digest: Digest) {
    const start = linkOf(day.start);
    this.day = day;
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
      this.isSound &&= this.chain.add(entryIn(line) ?? unreadable(this.next));
      this.next += 1;
      if (!this.isSound) return false;
    }
    return true;
  }

  /** The first fault of the day; undefined where there is none. */
  end(): ExportFault | undefined {
    const { broken } = this.chain.end(this.head);
    if (broken === null) return undefined;
    const { kind, sequence, id, place } = broken;
    const part = this.parts.findLast(({ first }) => first <= place) ?? this.parts.at(-1);
    const isThere = part !== undefined && place < part.first + part.lines;
    const named = id === null ? `entry ${sequence}` : `entry ${sequence} (${id})`;
    const { key = "" } = part ?? {};
    if (isThere) return { key, line: place - part.first + 1, kind, what: `${named} was ${kind}` };
    return { key, kind, what: `${named} of ${this.day.day} was ${kind}` };
  }
}

/** The entry of a line; undefined where the line is not the canonical JSON of an object. */
function entryIn(line: string): ChainedEntry | undefined {
  const value = parsed(line);
  const isEntry = typeof value === "object" && value !== null && !Array.isArray(value);
  return isEntry && canonicalJson(value) === line ? (value as ChainedEntry) : undefined;
}

/** What stands for a line that is no entry: it claims the place that it stands at, and no hash fits it. */
function unreadable(sequence: number): ChainedEntry {
  return { id: null as unknown as string, sequence: String(sequence), previous_hash: "", hash: "" };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function linkOf({ sequence, hash }: ShownLink): Link {
  return { sequence: Number(sequence), hash };
}

/** What a day says of itself; undefined where the text is not what the service writes for this day. */
export function dayIn(text: string, brokerage: string, day: string): SealedDay | undefined {
  const value = parsed(text) as SealedDay | undefined;
  if (typeof value !== "object" || value === null || `${canonicalJson(value)}\n` !== text) return undefined;
  const { object, brokerage_id, day: own, start, head, entries, parts } = value;
  const isOfDay = object === "audit_day" && brokerage_id === brokerage && own === day;
  if (!isOfDay || !isLink(start) || !isLink(head) || Object.keys(value).length !== 7) return undefined;
  const isCounted = entries === Number(head.sequence) - Number(start.sequence) && entries >= 0;
  return isCounted && Number.isSafeInteger(parts) && parts >= 0 ? value : undefined;
}

function isLink(link: ShownLink | undefined): boolean {
  return /^(?:0|[1-9]\d{0,15})$/.test(link?.sequence ?? "") && /^[0-9a-f]{64}$/.test(link?.hash ?? "");
}

/** Whether a day begins where the one before it ended. */
export function continues({ start }: SealedDay, { sequence, hash }: ShownLink): boolean {
  return start.sequence === sequence && start.hash === hash;
}
