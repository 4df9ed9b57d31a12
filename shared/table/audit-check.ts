import { type BrokenLink, beginning, ChainCheck, type ChainReport, type Link } from "../domain/audit/chain.ts";
import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { readable, type ShownAudit } from "./audit-entry.ts";
import { pageBefore, storedPage } from "./audit-pages.ts";
import { type AuditPage, auditPages } from "./entities.ts";
import { pagesOf, readPage } from "./partition.ts";
import { type AuditHead, eventCounter } from "./sequences.ts";
import { backoffMs } from "./transact.ts";

/** Result of a check of a tenant's chain. */
export interface AuditReport extends ChainReport {
  /** Numbers of the first and the last entry that were looked at; undefined when there is none. */
  readonly from?: number;
  readonly to?: number;
  readonly more: boolean;
}

interface Range {
  readonly from?: number;
  readonly to?: number;
  readonly most: number;
}

/**
 * Checks a part of a tenant's chain, at most so many entries: from a number on, or from the oldest entry that is kept,
 * to a number, or to the head. The part is linked to the entry before it, unless that one has expired.
 */
export async function checkAudit(tenant: string, range: Range): Promise<AuditReport> {
  const report = await checkOnce(tenant, range);
  if (report.broken === null) return report;
  // DynamoDB may show a transaction on the counter some milliseconds before it shows it on the page, or after.
  await pause(backoffMs(1));
  return checkOnce(tenant, range);
}

async function checkOnce(tenant: string, { from = 1, to, most }: Range): Promise<AuditReport> {
  const { audit: head } = await eventCounter(tenant);
  const part = new Part(from, Math.min(to ?? head.sequence, head.sequence), most);
  if (from <= part.end) await readInto(part, tenant);
  const report = await part.report(head, () => nextExpiry(tenant, part.end, head));
  if (to !== undefined || report.broken !== null || report.more) return report;
  return { ...report, broken: await afterHead(tenant, head, report.checked) };
}

async function readInto(part: Part, tenant: string): Promise<void> {
  const bounds = { from: pageBefore(auditPages.sortOf(part.from)), to: auditPages.sortOf(part.end) };
  for await (const { items } of pagesOf(auditPages.partition(tenant), bounds)) {
    for (const page of items.map(storedPage)) part.add(page);
    if (part.isDone()) return;
  }
}

/** When what stood right before the page after a number expires, in epoch seconds; 0 where that is not known. */
async function nextExpiry(tenant: string, end: number, head: AuditHead): Promise<number> {
  if (end === head.sequence) return head.expires_at ?? 0;
  const next = await firstPage(tenant, end + 1);
  return (next === undefined ? head.expires_at : next.previous_expires_at) ?? 0;
}

async function firstPage(tenant: string, from: number): Promise<AuditPage | undefined> {
  const { items } = await readPage(auditPages.partition(tenant), { from: auditPages.sortOf(from), page_size: 1 });
  return items.map(storedPage)[0];
}

/** An entry behind the head, which no publisher has written. */
async function afterHead(tenant: string, head: AuditHead, checked: number): Promise<BrokenLink | null> {
  const page = await firstPage(tenant, head.sequence + 1);
  if (page === undefined) return null;
  // It may have been published since the counter was read.
  const { audit: now } = await eventCounter(tenant);
  if (page.first <= now.sequence) return null;
  return { kind: "inserted", sequence: page.first, id: readable(page)[0]?.id ?? null, place: checked + 1 };
}

/** The part of a chain that is checked, page by page. */
class Part {
  readonly from: number;
  readonly end: number;
  private readonly most: number;
  /** Entries that expire by then may be gone: DynamoDB deletes in any order, and clocks of publishers differ. */
  private readonly soon = (nowMs() + limits.webhooks.publisher_skew_ms) / 1000;
  private before: (Link & { readonly expired: boolean }) | undefined;
  private check: ChainCheck | undefined;
  private first = 0;
  private last = 0;
  private count = 0;
  private isSound = true;

  constructor(from: number, end: number, most: number) {
    this.from = from;
    this.end = end;
    this.most = most;
  }

  isDone(): boolean {
    return !this.isSound || this.count >= this.most;
  }

  add(page: AuditPage): void {
    for (const entry of readable(page)) this.addEntry(entry, page);
  }

  private addEntry(entry: ShownAudit, page: AuditPage): void {
    const number = Number(entry.sequence);
    if (this.isDone() || number > this.end) return;
    if (this.check === undefined) {
      const expired = page.expires_at <= this.soon;
      if (expired || (page.first < this.from && number < this.from)) {
        this.before = { sequence: number, hash: entry.hash, expired };
        return;
      }
      this.check = new ChainCheck(this.startOf(entry, page), sha256);
      this.first = number;
    }
    this.isSound = this.check.add(entry);
    this.last = number;
    this.count += 1;
  }

  /** The link that the first entry must have. */
  private startOf({ sequence, previous_hash: hash }: ShownAudit, { previous_expires_at = 0 }: AuditPage): Link {
    const { before } = this;
    const number = Number(sequence);
    if (number === 1) return beginning;
    if (before !== undefined && (!before.expired || before.sequence === number - 1)) return before;
    // The entry before it is gone: where that had not expired, it was removed; otherwise its own word is taken for it.
    return previous_expires_at > this.soon ? { sequence: number - 2, hash: "" } : { sequence: number - 1, hash };
  }

  /** `expiry` tells when the last entry of the part expires, for a part of which nothing is left. */
  async report(head: Link, expiry: () => Promise<number>): Promise<AuditReport> {
    const { from, end, check, first, last, before } = this;
    if (check !== undefined) {
      const more = this.isSound && last < end && this.count >= this.most;
      const wanted =
        end === head.sequence ? head : this.isSound && last < end ? { sequence: end, hash: "" } : undefined;
      return { ...check.end(more ? undefined : wanted), from: first, to: last, more };
    }
    const kept = before?.expired === false ? before : undefined;
    const isMissing = from <= end && before?.sequence !== end;
    const isRemoved = isMissing && (kept !== undefined || (await expiry()) > this.soon);
    const start = isRemoved ? (kept ?? { sequence: end - 1, hash: "" }) : beginning;
    const nothing = new ChainCheck(start, sha256);
    return { ...nothing.end(isRemoved ? { sequence: start.sequence + 1, hash: "" } : undefined), more: false };
  }
}
