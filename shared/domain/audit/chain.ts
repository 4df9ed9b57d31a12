import { limits } from "../../limits.ts";
import { canonicalJson } from "./canonical-json.ts";

/** SHA-256 of a text in UTF-8, in lower-case hexadecimal. */
export type Digest = (text: string) => string;

/** An entry of the chain, by its number and its hash: what the next one is linked to. */
export interface Link {
  /** From 1, without gaps; 0 is the place before the first entry. */
  readonly sequence: number;
  /** 64 hexadecimal digits. */
  readonly hash: string;
}

/** Link before the first entry of a brokerage. */
export const beginning: Link = { sequence: 0, hash: "0".repeat(64) };

/** An entry as it is stored, shown and exported, as far as the chain looks at it; its other members are hashed too. */
export interface ChainedEntry {
  readonly id: string;
  /** The number in decimal digits. */
  readonly sequence: string;
  /** The hash of the entry before. */
  readonly previous_hash: string;
  readonly hash: string;
}

/** Adds an entry to the chain: its number, and the hashes of the one before and of itself. */
export function chained<T extends object>(
  entry: T,
  { sequence, hash }: Link,
  digest: Digest,
): T & Omit<ChainedEntry, "id"> {
  const numbered = { ...entry, sequence: String(sequence + 1) };
  return { ...numbered, previous_hash: hash, hash: hashOf(numbered, hash, digest) };
}

/** `sha256(previous_hash || canonical JSON of all other members)`. */
function hashOf(members: object, previous: string, digest: Digest): string {
  return digest(previous + canonicalJson(members));
}

function isWhole({ hash, previous_hash, ...members }: ChainedEntry, digest: Digest): boolean {
  return typeof previous_hash === "string" && hashOf(members, previous_hash, digest) === hash;
}

/** Whether an entry comes right after another one and is linked to it. */
function follows(entry: ChainedEntry, { sequence, hash }: Link): boolean {
  return entry.sequence === String(sequence + 1) && entry.previous_hash === hash;
}

/** The first place where a chain is broken. */
export interface BrokenLink {
  readonly kind: "changed" | "removed" | "inserted" | "moved";
  /** Number of the entry; of one that was inserted the number that it claims. */
  readonly sequence: number;
  /** Null when the entry is missing. */
  readonly id: string | null;
  /** The place of the entry, or of what stands where it is missing, in what was checked; from 1. */
  readonly place: number;
}

/** Result of a check of a chain. */
export interface ChainReport {
  /** How many entries are linked, up to the first broken link. */
  readonly checked: number;
  /** The last entry that is linked. */
  readonly head: Link;
  readonly broken: BrokenLink | null;
}

/**
 * Checks a chain, entry by entry in the order in which they stand. An entry that was changed has another hash than the
 * next one names, so the next entry, or the head of the chain for the last one, tells which of two was changed. A chain
 * that was written again as a whole is found by its head alone.
 */
export class ChainCheck {
  private readonly digest: Digest;
  private before: Link | undefined;
  private last: ChainedEntry | undefined;
  private link: Link;
  private checked = 0;
  private readonly suspects: ChainedEntry[] = [];

  /** `start` is the entry that the first one is linked to. */
  constructor(start: Link, digest: Digest) {
    this.link = { sequence: start.sequence, hash: start.hash };
    this.digest = digest;
  }

  /** Takes the next entry. Returns whether it needs more of them: not when a link is broken, and why is known. */
  add(entry: ChainedEntry): boolean {
    if (this.suspects.length > 0 || !follows(entry, this.link) || !isWhole(entry, this.digest)) {
      this.suspects.push(entry);
      return this.suspects.length <= limits.audit.look_ahead_entries;
    }
    this.before = this.link;
    this.last = entry;
    this.link = linkOf(entry);
    this.checked += 1;
    return true;
  }

  /** `head` is the last entry of the chain as it is known from elsewhere. */
  end(head?: Link): ChainReport {
    const broken = this.suspects.length > 0 ? this.explain(head) : this.atEnd(head);
    return { checked: this.checked, head: this.link, broken };
  }

  private atEnd(head: Link | undefined): BrokenLink | null {
    if (head === undefined || (head.sequence === this.link.sequence && head.hash === this.link.hash)) return null;
    const { sequence } = this.link;
    const place = this.checked + 1;
    if (head.sequence > sequence) return { kind: "removed", sequence: sequence + 1, id: null, place };
    const { last } = this;
    const kind = head.sequence < sequence ? "inserted" : "changed";
    return { kind, sequence, id: last?.id ?? null, place: this.checked };
  }

  /** The first break of the chain. */
  private explain(head: Link | undefined): BrokenLink {
    const { suspects, link } = this;
    const [first, second] = suspects as [ChainedEntry, ChainedEntry | undefined];
    const [place, number] = [this.checked + 1, Number(first.sequence)];
    const at = (kind: BrokenLink["kind"]): BrokenLink => ({ kind, sequence: number, id: first.id, place });
    const ofLast = this.aboutLast(head);
    if (ofLast !== undefined) return ofLast;
    const expected = suspects.findIndex((entry) => follows(entry, link) && isWhole(entry, this.digest));
    if (expected > 0) return at(this.isFromChain(first) ? "moved" : "inserted");
    if (number <= link.sequence) return at("inserted");
    if (number > link.sequence + 1) {
      return { kind: "removed", sequence: link.sequence + 1, id: null, place };
    }
    if (!isWhole(first, this.digest)) return at("changed");
    // The entry is what its hash says and names another one before it: one of the two was written again.
    const isKept = second === undefined ? head?.hash === first.hash : second.previous_hash === first.hash;
    if (!isKept) return at("changed");
    return { kind: "changed", sequence: link.sequence, id: this.last?.id ?? null, place: this.checked };
  }

  /** An entry with the number of the last one may be the true one: then the last one was inserted before it. */
  private aboutLast(head: Link | undefined): BrokenLink | undefined {
    const { before, last, suspects } = this;
    if (before === undefined || last === undefined) return undefined;
    const twin = suspects.findIndex((entry) => follows(entry, before) && isWhole(entry, this.digest));
    const original = suspects[twin];
    if (original === undefined || original.hash === last.hash) return undefined;
    const next = suspects[twin + 1];
    const isTrue = next === undefined ? head?.hash === original.hash : follows(next, linkOf(original));
    return isTrue ? { kind: "inserted", sequence: Number(last.sequence), id: last.id, place: this.checked } : undefined;
  }

  /** Whether the entry before this one stands behind it: then it stands in the wrong place, and is no stranger. */
  private isFromChain(entry: ChainedEntry): boolean {
    return isWhole(entry, this.digest) && this.suspects.some((each) => each !== entry && follows(entry, linkOf(each)));
  }
}

/** The link that the next entry names. */
function linkOf({ sequence, hash }: ChainedEntry): Link {
  return { sequence: Number(sequence), hash };
}

/** Checks entries as a whole, see {@link ChainCheck}. */
export function checkChain(
  entries: Iterable<ChainedEntry>,
  { start = beginning, head, digest }: { readonly start?: Link; readonly head?: Link; readonly digest: Digest },
): ChainReport {
  const check = new ChainCheck(start, digest);
  for (const entry of entries) if (!check.add(entry)) break;
  return check.end(head);
}
