import { commandBody } from "../domain/feed/command/command-body.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import type { Quote } from "../domain/records/quote.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import type { Round } from "../domain/stream/cursors.ts";
import { accountNow } from "../domain/trading/live.ts";
import { quoteBody } from "../domain/trading/pricing/quote.ts";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { absolute } from "../runtime/links.ts";
import { inParallel } from "../runtime/parallel.ts";
import { readable, UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { inOrder, type MemberOrder } from "../schema/member-order.ts";
import { commands, type Key, type PublishedEvent, quotes, risks, symbols } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { payloadOf } from "../table/event-payload.ts";
import { keyIn, readPartition } from "../table/partition.ts";
import type { EventCounter } from "../table/sequences.ts";
import { findReadable, readEach } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { readHoldings } from "../trading/holdings.ts";
import { readMarket } from "../trading/market.ts";

/** An event with the very bytes of `GET /events/{id}`. */
export interface EventText {
  readonly event: PublishedEvent;
  readonly text: string;
}

/** The events of a round that can be read, and the last number that was looked at. */
interface RoundEvents {
  readonly events: readonly EventText[];
  readonly reached: number;
}

/** The newest quote of a symbol, and what GET shows of it. */
export interface QuoteText {
  readonly version: number;
  readonly text: string;
}

/** A command and what GET shows of it. */
export interface CommandText {
  readonly id: string;
  readonly source_id: string;
  readonly text: string;
}

/** Start of a snapshot, and whether there is more than `limits.stream` lets one hold. */
export interface Limited<T> {
  readonly found: readonly T[];
  readonly isCut: boolean;
}

/** The order of the members of what is sent, as its `GET` has it. */
export type StateOrders = Readonly<Record<"event" | "account" | "quote" | "command", MemberOrder>>;

/** Reads of the worker's run for all connections of a set: each thing once between two looks, for all that ask. */
export class SetReader {
  private readonly tenant: string;
  private readonly orders: StateOrders;
  private events = new Map<string, Promise<RoundEvents>>();
  private accounts = new Map<string, Promise<string | undefined>>();
  private openCommands = new Map<string, Promise<Limited<CommandText>>>();
  private onMargin: Promise<Limited<string>> | undefined;
  private terms = new Map<string, { readonly at: number; readonly symbol: TradingSymbol | undefined }>();
  /** Whether all accounts that connections follow are read until the next look. */
  valuesAll = false;
  /** The quotes that accounts were valued at, by symbol. */
  private valuedAt = new Map<string, number>();

  constructor(tenant: string, orders: StateOrders) {
    this.tenant = tenant;
    this.orders = orders;
  }

  /** Forgets what was read, except for the terms of symbols. */
  begin(): void {
    this.events = new Map();
    this.accounts = new Map();
    this.openCommands = new Map();
    this.onMargin = undefined;
  }

  /**
   * The events of a round, so many of them as one read takes.
   * @throws Unavailable when one may not be seen yet
   */
  eventsOf({ from, to }: Round, counter: EventCounter): Promise<RoundEvents> {
    return remembered(this.events, `${from} ${to}`, async () => {
      const most = limits.stream.events_per_read;
      const read = await eventsAfter<PublishedEvent>(this.tenant, from, { ...counter, last: to }, { most });
      const texts = readable(read.found).map((event) => unlessUnreadable(this.eventText(event)));
      return { events: readable(await Promise.all(texts)), reached: read.reached };
    });
  }

  private async eventText(event: PublishedEvent): Promise<EventText> {
    return { event, text: shownIn(this.orders.event, payloadOf(event, this.tenant).body) };
  }

  /** Accounts as GET shows them now, by their ids; those that do not exist are left out. */
  async accountsNow(ids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const wanted = [...new Set(ids)];
    const missing = wanted.filter((id) => !this.accounts.has(id));
    const reading = missing.length === 0 ? undefined : this.readAccounts(missing);
    for (const id of missing) {
      const own = reading?.then((found) => found.get(id));
      if (own !== undefined) this.accounts.set(id, own);
    }
    const found = await Promise.all(wanted.map(async (id) => [id, await this.accounts.get(id)] as const));
    return new Map(found.flatMap(([id, text]) => (text === undefined ? [] : [[id, text] as const])));
  }

  private async readAccounts(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { tenant } = this;
    const held = new Map<string, NonNullable<Awaited<ReturnType<typeof readHoldings>>>>();
    await inParallel(limits.stream.parallel_reads, ids, async (id) => {
      const holdings = await unlessUnreadable(readHoldings(tenant, id));
      if (holdings !== undefined && !(holdings instanceof UnreadableItem)) held.set(id, holdings);
    });
    const market = await readMarket(
      tenant,
      [...held.values()].flatMap(({ positions }) => positions),
    );
    for (const [symbol, quote] of market.quotes) {
      // The accounts that are not read now have been valued at the older one.
      if (this.valuesAll || !this.valuedAt.has(symbol)) this.valuedAt.set(symbol, quote.version);
    }
    const now = nowIso();
    return new Map(
      [...held].map(([id, holdings]) => [id, shownIn(this.orders.account, accountNow(holdings, { market, now }))]),
    );
  }

  /** Accounts in a margin call or a stop-out, as the index knows them. */
  accountsOnMargin(): Promise<Limited<string>> {
    this.onMargin ??= (async () => {
      const { snapshot_accounts } = limits.stream;
      const partitions = (["margin_call", "stop_out"] as const).flatMap((status) =>
        risks.inStatus(this.tenant, status),
      );
      const found = await Promise.all(
        partitions.map((partition) =>
          readPartition(partition, { index: indexes.state, max_items: snapshot_accounts + 1 }),
        ),
      );
      return limited(
        found.flat().map((item) => String(item["account_id"])),
        snapshot_accounts,
      );
    })();
    return this.onMargin;
  }

  /** Quotes as GET shows them now, by symbol; one that has none is left out. */
  async quotesNow(names: Iterable<string>): Promise<ReadonlyMap<string, QuoteText>> {
    const wanted = [...new Set(names)];
    const at = nowMs();
    const unknown = wanted.filter((name) => (this.terms.get(name)?.at ?? 0) < at - limits.stream.terms_remembered_ms);
    const [found, read] = await this.readSymbols(wanted, unknown);
    for (const [place, name] of unknown.entries()) this.terms.set(name, { at, symbol: read[place] as TradingSymbol });
    const now = nowIso();
    return new Map(
      wanted.flatMap((name, place) => {
        const [symbol, quote] = [this.terms.get(name)?.symbol, found[place] as Quote | undefined];
        if (symbol === undefined || quote === undefined) return [];
        const text = shownIn(this.orders.quote, quoteBody(symbol, quote, now));
        return [[name, { version: quote.version, text }] as const];
      }),
    );
  }

  private async readSymbols(names: readonly string[], unknown: readonly string[]) {
    const keys: Key[] = [
      ...names.map((name) => quotes.key(this.tenant, name)),
      ...unknown.map((name) => symbols.key(this.tenant, name)),
    ];
    const read = keys.length === 0 ? [] : await readEach(keys);
    const found = read.map((item) => (item instanceof UnreadableItem ? undefined : item));
    return [found.slice(0, names.length), found.slice(names.length)] as const;
  }

  /** Versions of the quotes that all accounts were valued at, by symbol. */
  get valued(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.valuedAt);
  }

  /** Takes it that accounts were valued at these versions, by the run before. */
  assumeValued(versions: Readonly<Record<string, number>>): void {
    this.valuedAt = new Map(Object.entries(versions));
  }

  /** Whether one of these quotes is newer than the one that accounts were valued at. */
  haveMoved(found: ReadonlyMap<string, QuoteText>): boolean {
    return [...this.valuedAt].some(([symbol, version]) => (found.get(symbol)?.version ?? version) !== version);
  }

  /** Commands of any source by their ids. */
  async commandsNow(ids: Iterable<string>): Promise<readonly CommandText[]> {
    const keys = [...new Set(ids)].map((id) => commands.key(this.tenant, id));
    return keys.length === 0 ? [] : (await findReadable(commands, keys)).map((each) => this.textOf(each));
  }

  /** The commands of a source that have not ended: those that a person settles, then in the order of their taking. */
  commandsOpen(sourceId: string): Promise<Limited<CommandText>> {
    return remembered(this.openCommands, sourceId, async () => {
      const { snapshot_commands } = limits.stream;
      const items = await Promise.all(
        (["unknown", "taken", "waiting"] as const).map((status) => {
          const partition = commands.inStatus(this.tenant, sourceId, status);
          return readPartition(partition, { index: indexes.state, max_items: snapshot_commands + 1 });
        }),
      );
      const { found, isCut } = limited(items.flat(), snapshot_commands);
      return { found: (await findReadable(commands, found.map(keyIn))).map((each) => this.textOf(each)), isCut };
    });
  }

  private textOf(command: PlatformCommand): CommandText {
    const { id, source_id } = command;
    return { id, source_id, text: shownIn(this.orders.command, commandBody(command)) };
  }
}

function limited<T>(all: readonly T[], most: number): Limited<T> {
  return { found: all.slice(0, most), isCut: all.length > most };
}

/** The answer of `GET` to a resource. */
function shownIn(order: MemberOrder, body: object): string {
  return JSON.stringify(inOrder(order, body, absolute));
}

function remembered<T>(known: Map<string, Promise<T>>, name: string, read: () => Promise<T>): Promise<T> {
  const found = known.get(name) ?? read();
  known.set(name, found);
  return found;
}
