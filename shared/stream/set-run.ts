import { channelOf } from "../domain/stream/channels.ts";
import type { StreamConnection, StreamFlag, StreamSet } from "../domain/stream/connection.ts";
import { readCursors, type StoredCursors, storedCursors } from "../domain/stream/cursors.ts";
import { nextStep, quickRuns, type Run, type Step } from "../domain/stream/pace.ts";
import { followsPrices, type StreamSubscription } from "../domain/stream/subscription.ts";
import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import type { StreamCause } from "../runtime/stream-queue.ts";
import type { ClosingCode } from "../schema/stream/server-messages.ts";
import { streamConnections, streamFlags, streamSets } from "../table/entities.ts";
import { type Condition, isStored } from "../table/expression.ts";
import { changeAndRead, changeItem } from "../table/items.ts";
import { type EventCounter, eventCounterWith } from "../table/sequences.ts";
import { findReadable } from "../table/store.ts";
import { Member } from "./member.ts";
import { leaveSet, leaveStream } from "./membership.ts";
import { StreamMeter } from "./meter.ts";
import { endConnection } from "./receive.ts";
import { type QuoteText, SetReader, type StateOrders } from "./set-reader.ts";
import { dutiesOf } from "./upkeep.ts";

/** A set that was woken, why, and until when it may be served. */
export interface SetWork {
  readonly tenant_id: string;
  readonly set: number;
  readonly causes: ReadonlySet<StreamCause>;
  /** When the last of its messages was sent, in epoch milliseconds. */
  readonly sent_ms: number;
  readonly orders: StateOrders;
  /** Epoch milliseconds: the run has ended or handed over by then. */
  readonly until_ms: number;
}

/** Members of a set that the worker alone writes. */
type Progress = Required<Pick<StreamSet, "quotes" | "quotes_at_ms" | "valued" | "accounts_at_ms" | "stalled">> & {
  readonly cursors: Readonly<Record<string, StoredCursors>>;
};

/**
 * One run of the worker over a set of connections, which it alone serves. Messages are noted after connections took
 * them, in the set, at the end of the run and every `limits.stream.cursors_written_ms`: a run that dies is repeated
 * from there, so that something is sent twice and nothing is left out.
 */
export class SetRun {
  private readonly work: SetWork;
  private readonly reader: SetReader;
  private readonly meter: StreamMeter;
  private members = new Map<string, Member>();
  private run: Run | undefined;
  /** Revision of the set whose connections are known. */
  private known: number | undefined;
  private version: number | undefined;
  private savedAt = nowMs();
  private quotesAt = 0;
  private accountsAt = 0;
  private quoteVersions = new Map<string, number>();
  /** Whether prices may have moved accounts since they were valued. */
  private accountsMoved = false;
  /** Whether it is known at which quotes the run before has valued accounts. */
  private areValued = false;
  private isOvertaken = false;
  /** Whether the last look read the quotes. */
  private readsPrices = false;
  /** Connections that this run has ended, which the set may still list. */
  private readonly dropped = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();

  constructor(work: SetWork) {
    this.work = work;
    this.reader = new SetReader(work.tenant_id, work.orders);
    this.meter = new StreamMeter(work.tenant_id);
  }

  /**
   * Serves the set until there is nothing left to do or its time is over.
   * @returns whether the run is to be carried on by another one
   * @throws Error what the table says where it cannot be read
   */
  async serve(): Promise<"done" | "hand_over"> {
    try {
      for (;;) {
        const began = nowMs();
        const counter = await this.look();
        if (counter === undefined || this.run === undefined) return "done";
        const step = await this.pass(counter, this.run, began);
        if (step.next !== "look") {
          await this.untilQuiet();
          await this.save(step.next === "end" ? began : undefined);
          return step.next === "end" ? "done" : "hand_over";
        }
        if (step.hot_until_ms !== undefined) await this.sayHot(step.hot_until_ms);
        if (nowMs() - this.savedAt >= limits.stream.cursors_written_ms) await this.save();
        if (this.isOvertaken) return "done";
        await pause(Math.max(0, began + limits.stream.batch_ms - nowMs()));
      }
    } finally {
      await this.untilQuiet();
      this.meter.write();
    }
  }

  /**
   * Reads the set, the counter and, where the set has changed, its connections; undefined when it has none, and when
   * the run before has seen what the messages are for.
   */
  private async look(): Promise<EventCounter | undefined> {
    const { tenant_id: tenant, set: number } = this.work;
    this.reader.begin();
    const keys = [streamSets.key(tenant, number), streamFlags.key(tenant)];
    const { counter, items } = await eventCounterWith(tenant, keys.slice(0, this.run === undefined ? 2 : 1));
    const [set, flag] = items as [StreamSet | undefined, StreamFlag | undefined];
    if (set === undefined || Object.keys(set.members).length === 0) return undefined;
    if (this.run === undefined && isSeen(set, this.work)) return undefined;
    if (this.run === undefined) await this.begin(set, flag);
    const isFirst = this.known === undefined;
    if (this.known !== set.revision) await this.readConnections(set);
    if (isFirst && this.work.causes.has("sweep")) await this.keep(set);
    return counter;
  }

  private async begin(set: StreamSet, flag: StreamFlag | undefined): Promise<void> {
    const now = nowMs();
    const { hot_until_ms = 0 } = flag?.sets[String(set.set)] ?? {};
    this.run = {
      began_ms: now,
      quick_runs: quickRuns(now, set),
      settles_ms: (flag?.created_at_ms ?? 0) + limits.stream.flag_settled_ms,
      hot_until_ms: hot_until_ms > now ? hot_until_ms : 0,
    };
    this.version = set.cursor_version;
    this.quotesAt = set.quotes_at_ms ?? 0;
    this.accountsAt = set.accounts_at_ms ?? 0;
    this.quoteVersions = new Map(Object.entries(set.quotes ?? {}));
    this.areValued = Object.keys(set.valued ?? {}).length > 0;
    this.reader.assumeValued(set.valued ?? {});
    this.accountsMoved = this.followsPrices && !this.areValued;
    // A connection is sent one batch in this time, by whatever run.
    const { batch_ms } = limits.stream;
    await pause(Math.min(batch_ms, Math.max(0, (set.last_run_at_ms ?? 0) + batch_ms - now)));
  }

  private async readConnections(set: StreamSet): Promise<void> {
    const { tenant_id: tenant } = this.work;
    const ids = Object.keys(set.members);
    const keys = ids.map((id) => streamConnections.key(tenant, id));
    const stored = await findReadable(streamConnections, keys);
    const present = stored.filter(({ connection_id: id }) => !this.dropped.has(id));
    const members = present.map((connection) => [connection.connection_id, this.memberOf(connection, set)] as const);
    this.members = new Map(members);
    this.known = set.revision;
    const firstJoined = Math.min(...present.map(({ connected_at }) => Date.parse(connected_at)));
    if (this.run !== undefined && Number.isFinite(firstJoined)) {
      // A publisher that read the flag before the set was in it sends no message for it, nor does a margin watch that
      // remembers that the set follows no prices.
      const isNew = set.revision !== set.seen?.revision && present.some(({ subscriptions }) => areMoved(subscriptions));
      const watched = isNew ? nowMs() + 2 * limits.stream.flag_remembered_ms : 0;
      const settles_ms = Math.max(this.run.settles_ms, firstJoined + limits.stream.flag_settled_ms, watched);
      this.run = { ...this.run, settles_ms };
    }
  }

  private memberOf(connection: StreamConnection, set: StreamSet): Member {
    const known = this.members.get(connection.connection_id);
    if (known !== undefined) {
      known.update(connection);
      return known;
    }
    const { connection_id: id, subscriptions } = connection;
    const cursors = readCursors(set.cursors?.[id], subscriptions);
    const member = new Member(
      connection,
      { reader: this.reader, meter: this.meter },
      { cursors, stalledSince: set.stalled?.[id] },
    );
    member.assumeQuotes(this.quoteVersions, this.quotesAt);
    return member;
  }

  /** Serves the members that are free, and decides what comes next. */
  private async pass(counter: EventCounter, run: Run, began_ms: number): Promise<Step> {
    this.readsPrices = this.followsPrices || run.hot_until_ms > 0;
    const quotes = this.readsPrices ? await this.readQuotes() : undefined;
    if (quotes !== undefined) this.accountsMoved ||= this.reader.haveMoved(quotes);
    const accountsDue = this.accountsMoved && began_ms >= this.accountsAt + limits.stream.account_ms;
    if (accountsDue) [this.accountsMoved, this.accountsAt] = [false, began_ms];
    this.reader.valuesAll = accountsDue;
    const found = { counter, quotes, accountsDue, until_ms: this.endsAt };
    // One whose last message has failed by now would be busy with the next one whenever it is looked at.
    this.dropEnded();
    const serving = [...this.members.values()].filter(({ isFree }) => isFree).map((member) => member.serve(found));
    for (const each of serving) this.inBackground(each);
    // A connection that takes nothing keeps no other one waiting.
    await Promise.race([Promise.all(serving), pause(Math.max(0, began_ms + limits.stream.batch_ms - nowMs()))]);
    this.dropEnded();
    const all = [...this.members.values()];
    this.quotesAt = Math.max(this.quotesAt, ...all.map(({ quotesSentAt }) => quotesSentAt));
    const pending = all.some(({ isBusy, isWaiting }) => isBusy || isWaiting) || this.accountsWait(quotes !== undefined);
    const look = { began_ms, found_ms: Math.max(0, ...all.map(({ tookAt }) => tookAt)), pending };
    const step = nextStep(run, look, nowMs());
    return step.next === "look" && nowMs() >= this.endsAt ? { next: "hand_over" } : step;
  }

  /** When the run ends at the latest, so that the last messages are taken and noted in time. */
  private get endsAt(): number {
    return this.work.until_ms - limits.stream.reserve_ms - limits.stream.post_ms;
  }

  /** Whether prices are the reason to look: what was sent of them by the run before is not known to be the newest. */
  private get followsPrices(): boolean {
    return this.work.causes.has("prices") || this.work.causes.has("handover");
  }

  /** Whether accounts wait for their time, because prices have moved. */
  private accountsWait(arePricesSeen: boolean): boolean {
    if (!(arePricesSeen && this.accountsMoved)) return false;
    const wanted = [...this.members.values()].some(({ stored }) =>
      stored.subscriptions.some((each) => channelOf(each, "accounts") ?? channelOf(each, "margin")),
    );
    return wanted;
  }

  private async readQuotes(): Promise<ReadonlyMap<string, QuoteText> | undefined> {
    const subscriptions = [...this.members.values()].flatMap(({ stored }) => stored.subscriptions);
    if (!areMoved(subscriptions)) return undefined;
    const names = subscriptions.flatMap((each) => channelOf(each, "quotes")?.symbols ?? []);
    const quotes = await this.reader.quotesNow([...names, ...Object.keys(this.reader.valued)]);
    for (const name of names) {
      const version = quotes.get(name)?.version;
      if (version !== undefined) this.quoteVersions.set(name, version);
    }
    return quotes;
  }

  /** The duties of a minute, once in a run: signs of life, ends of access, and connections that the set has lost. */
  private async keep(set: StreamSet): Promise<void> {
    const { tenant_id } = this.work;
    const all = [...this.members.values()];
    const duties = await dutiesOf(all.map(({ stored }) => stored));
    for (const [at, member] of all.entries()) {
      const { ends, ...duty } = duties[at] ?? {};
      if (ends === undefined) member.owe(duty);
      else this.drop(member, ends);
    }
    // A member of the set without a stored connection was left by a function that died.
    const lost = Object.keys(set.members).filter((id) => !this.members.has(id) && !this.dropped.has(id));
    for (const connection_id of lost) await leaveSet({ tenant_id, connection_id }, set.set);
  }

  /** Ends connections that are gone, and those that took nothing for too long, nor what this run has sent them. */
  private dropEnded(): void {
    const late = nowMs() - limits.stream.stalled_ms;
    for (const member of this.members.values()) {
      const { isBusy, isGone, isWaiting, isFailing, stalledSince = Number.POSITIVE_INFINITY } = member;
      const isEnding = isGone || (isWaiting && stalledSince < late);
      if (isEnding && !isBusy) this.drop(member, isFailing ? "going_away" : "too_slow");
    }
  }

  /** Ends a connection, while the others are served. */
  private drop(member: Member, code: ClosingCode): void {
    const place = { tenant_id: this.work.tenant_id, connection_id: member.id };
    this.members.delete(member.id);
    this.dropped.add(member.id);
    log.info("A connection was closed by the service.", { ...place, code: member.isGone ? "gone" : code });
    this.inBackground(member.isGone ? leaveStream(place) : endConnection({ ...place, ...member.recipient }, code));
  }

  private inBackground(work: Promise<void>): void {
    const own = work
      .catch((error: Error) => log.warn("A connection could not be closed by the service.", causeOf(error)))
      .finally(() => this.underWay.delete(own));
    this.underWay.add(own);
  }

  /** Says in the flag until when no message is needed for the set. */
  private async sayHot(hot_until_ms: number): Promise<void> {
    const { tenant_id, set } = this.work;
    const place = `sets.${set}`;
    const change = { set: { [`${place}.hot_until_ms`]: hot_until_ms } };
    const isNoted: Condition = { attribute: place, is: "present" };
    await changeItem(streamFlags.key(tenant_id), { ...change, when: [isStored, isNoted] });
    // From now on the margin watch sends no message either: how accounts were valued before is not known.
    if (this.run?.hot_until_ms === 0 && !this.areValued) {
      this.accountsMoved ||= [...this.members.values()].some(({ hasFormerAccounts }) => hasFormerAccounts);
    }
    if (this.run !== undefined) this.run = { ...this.run, hot_until_ms };
  }

  /** Waits for what is on its way to connections, as long as there is time. */
  private async untilQuiet(): Promise<void> {
    const left = Math.max(0, this.work.until_ms - limits.stream.reserve_ms - nowMs());
    if (this.underWay.size > 0) await Promise.race([Promise.all([...this.underWay]), pause(left)]);
  }

  /** Notes what was taken and, where the run ends by itself, when its last look began. */
  private async save(ended_look_ms?: number): Promise<void> {
    const { tenant_id, set } = this.work;
    // Before the cursors: what a run that dies in between has sent is sent again, and counted both times.
    this.meter.write();
    this.savedAt = nowMs();
    const cursor_version = (this.version ?? 0) + 1;
    const isMine: Condition =
      this.version === undefined
        ? { attribute: "cursor_version", is: "absent" }
        : { attribute: "cursor_version", is: "equal", value: this.version };
    const { quick_runs } = this.run ?? { quick_runs: 0 };
    const seen = ended_look_ms && { at_ms: ended_look_ms, revision: this.known, prices: this.readsPrices };
    const saved = await changeAndRead<StreamSet>(streamSets.key(tenant_id, set), {
      set: { ...this.progress(), quick_runs, cursor_version, last_run_at_ms: nowMs(), ...(seen && { seen }) },
      remove: seen ? [] : ["seen"],
      when: [isStored, isMine],
    });
    if (saved.ok) this.version = cursor_version;
    // The set is gone, or its message came again while this run was thought dead: the other one goes on.
    else this.isOvertaken = true;
  }

  private progress(): Progress {
    const all = [...this.members.values()];
    const cursors = all.flatMap(({ id, cursors: own }) => (own.size === 0 ? [] : [[id, storedCursors(own)] as const]));
    const stalled = all.flatMap(({ id, stalledSince }) => (stalledSince === undefined ? [] : [[id, stalledSince]]));
    const quotes = [...this.quoteVersions].filter(([symbol, version]) =>
      all.every((member) => member.hasQuote(symbol, version)),
    );
    return {
      cursors: Object.fromEntries(cursors),
      stalled: Object.fromEntries(stalled),
      quotes: Object.fromEntries(quotes),
      quotes_at_ms: this.quotesAt,
      valued: this.reader.valued,
      accounts_at_ms: this.accountsAt,
    };
  }
}

/**
 * Whether the last look of the run before began after the messages were sent, and so has seen what they are for. A
 * sweep and a run that handed over want a look in any case, and prices one that read the quotes.
 */
function isSeen({ revision, seen }: StreamSet, { causes, sent_ms }: SetWork): boolean {
  if (seen === undefined || seen.revision !== revision || causes.has("sweep") || causes.has("handover")) return false;
  if (causes.has("prices") && !seen.prices) return false;
  return sent_ms + limits.stream.clocks_differ_ms < seen.at_ms;
}

/** Whether prices alone change what these subscriptions send. */
function areMoved(subscriptions: readonly StreamSubscription[]): boolean {
  return subscriptions.some(({ channels }) => channels.some(followsPrices));
}
