import { dayOf, daysAfter } from "../../calendar.ts";
import { type Context, type DomainEvent, later } from "../kernel/decision.ts";
import { beginning, type Link } from "./chain.ts";

/** How far the audit of a brokerage is sealed: its days, one after the other. */
export interface AuditSeal {
  readonly id: string;
  readonly tenant_id: string;
  /** The last day that is sealed, `2026-11-23` in UTC; of a new seal the day before the first one. */
  readonly day: string;
  /** The last entry of that day or of one before it: what the next day is linked to. */
  readonly sequence: number;
  readonly hash: string;
  /** The day that is being sealed; absent where none is. */
  readonly open?: OpenDay;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** A day whose objects are being written. */
export interface OpenDay {
  readonly day: string;
  /** When it was opened. */
  readonly at: string;
  /** The head of the chain when the day was opened: what is chained later is of a later day. */
  readonly cut: Link;
  /** The last entry of the parts that are written. */
  readonly written: Link;
  readonly parts: number;
}

/** The record of a sealed day: it is written last, so a day without it is not sealed. */
export interface SealedDay {
  readonly object: "audit_day";
  readonly brokerage_id: string;
  readonly day: string;
  /** The entry before the first one of the day; number 0 before the first of all. */
  readonly start: ShownLink;
  /** The last entry of the day; where it has none that of `start`. */
  readonly head: ShownLink;
  readonly entries: number;
  /** Objects that hold the entries, from 1. */
  readonly parts: number;
}

/** A link as JSON has it: the number in decimal digits. */
export interface ShownLink {
  readonly sequence: string;
  readonly hash: string;
}

/**
 * Whether an entry ends the open day since it is of a later one. A time that lies after the opening, or that is none,
 * ends no day: every entry up to the cut was chained by then, and a wrong time must not keep those behind it out.
 */
export function endsDay({ day, at: opened_at }: OpenDay, at: string): boolean {
  return dayOf(at) > day && at <= opened_at;
}

/** The last day that has been over for so long. */
export function lastDayOver(now: string, seconds: number): string {
  return daysAfter(dayOf(new Date(Date.parse(now) - seconds * 1000).toISOString()), -1);
}

/** Keys of the objects of a day: its parts, numbered from 1, and what it says of itself. */
export const dayKeys = {
  part: (brokerage: string, day: string, part: number) =>
    `${brokerage}/${day}/${String(part).padStart(6, "0")}.ndjson.gz`,
  manifest: (brokerage: string, day: string) => `${brokerage}/${day}/manifest.json`,
};

/**
 * The seal of a brokerage whose audit was never sealed. Its first day is that of the oldest entry that is kept, and
 * not later than `last`, so that each chain has a sealed place to begin at.
 */
export function newSeal(
  oldest: { readonly at: string; readonly before: Link } | undefined,
  last: string,
  { tenant_id, now, newId }: Pick<Context, "tenant_id" | "now" | "newId">,
): AuditSeal {
  const { sequence, hash } = oldest?.before ?? beginning;
  const wanted = oldest === undefined ? "" : dayOf(oldest.at);
  const first = wanted === "" || wanted > last ? last : wanted;
  const times = { created_at: now, updated_at: now, version: 1 };
  return { id: newId("aus"), tenant_id, day: daysAfter(first, -1), sequence, hash, ...times };
}

/** Opens the next day, which ends where the chain ends now, or before its first entry of a later day. */
export function openDay(
  seal: AuditSeal,
  { sequence, hash }: Link,
  now: string,
): AuditSeal & { readonly open: OpenDay } {
  const written = { sequence: seal.sequence, hash: seal.hash };
  const open = { day: daysAfter(seal.day, 1), at: now, cut: { sequence, hash }, written, parts: 0 };
  return nextVersion({ ...seal, open }, now);
}

/** Notes a part of the open day that is written, by its last entry. */
export function notePart<T extends AuditSeal & { readonly open: OpenDay }>(seal: T, written: Link, now: string): T {
  return nextVersion({ ...seal, open: { ...seal.open, written, parts: seal.open.parts + 1 } }, now);
}

function nextVersion<T extends AuditSeal>(seal: T, now: string): T {
  return { ...seal, updated_at: later(seal.updated_at, now), version: seal.version + 1 };
}

/** The record of the open day when it ends with this entry, in so many parts. */
export function sealedDay({ tenant_id, day, open, ...before }: AuditSeal, head: Link, parts: number): SealedDay {
  return {
    object: "audit_day",
    brokerage_id: tenant_id,
    day: open?.day ?? day,
    start: { sequence: String(before.sequence), hash: before.hash },
    head: { sequence: String(head.sequence), hash: head.hash },
    entries: head.sequence - before.sequence,
    parts,
  };
}

/** Closes the open day, and announces its head. */
export function closeDay(
  { open: _open, ...before }: AuditSeal,
  sealed: SealedDay,
  now: string,
): { readonly seal: AuditSeal; readonly event: DomainEvent } {
  const { day, start, head, entries } = sealed;
  const seal = nextVersion({ ...before, day, sequence: Number(head.sequence), hash: head.hash }, now);
  const { id, version } = seal;
  const checked = entries === 0 ? "" : `?from=${Number(start.sequence) + 1}&to=${head.sequence}`;
  const object = {
    ...{ id, object: "audit_seal", day, entries, last_sequence: head.sequence },
    ...{ previous_hash: start.hash, hash: head.hash, sealed_at: seal.updated_at, version },
    _links: { self: { href: `/v2/audit_log/verification${checked}` } },
  };
  const resource = { type: "audit_seal", id, version };
  return { seal, event: { type: "audit.sealed", resource, client_id: null, account_id: null, object } };
}
