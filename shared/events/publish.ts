import type { WebhookEndpoint } from "../domain/records/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs, pause } from "../runtime/clock.ts";
import { newId } from "../runtime/ids.ts";
import { absolute, linked } from "../runtime/links.ts";
import { log } from "../runtime/log.ts";
import { isThrottle, Unavailable } from "../runtime/unavailable.ts";
import {
  auditPages,
  auditRefs,
  eventId,
  events,
  type Outbox,
  outboxes,
  outboxParts,
  type PublishedEvent,
} from "../table/entities.ts";
import { packPayload } from "../table/event-payload.ts";
import { isStored } from "../table/expression.ts";
import { partKeys, type WaitingEvent } from "../table/outbox.ts";
import { advanceCounter, type EventCounter, type NumberedTo } from "../table/sequences.ts";
import { findAll, readKeys } from "../table/store.ts";
import { backoffMs, transactOnce } from "../table/transact.ts";
import { deleteMember, putNew } from "../table/write.ts";
import { auditsOf, type ChainedAudits, type PublishedCommit } from "./audit-entries.ts";
import type { RunReads } from "./run-reads.ts";

/**
 * An outbox item with the events of its parts. One that is gone has been published, and is left as it came.
 * @throws when a part is not seen yet: DynamoDB may show a transaction on one item before it shows it on another
 */
async function inFull(item: Outbox): Promise<Outbox> {
  if (item.parts === undefined) return item;
  const keys = partKeys(item);
  const [stored, parts] = await Promise.all([readKeys([outboxes.keyOf(item)]), findAll(outboxParts, keys)]);
  if (stored[0] === undefined) return item;
  if (parts.length < item.parts) throw new Unavailable("A part of an outbox item is not there yet.");
  return { ...item, events: [...item.events, ...parts.flatMap(({ events: texts }) => texts)] };
}

/** Outbox items in full, with their events and entries of the audit as they are published after these numbers. */
export interface Prepared {
  readonly items: readonly Outbox[];
  /** The same with their events, as they waited. */
  readonly commits: readonly PublishedCommit[];
  readonly after: NumberedTo;
  readonly published: readonly PublishedEvent[];
  readonly audits: ChainedAudits;
  /** Where the numbers end with these. */
  readonly to: NumberedTo;
}

/**
 * Makes the events and the entries of the audit of outbox items, under the numbers after these.
 * @throws Unavailable when an item is not seen in full
 */
export async function prepare(reads: RunReads, batch: readonly Outbox[], after: NumberedTo): Promise<Prepared> {
  const { last } = after;
  const items = await Promise.all(batch.map(inFull));
  const commits = items.map((outbox) => ({
    outbox,
    events: outbox.events.map((text) => JSON.parse(text) as WaitingEvent),
  }));
  const texts = commits.flatMap(({ events: own }) => own);
  const audits = auditsOf(reads.tenant, commits, after.audit);
  const announced = texts.map(({ body: { type }, account_id }) => ({ type, account_id }));
  const subscribers = await reads.subscribersTo(announced);
  const pointers = commits.flatMap((commit) =>
    commit.events.map((_, at) => (at === 0 && audits.pointers.get(commit)) || undefined),
  );
  const traces = commits.flatMap(({ outbox, events: own }) => own.map(() => outbox.trace_id));
  const published = texts.map((text, index) => ({
    ...(traces[index] === undefined ? {} : { trace_id: traces[index] }),
    ...publishedEvent(reads.tenant, text, last + index + 1, subscribers.of({ ...text, type: text.body.type })),
    ...(pointers[index] === undefined ? {} : { audit: pointers[index] }),
  }));
  const skipped = await reads.skippedAfter(after, subscribers);
  const to = { last: last + published.length, audit: audits.head, skipped };
  return { items, commits, after, published, audits, to };
}

/** Whether items were prepared for the place where the counter is. */
export function isAt({ after }: Prepared, { last, audit }: EventCounter): boolean {
  return after.last === last && after.audit.hash === audit.hash;
}

/**
 * Publishes outbox items of one tenant: each event gets the tenant's next number and its final bytes, and each entry of
 * the audit its place in the chain. One transaction moves the counter on, puts both and deletes their outbox items, so
 * numbers become visible in order and without gaps, and what is published already is recognised by its missing outbox
 * item. `ready` are the items as they were prepared ahead; they are prepared again where the counter is not where they
 * expect it.
 * @throws Unavailable when the counter is too contended or an item is not seen in full
 * @throws Error what DynamoDB says of any other failure
 */
export async function publishBatch(
  reads: RunReads,
  batch: readonly Outbox[],
  ready?: Prepared,
): Promise<readonly PublishedEvent[]> {
  let waiting = batch;
  let prepared = ready;
  for (let attempt = 1; waiting.length > 0; attempt += 1) {
    const counter = await reads.counter();
    const now = prepared !== undefined && isAt(prepared, counter) ? prepared : await prepare(reads, waiting, counter);
    const { items, published, to } = now;
    const result = await reads.numbering(to, () => tryPublish(reads.tenant, counter, now));
    if (result === "published") {
      logPublished(reads.tenant, now);
      return published;
    }
    if (result !== "again") waiting = items.filter((_, index) => !result.has(index));
    prepared = undefined;
    if (attempt === limits.commit.conflict_tries) throw new Unavailable("The event counter is too contended.");
    if (waiting.length > 0) await pause(backoffMs(attempt));
  }
  return [];
}

/** The line that leads from the requests that committed something to the events of it. */
function logPublished(tenant_id: string, { commits, published }: Prepared): void {
  let first = 0;
  const lines = commits.map(({ outbox: { trace_id }, events: own }) => {
    const ids = published.slice(first, first + own.length).map(({ id }) => id);
    first += own.length;
    return { trace_id, request_id: own[0]?.body.request_id, event_ids: ids };
  });
  log.info("published", { tenant_id, commits: lines });
}

/** One try: the outbox items that were gone already, or the order to try again from a new counter. */
async function tryPublish(
  tenant: string,
  counter: EventCounter,
  { items: batch, published, audits: { page, refs }, to }: Prepared,
): Promise<"published" | "again" | ReadonlySet<number>> {
  const outcome = await transactOnce([
    advanceCounter(tenant, counter, to),
    ...batch.map((item) => deleteMember(outboxes.keyOf(item), [isStored])),
    ...published.map((event) => putNew(events, event)),
    ...(page === undefined ? [] : [putNew(auditPages, page)]),
    ...refs.map((ref) => putNew(auditRefs, ref)),
    ...batch.flatMap(partKeys).map((key) => deleteMember(key)),
  ]);
  if (outcome.ok) return "published";
  const { codes } = outcome;
  const gone = batch.flatMap((_, index) => (codes[index + 1] === "ConditionalCheckFailed" ? [index] : []));
  if (gone.length > 0) return new Set(gone);
  if (codes.every((code) => retried.has(code) || isThrottle(code))) return "again";
  throw outcome.error;
}

const retried = new Set(["None", "ConditionalCheckFailed", "TransactionConflict"]);

function publishedEvent(
  tenant: string,
  { body, account_id, client_id }: WaitingEvent,
  sequence: number,
  subscribers: readonly WebhookEndpoint[],
): PublishedEvent {
  const moment = nowMs();
  const id = eventId(Date.parse(body.created_at), newId("evt"), sequence);
  const { type, created_at, ...rest } = body;
  const shown = {
    id,
    object: "event",
    type,
    api_version: "v2",
    created_at,
    timestamp: created_at,
    ...rest,
    data: { ...body.data, object: linked(body.data.object) },
    sequence: String(sequence),
    _links: {
      self: { href: absolute(`/v2/events/${id}`) },
      resource: { href: absolute(addressOf(body)) },
    },
  };
  const identity = { id, created_at, resource_id: body.resource.id, account_id, client_id };
  return {
    ...identity,
    tenant_id: tenant,
    sequence,
    type,
    published_at: new Date(moment).toISOString(),
    payload: packPayload(identity, JSON.stringify(shown)),
    ...(subscribers.length === 0 ? {} : dueTo(subscribers, moment)),
    expires_at: Math.floor(moment / 1000) + limits.events.kept_seconds,
  };
}

/** Where the resource of an event is: these are found by a link of their own, a command below its source. */
function addressOf({ resource: { type, id }, data }: WaitingEvent["body"]): string {
  const { _links: links } = data["object"] as { readonly _links?: { readonly self?: { readonly href: string } } };
  return (linkedTypes.has(type) ? links?.self?.href : undefined) ?? `/v2/${type}s/${id}`;
}

const linkedTypes: ReadonlySet<string> = new Set(["command", "drift", "audit_seal", "restore"]);

/** The endpoints that an event is due to, and when the sweep checks that all its deliveries exist. */
function dueTo(endpoints: readonly WebhookEndpoint[], moment: number): Pick<PublishedEvent, "endpoints" | "wake_at"> {
  return {
    endpoints: endpoints.map(({ id, epoch }) => ({ id, epoch })),
    wake_at: new Date(moment + delayMs(limits.events.unpublished_after_seconds)).toISOString(),
  };
}

/**
 * The order of the commits: by time, and by their place among those that one request decided at one moment, but never
 * against the versions of one resource, whatever the clocks of two machines say and in whatever order the items came.
 */
export function inCommitOrder(items: readonly Outbox[]): readonly Outbox[] {
  const latest = new Map<string, CommitTime>();
  const byVersion = items.toSorted((a, b) => a.root_version - b.root_version);
  const timed = byVersion.map((item) => {
    const own: CommitTime = { at: item.created_at, place: item.place ?? 0 };
    // An entry of the audit alone is of no version.
    if (item.events.length === 0) return { item, moment: own };
    const before = latest.get(item.root_id) ?? own;
    const moment = compareMoments(before, own) > 0 ? before : own;
    latest.set(item.root_id, moment);
    return { item, moment };
  });
  return timed.toSorted((a, b) => compareMoments(a.moment, b.moment)).map(({ item }) => item);
}

/** When a commit was made, and its place among those that one request decided at that moment. */
interface CommitTime {
  readonly at: string;
  readonly place: number;
}

function compareMoments(a: CommitTime, b: CommitTime): number {
  return a.at < b.at ? -1 : a.at > b.at ? 1 : a.place - b.place;
}

/** Bytes of the events of a commit, and of what its entry of the audit may say of them. */
function bytesOf({ events: texts, audit }: Outbox): number {
  const event_bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return (
    event_bytes +
    (audit === undefined ? 0 : Buffer.byteLength(audit) + Math.min(event_bytes, limits.audit.max_changes_bytes))
  );
}

/** Runs of items that fit one transaction by number and by size; one that has parts is a run of its own. */
export function batches(items: readonly Outbox[]): readonly (readonly Outbox[])[] {
  const { max_published_bytes } = limits.events;
  const runs: Outbox[][] = [];
  let [count, bytes] = [Number.POSITIVE_INFINITY, 0];
  for (const item of items) {
    const size = bytesOf(item);
    // An entry of the audit without an event has an item of its own that finds it.
    const members = 1 + Math.max(item.events.length, item.audit === undefined ? 0 : 1);
    if (count + members > limits.commit.max_items || bytes + size > max_published_bytes || item.parts !== undefined) {
      runs.push([]);
      // The counter and the page of the audit are members too.
      [count, bytes] = [2, 0];
    }
    count = item.parts === undefined ? count + members : Number.POSITIVE_INFINITY;
    bytes += size;
    runs.at(-1)?.push(item);
  }
  return runs;
}
