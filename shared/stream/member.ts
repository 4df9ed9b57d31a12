import { batchesOf, eventMember, stateMember } from "../domain/stream/batches.ts";
import { accountTouched, channelOf, commandTouched, sendsEvent } from "../domain/stream/channels.ts";
import type { StreamConnection } from "../domain/stream/connection.ts";
import {
  advanced,
  type ConnectionCursors,
  nextRound,
  type Round,
  withNew,
  withSynced,
} from "../domain/stream/cursors.ts";
import { helloMessage } from "../domain/stream/replies.ts";
import { dueQuotes, type SentQuotes, slotOf, withSent } from "../domain/stream/slots.ts";
import type { StreamSubscription } from "../domain/stream/subscription.ts";
import type { Duty } from "../domain/stream/upkeep.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { absolute } from "../runtime/links.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import { streamConnections } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import type { EventCounter } from "../table/sequences.ts";
import { postTo, type Recipient } from "./connections.ts";
import type { StreamMeter } from "./meter.ts";
import { untilPostAllowed } from "./post-limiter.ts";
import type { EventText, Limited, QuoteText, SetReader } from "./set-reader.ts";

/** Result of a look of a run, for all members of its set. */
export interface Found {
  readonly counter: EventCounter;
  /** The newest quotes; undefined where prices are not looked at. */
  readonly quotes: ReadonlyMap<string, QuoteText> | undefined;
  /** Accounts that are due because prices have moved; those of a subscription that lists them or watches margins. */
  readonly accountsDue: boolean;
  /** Replays go on until then, in epoch milliseconds. */
  readonly until_ms: number;
}

/** Thrown where a message was not taken: what it was for is not done. */
class NotTaken extends Error {}

/** A connection of a set while a run serves it. */
export class Member {
  /** How far its subscriptions are: nothing is counted as sent before the connection took it. */
  cursors: ConnectionCursors;
  /** Quotes that it has. */
  quotes: SentQuotes = new Map();
  /** Whether messages are on their way to it. */
  isBusy = false;
  /** Whether something waits for its time, or could not be sent. */
  isWaiting = false;
  /** Whether API Gateway says that there is no such connection. */
  isGone = false;
  /** Since when it takes nothing, or cannot be served, in epoch milliseconds. */
  stalledSince: number | undefined;
  /** Whether it cannot be served for a fault of this service. */
  isFailing = false;
  /** When it took something the last time, in epoch milliseconds; 0 for never in this run. */
  tookAt = 0;
  /** When a quote was sent to it the last time, in epoch milliseconds. */
  quotesSentAt = 0;
  /** Revisions of the subscriptions that had their snapshots before this run. */
  private readonly former: ReadonlySet<number>;
  private duty: Duty = {};
  private connection: StreamConnection;
  /** As it was stored by now: a message of the client that arrives while messages are on their way. */
  private latest: StreamConnection;
  private readonly run: { readonly reader: SetReader; readonly meter: StreamMeter };

  constructor(
    connection: StreamConnection,
    run: Member["run"],
    before: { readonly cursors: ConnectionCursors; readonly stalledSince: number | undefined },
  ) {
    this.connection = connection;
    this.latest = connection;
    this.run = run;
    this.cursors = before.cursors;
    this.former = new Set([...before.cursors].filter(([, { synced }]) => synced).map(([revision]) => revision));
    this.stalledSince = before.stalledSince;
  }

  get id(): string {
    return this.connection.connection_id;
  }

  private get reader(): SetReader {
    return this.run.reader;
  }

  /** Receives its messages, and is counted for them. */
  get recipient(): Recipient {
    return { connection_id: this.id, holder_id: this.connection.holder.id, meter: this.run.meter };
  }

  /** The connection as it was stored last. */
  get stored(): StreamConnection {
    return this.latest;
  }

  /** Takes over what the client has subscribed to since, from the next time on that it is served. */
  update(connection: StreamConnection): void {
    this.latest = connection;
  }

  /** Whether its handshake may not be answered yet: until then API Gateway knows no such connection. */
  private get isJoining(): boolean {
    return nowMs() < Date.parse(this.connection.connected_at) + limits.stream.joined_within_ms;
  }

  /** Whether it is served at a look, which come once in `limits.stream.batch_ms`. */
  get isFree(): boolean {
    return !(this.isBusy || this.isGone);
  }

  /**
   * Sends what is due: the greeting, events in their order, what they touched, snapshots of new subscriptions, and
   * states that prices moved. Messages that are not taken stay due.
   */
  async serve(found: Found): Promise<void> {
    this.isBusy = true;
    this.isWaiting = true;
    try {
      this.connection = this.latest;
      await this.greet(found);
      await this.keep(found);
      this.cursors = withNew(this.cursors, this.connection.subscriptions, found.counter.last);
      const isThere = await this.sendEvents(found);
      if (isThere) await this.sync(found);
      const quotesWait = await this.sendMoved(found);
      this.isWaiting = !isThere || quotesWait;
    } catch (error) {
      if (!(error instanceof NotTaken || isUnavailable(error))) {
        log.error("A connection could not be served.", { connection_id: this.id, ...causeOf(error) });
        this.isFailing = true;
        this.stalledSince ??= nowMs();
      }
    } finally {
      this.isBusy = false;
    }
  }

  /** Whether it follows accounts whose snapshots were sent before this run, at prices that are not known. */
  get hasFormerAccounts(): boolean {
    return this.latest.subscriptions.some(
      (each) => this.former.has(each.revision) && (channelOf(each, "accounts") ?? channelOf(each, "margin")),
    );
  }

  /** Adds to the next messages that it is sent. */
  owe(duty: Duty): void {
    this.duty = duty;
  }

  /** Takes it that synchronized subscriptions have these versions of quotes, which were sent no later than then. */
  assumeQuotes(versions: ReadonlyMap<string, number>, at_ms: number): void {
    const synced = this.latest.subscriptions.filter(({ revision }) => this.cursors.get(revision)?.synced);
    const slots = synced.flatMap((each) =>
      (channelOf(each, "quotes")?.symbols ?? []).map(
        (symbol) => [slotOf(each, symbol), { version: versions.get(symbol), at_ms }] as const,
      ),
    );
    this.quotes = new Map(slots);
  }

  /** Whether it has these quotes, as far as it subscribed to their symbols. */
  hasQuote(symbol: string, version: number): boolean {
    return this.latest.subscriptions
      .filter((each) => channelOf(each, "quotes")?.symbols.includes(symbol))
      .every((each) => this.quotes.get(slotOf(each, symbol))?.version === version);
  }

  private async greet({ counter }: Found): Promise<void> {
    if (this.connection.hello_sent) return;
    await this.post([JSON.stringify(helloMessage(this.connection, counter.last))]);
    await changeItem(streamConnections.keyOf(this.connection), { set: { hello_sent: true }, when: [isStored] });
    this.connection = { ...this.connection, hello_sent: true };
    if (!this.latest.hello_sent) this.latest = { ...this.latest, hello_sent: true };
  }

  /** Sends what a minute brings: a sign of life, and that the connection is about to end. */
  private async keep({ counter }: Found): Promise<void> {
    const { heartbeat, expiring } = this.duty;
    if (heartbeat) await this.post([JSON.stringify({ type: "heartbeat", sequence: String(counter.last) })]);
    const expires_at = new Date(this.connection.closes_at * 1000).toISOString();
    if (expiring) await this.postMembers([JSON.stringify({ type: "expiring", expires_at })]);
    this.duty = {};
  }

  /** Drops subscriptions that have ended since this look began, so that a long replay of one ends with it. */
  private forgetEnded(): void {
    const kept = new Set(this.latest.subscriptions.map(({ revision }) => revision));
    const subscriptions = this.connection.subscriptions.filter(({ revision }) => kept.has(revision));
    if (subscriptions.length === this.connection.subscriptions.length) return;
    this.connection = { ...this.connection, subscriptions };
    this.cursors = new Map([...this.cursors].filter(([revision]) => kept.has(revision)));
  }

  /** Sends events round by round; whether all subscriptions are at the head. */
  private async sendEvents(found: Found): Promise<boolean> {
    for (;;) {
      this.forgetEnded();
      const round = nextRound(this.cursors, found.counter.last);
      if (round === undefined) return true;
      if (nowMs() >= found.until_ms) return false;
      const { events, reached } = await this.reader.eventsOf(round, found.counter);
      await this.postMembers(await this.membersOf(round, events));
      this.cursors = advanced(this.cursors, round, reached);
    }
  }

  /** Events of a round for the subscriptions that send them, then the states that they touched. */
  private async membersOf({ revisions }: Round, events: readonly EventText[]): Promise<string[]> {
    const own = this.connection.subscriptions.filter(({ revision }) => revisions.has(revision));
    const members = events.flatMap(({ event, text }) => {
      const ids = own.filter((each) => sendsEvent(each, event)).map(({ id }) => id);
      return ids.length === 0 ? [] : [eventMember(ids, { ...event, href: absolute(`/v2/events/${event.id}`) }, text)];
    });
    // A subscription that is not complete yet gets a snapshot, which is newer than these events.
    const live = own.filter(({ revision }) => this.cursors.get(revision)?.synced);
    const touched = events.map(({ event }) => event);
    const accounts = idsBy(live, (each) => touched.map((event) => accountTouched(each, event)));
    const commands = idsBy(live, (each) => touched.map((event) => commandTouched(each, event)));
    return [...members, ...(await this.accountMembers(accounts)), ...(await this.commandMembers(commands))];
  }

  private async accountMembers(owed: ReadonlyMap<string, readonly StreamSubscription[]>): Promise<string[]> {
    if (owed.size === 0) return [];
    const texts = await this.reader.accountsNow(owed.keys());
    return [...owed].flatMap(([id, subscriptions]) => {
      const text = texts.get(id);
      return text === undefined ? [] : [stateMember("account", namesOf(subscriptions), text)];
    });
  }

  private async commandMembers(owed: ReadonlyMap<string, readonly StreamSubscription[]>): Promise<string[]> {
    if (owed.size === 0) return [];
    return (await this.reader.commandsNow(owed.keys())).flatMap(({ id, source_id, text }) => {
      const wanted = (owed.get(id) ?? []).filter((each) => channelOf(each, "commands")?.source_id === source_id);
      return wanted.length === 0 ? [] : [stateMember("command", namesOf(wanted), text)];
    });
  }

  /** Sends snapshots and the end of the replay to subscriptions that have come to the head. */
  private async sync({ counter }: Found): Promise<void> {
    const waiting = this.connection.subscriptions.filter(({ revision }) => !this.cursors.get(revision)?.synced);
    for (const subscription of waiting) {
      const members: string[] = [];
      for (const { name } of subscription.channels) {
        const { found, isCut } = await this.snapshotOf(subscription, name);
        const end = { type: "sync_end", subscription: subscription.id, channel: name, sequence: String(counter.last) };
        members.push(...found, JSON.stringify(isCut ? { ...end, truncated: true } : end));
      }
      await this.postMembers(members);
      this.cursors = withSynced(this.cursors, new Set([subscription.revision]));
    }
  }

  private async snapshotOf(
    subscription: StreamSubscription,
    name: StreamSubscription["channels"][number]["name"],
  ): Promise<Limited<string>> {
    const accountsOf = (ids: readonly string[]) => this.accountMembers(new Map(ids.map((id) => [id, [subscription]])));
    const whole = (found: readonly string[]) => ({ found, isCut: false });
    if (name === "accounts") return whole(await accountsOf(channelOf(subscription, name)?.ids ?? []));
    if (name === "margin") {
      const { found, isCut } = await this.reader.accountsOnMargin();
      return { found: await accountsOf(found), isCut };
    }
    if (name === "commands") {
      const { found, isCut } = await this.reader.commandsOpen(channelOf(subscription, name)?.source_id ?? "");
      return { found: found.map(({ text }) => stateMember("command", [subscription.id], text)), isCut };
    }
    if (name !== "quotes") return whole([]);
    const found = await this.reader.quotesNow(channelOf(subscription, name)?.symbols ?? []);
    const now = nowMs();
    const sent = [...found].map(([symbol, { version }]) => ({ symbol, version, subscriptions: [subscription] }));
    this.quotes = withSent(this.quotes, sent, now);
    this.quotesSentAt = now;
    return whole([...found.values()].map(({ text }) => stateMember("quote", [subscription.id], text)));
  }

  /** Sends quotes and accounts that prices moved; whether a quote waits for its time. */
  private async sendMoved({ quotes, accountsDue }: Found): Promise<boolean> {
    const live = this.connection.subscriptions.filter(({ revision }) => this.cursors.get(revision)?.synced);
    const versions = new Map([...(quotes ?? [])].map(([symbol, { version }]) => [symbol, version]));
    const { due, waiting } = dueQuotes(live, versions, this.quotes, nowMs());
    const members = due.map(({ symbol, subscriptions }) =>
      stateMember("quote", namesOf(subscriptions), quotes?.get(symbol)?.text ?? ""),
    );
    if (accountsDue) {
      const watchesMargin = live.some((each) => channelOf(each, "margin"));
      const onMargin = watchesMargin ? (await this.reader.accountsOnMargin()).found : [];
      const accounts = idsBy(live, (each) => [
        ...(channelOf(each, "accounts")?.ids ?? []),
        ...(channelOf(each, "margin") === undefined ? [] : onMargin),
      ]);
      members.push(...(await this.accountMembers(accounts)));
    }
    const now = nowMs();
    await this.postMembers(members);
    this.quotes = withSent(this.quotes, due, now);
    if (due.length > 0) this.quotesSentAt = now;
    return waiting;
  }

  private postMembers(members: readonly string[]): Promise<void> {
    return this.post(batchesOf(members));
  }

  /** @throws NotTaken at the first message that the connection does not take */
  private async post(texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      await untilPostAllowed();
      const posted = await postTo(this.recipient, text);
      if (posted === "gone" && !this.isJoining) this.isGone = true;
      else if (posted !== "sent") this.stalledSince ??= nowMs();
      if (posted !== "sent") throw new NotTaken();
      this.stalledSince = undefined;
      this.tookAt = nowMs();
    }
  }
}

function namesOf(subscriptions: readonly StreamSubscription[]): string[] {
  return subscriptions.map(({ id }) => id);
}

/** Subscriptions by the identifiers that they are owed something about. */
function idsBy(
  subscriptions: readonly StreamSubscription[],
  idsOf: (subscription: StreamSubscription) => readonly (string | undefined)[],
): ReadonlyMap<string, readonly StreamSubscription[]> {
  const found = new Map<string, StreamSubscription[]>();
  for (const subscription of subscriptions) {
    for (const id of new Set(idsOf(subscription))) {
      if (id !== undefined) found.set(id, [...(found.get(id) ?? []), subscription]);
    }
  }
  return found;
}
