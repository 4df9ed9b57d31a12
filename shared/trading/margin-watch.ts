import type { DynamoDBRecord } from "aws-lambda";
import type { StreamFlag } from "../domain/stream/connection.ts";
import { looksByItself } from "../domain/stream/pace.ts";
import { isSilent } from "../domain/trading/pricing/source.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { keepLast } from "../runtime/keep-last.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { sendStreamWakes } from "../runtime/stream-queue.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import { pulses, type StoredPulse, type StoredQuote, streamFlags } from "../table/entities.ts";
import { readEach } from "../table/store.ts";
import { readRawItem, readRecords } from "../table/table.ts";
import { recordBreach } from "./breaches.ts";
import { bringsPrice, exposedTo, noteShards, quoteOf, waitingAccounts } from "./exposed-accounts.ts";
import { sendAccounts } from "./margin-queue.ts";

/** A change of the market of a tenant, and the stream records that report it. */
interface MarketEvent {
  /** Its subject; of several events with one subject the last one counts. */
  readonly name: string;
  readonly sequences: readonly string[];
  readonly work: (receivedMs: number) => Promise<void>;
}

/**
 * Enqueues the accounts to evaluate at new prices: those whose trigger the newest quote of a symbol meets, and when a
 * source is heard of again, those that wait for any price. Returns the sequence numbers of the records that failed and
 * are to be delivered again.
 */
export async function watchMarket(records: readonly DynamoDBRecord[]): Promise<ReadonlySet<string>> {
  const receivedMs = nowMs();
  const marketEvents = new Map<string, MarketEvent>();
  for (const next of readRecords(records, marketEventOf)) {
    const known = marketEvents.get(next.name)?.sequences ?? [];
    marketEvents.set(next.name, { ...next, sequences: [...known, ...next.sequences] });
  }
  const failed = new Set<string>();
  const streaming = wakeStreams(quotedTenants(records));
  await inParallel(limits.margin.parallel_symbols, [...marketEvents.values()], async ({ name, sequences, work }) => {
    await work(receivedMs).catch((error: Error) => {
      for (const sequence of sequences) failed.add(sequence);
      log.error("The margin watch failed for a price or account.", { about: name, ...causeOf(error) });
    });
  });
  await streaming;
  return failed;
}

/** The tenants that records report new quotes of. */
function quotedTenants(records: readonly DynamoDBRecord[]): ReadonlySet<string> {
  return new Set(records.filter(bringsPrice).flatMap(({ dynamodb }) => dynamodb?.NewImage?.["tenant_id"]?.S ?? []));
}

/** The market event of a record; undefined when no account is evaluated for it. */
function marketEventOf(record: DynamoDBRecord): MarketEvent | undefined {
  const { NewImage: image, OldImage: old, SequenceNumber: sequence = "" } = record.dynamodb ?? {};
  const sequences = [sequence];
  const quote = quoteOf(record);
  if (quote !== undefined) {
    return { name: `${quote.tenant_id} quote ${quote.symbol}`, sequences, work: (at) => watchQuote(quote, at) };
  }
  if (record.eventName === "REMOVE" || image?.["et"]?.S !== pulses.et) return undefined;
  const { tenant_id: tenant, name, heartbeat_at } = readRawItem<StoredPulse>(image);
  const before = old === undefined ? undefined : readRawItem<StoredPulse>(old);
  if (!isSilent(before, heartbeat_at)) return undefined;
  return { name: `${tenant} source ${name}`, sequences, work: (at) => wakeWaiting(tenant, at) };
}

/** An evaluation reads the newest prices, so an account that is found by an older one is evaluated at them too. */
async function watchQuote(quote: StoredQuote, receivedMs: number): Promise<void> {
  const { tenant_id: tenant, symbol } = quote;
  let met = 0;
  for await (const accountIds of exposedTo(quote)) {
    met += accountIds.length;
    await recordBreach(tenant, symbol);
    await wakeAccounts(tenant, accountIds, receivedMs);
  }
  await noteShards(quote, met);
}

async function wakeWaiting(tenant: string, receivedMs: number): Promise<void> {
  for await (const accountIds of waitingAccounts(tenant)) await wakeAccounts(tenant, accountIds, receivedMs);
}

/**
 * The moment from which the last message of each account covers its prices, in milliseconds, oldest message first. It
 * only saves messages: an account that is forgotten is enqueued once more.
 */
const coveredFrom = new Map<string, number>();

/**
 * Asks for an evaluation of accounts, of each at once and then at most once in a window. A message covers every price
 * that was there before it is seen: all of the batch that it is sent for, and with a delay what comes until then. One
 * that may have been seen is followed by another at the end of the window, so that the last price of a burst is judged.
 */
async function wakeAccounts(tenant: string, accountIds: readonly string[], receivedMs: number): Promise<void> {
  const windowMs = delayMs(limits.margin.window_seconds);
  const now = nowMs();
  const [first, later]: [string[], string[]] = [[], []];
  for (const id of new Set(accountIds)) {
    const last = coveredFrom.get(id);
    if (last !== undefined && (now < last || receivedMs <= last)) continue;
    const follows = last !== undefined && now < last + windowMs;
    (follows ? later : first).push(id);
    remember(id, follows ? now + windowMs : now);
  }
  await Promise.all([sendOrForget(tenant, first, 0), sendOrForget(tenant, later, limits.margin.window_seconds)]);
}

function remember(id: string, ms: number): void {
  coveredFrom.delete(id);
  coveredFrom.set(id, ms);
  if (coveredFrom.size <= limits.margin.remembered_accounts) return;
  const [oldest] = coveredFrom.keys();
  if (oldest !== undefined) coveredFrom.delete(oldest);
}

async function sendOrForget(tenant: string, ids: readonly string[], delaySeconds: number): Promise<void> {
  if (ids.length === 0) return;
  try {
    await sendAccounts(tenant, ids, delaySeconds);
  } catch (error) {
    for (const id of ids) coveredFrom.delete(id);
    throw error;
  }
}

/** The flags of brokerages as they were read a moment ago, those without connections included. */
const flags = new Map<string, { readonly at: number; readonly flag: StreamFlag | undefined }>();

/**
 * Wakes the worker of the stream for sets with connections that follow prices, of tenants whose prices have moved,
 * unless a run looks at the set by itself. Whether a tenant has such connections is read at most once in
 * `limits.stream.flag_remembered_ms`. A failure is no error of the margin watch: the next price wakes the sets.
 */
export async function wakeStreams(tenants: ReadonlySet<string>): Promise<void> {
  try {
    const found = await flagsOf([...tenants]);
    const now = nowMs();
    const wakes = found.flatMap((flag) =>
      Object.entries(flag.sets).flatMap(([set, state]) =>
        state.prices === undefined || looksByItself(state, now)
          ? []
          : [{ tenant_id: flag.tenant_id, set: Number(set), cause: "prices" } as const],
      ),
    );
    if (wakes.length > 0) await sendStreamWakes(wakes);
  } catch (error) {
    countMetric("StreamWakeFailed");
    log.error("The stream could not be woken for a price.", causeOf(error));
  }
}

async function flagsOf(tenants: readonly string[]): Promise<StreamFlag[]> {
  const at = nowMs();
  const unknown = tenants.filter((tenant) => at - (flags.get(tenant)?.at ?? 0) >= limits.stream.flag_remembered_ms);
  const read = unknown.length === 0 ? [] : await readEach<StreamFlag>(unknown.map((tenant) => streamFlags.key(tenant)));
  for (const [place, tenant] of unknown.entries()) {
    const flag = read[place];
    rememberFlag(tenant, at, flag instanceof UnreadableItem ? undefined : flag);
  }
  return tenants.flatMap((tenant) => flags.get(tenant)?.flag ?? []);
}

function rememberFlag(tenant: string, at: number, flag: StreamFlag | undefined): void {
  keepLast(flags, tenant, { at, flag }, limits.trading.symbols_cached_tenants);
}
