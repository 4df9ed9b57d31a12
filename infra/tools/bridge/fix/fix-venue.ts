import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { UsageError } from "../../../../shared/runtime/command-line.ts";
import type { MoneyHook } from "../money-hook.ts";
import type { CloseCommand, MoneyCommand, Outcome, Venue, VenueEvent, VenueSink } from "../venue.ts";
import { dictionaryOf, type FixEngine, type FixSent, type FixView, silentLoggers } from "./engine.ts";
import { type BridgeSession, sessionClass } from "./fix-session.ts";
import { Gate } from "./gate.ts";
import { SentNumbers } from "./numbers.ts";
import { type Get, Orders } from "./orders.ts";
import { quantityOf, type TranslateConfig, translate } from "./translate.ts";

/** A session with a venue, as `bridge.json` describes it. */
export interface FixSettings extends TranslateConfig {
  readonly host: string;
  readonly port: number;
  /** Version of FIX: `FIX.4.4` by default, or `FIX.4.2`. */
  readonly begin_string?: "FIX.4.2" | "FIX.4.4";
  readonly sender_comp_id: string;
  readonly target_comp_id: string;
  readonly username?: string;
  readonly password?: string;
  readonly heartbeat_seconds?: number;
  /** Symbols whose prices are subscribed to. */
  readonly symbols?: readonly string[];
  /** Files of the connection over TLS. */
  readonly tls?: { readonly ca?: readonly string[]; readonly key?: string; readonly cert?: string };
  /** The venue reports the profit of every deal, and the bridge books all money, from the opening of each account. */
  readonly complete_ledger?: boolean;
}

/** The first wait before a new connection; each that fails doubles it, up to the longest. */
const reconnectMs = { first: 500, longest: 4000 } as const;
/** Time that the end of a session has when the bridge stops. The engine cannot be kept from connecting meanwhile. */
const stopMs = 1000;
/** A gap that the venue does not fill for so long is asked for again by a new logon. */
const gapLimitMs = 5000;
/** Messages by which a venue refuses one of the bridge: Reject, BusinessMessageReject, MarketDataRequestReject. */
const refusals = ["3", "j", "Y"];

/** What the engine says of a connection that ended names its own states only. */
const endedText = /^unexpected state/;

/** Why there is no session, for the person who wrote the configuration. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : "";
  return text === "" || endedText.test(text) ? "it ended the connection before the logon" : text;
}

/** A venue over FIX, as a drop-copy client: it takes every report once, in order, across the death of either side. */
export class FixVenue implements Venue {
  readonly knowsBalances: boolean;
  readonly reportsMoney = false;
  private readonly settings: FixSettings;
  private readonly engine: FixEngine;
  private readonly hook: MoneyHook;
  private readonly say: (sentence: string) => void;
  private readonly logonLimitMs: number;
  private readonly sent: SentNumbers;
  private readonly stopping = new AbortController();
  private readonly orders = new Orders();
  private gate = new Gate(1);
  private session: BridgeSession | undefined;
  private ready = false;
  private work: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly settings: FixSettings;
    readonly engine: FixEngine;
    readonly hook: MoneyHook;
    readonly folder: string;
    readonly say: (sentence: string) => void;
    /** The venue answers a logon within so long. */
    readonly logonLimitMs?: number;
  }) {
    const { settings, engine, hook, folder, say, logonLimitMs = 15_000 } = options;
    this.logonLimitMs = logonLimitMs;
    this.knowsBalances = settings.complete_ledger ?? false;
    this.settings = settings;
    this.engine = engine;
    this.hook = hook;
    this.say = say;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.sent = new SentNumbers(join(folder, "fix-sent"), (error) => {
      say(`The numbers of the session cannot be kept: ${String(error)}`);
      this.stopping.abort();
    });
  }

  async start(cursor: number, sink: VenueSink): Promise<void> {
    this.gate = new Gate(cursor + 1);
    await this.sent.start();
    this.work = this.connect(sink);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.session?.requestStop("The bridge stops.");
    await Promise.race([this.work, pause(stopMs, undefined, { ref: false })]);
    await this.sent.stop();
  }

  money(command: MoneyCommand): Promise<Outcome> {
    return this.hook(command);
  }

  async close(command: CloseCommand): Promise<Outcome> {
    const { command_id, position_id, side, symbol, lots, platform_login } = command;
    if (quantityOf(lots, symbol, this.settings) === undefined) {
      const message = `${lots} lots of ${symbol} are no quantity that an order can carry exactly.`;
      return { status: "failed", error: { code: "invalid_lots", message } };
    }
    const order = { id: command_id, platform_login, symbol, side, lots, effect: "C" };
    const error = { code: "venue_offline", message: "The session is not logged on." };
    const notSent = () => this.orders.settle(command_id, { status: "not_sent", error });
    return this.orders.outcomeOf(command_id, position_id, () => {
      const isSent = this.order(order, (failure, sent) => {
        if (failure) notSent();
        else if (sent?.header?.MsgSeqNum !== undefined) this.orders.sent(command_id, sent.header.MsgSeqNum);
      });
      if (!isSent) notSent();
    });
  }

  /** Sends an order, at the market without a price; returns whether the session was there to send it. */
  order(
    order: Pick<CloseCommand, "platform_login" | "symbol" | "side" | "lots"> & {
      id: string;
      price?: number;
      effect?: string;
    },
    callback?: FixSent,
  ): boolean {
    const { session, ready, settings } = this;
    const OrderQty = quantityOf(order.lots, order.symbol, settings);
    if (session === undefined || !ready || OrderQty === undefined) return false;
    session.transmit(
      "D",
      {
        ...{ ClOrdID: order.id, HandlInst: "1", Account: order.platform_login, TransactTime: new Date() },
        ...{ Symbol: order.symbol, Instrument: { Symbol: order.symbol }, Side: order.side === "buy" ? "1" : "2" },
        ...{ OrderQty, OrderQtyData: { OrderQty }, OrdType: order.price === undefined ? "1" : "2" },
        ...(order.price !== undefined && { Price: order.price }),
        ...(order.effect !== undefined && { PositionEffect: order.effect }),
      },
      callback,
    );
    return true;
  }

  private async connect(sink: VenueSink): Promise<void> {
    const { signal } = this.stopping;
    let wait: number = reconnectMs.first;
    let said: string | undefined;
    while (!signal.aborted) {
      const gaps = setInterval(() => this.endAtGap(), gapLimitMs);
      const reason = await this.connectOnce(sink).then(() => reasonOf(undefined), reasonOf);
      clearInterval(gaps);
      clearTimeout(this.unanswered);
      const { host, port } = this.settings;
      const refused = `No session with the venue at ${host}:${port} (${reason})`;
      const sentence = this.ready ? "The session with the venue has ended" : refused;
      // A venue that is away is reported once, and each end of a session.
      if ((this.ready || sentence !== said) && !signal.aborted) this.say(`${sentence}; connecting again.`);
      said = sentence;
      if (this.ready) wait = reconnectMs.first;
      this.ready = false;
      this.session = undefined;
      await pause(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(2 * wait, reconnectMs.longest);
    }
  }

  private unanswered: NodeJS.Timeout | undefined;

  /** From here on the session can be ended: the engine reports no end of one that has no connection. */
  private isConnected(session: BridgeSession): void {
    if (this.stopping.signal.aborted) {
      session.requestStop("The bridge stops.");
      throw new Error("The bridge stops.");
    }
    this.session = session;
    this.unanswered = setTimeout(() => this.endUnanswered(), this.logonLimitMs);
  }

  /** Ends a connection whose logon the venue does not answer, as a firewall or the port of another service does. */
  private endUnanswered(): void {
    if (!this.ready) this.session?.requestStop("it does not answer the logon");
  }

  private gapAt: number | undefined;

  /** Ends a session whose gap has not moved since the last look: the next logon asks for it again. */
  private endAtGap(): void {
    const { hasGap, next } = this.gate;
    if (this.ready && hasGap && this.gapAt === next) this.session?.requestStop("The venue did not fill a gap.");
    this.gapAt = hasGap ? next : undefined;
  }

  private connectOnce(sink: VenueSink): Promise<unknown> {
    const { engine, gate, sent } = this;
    const Session = sessionClass(engine);
    const makeSession = (config: ConstructorParameters<typeof Session>[0]) => {
      const session: BridgeSession = new Session(config, gate, sent, {
        connected: () => this.isConnected(session),
        taken: (type, view) => this.taken(type, view, sink),
        held: (seq, type, error) => this.isHeld({ seq, type }, error, sink),
        reset: () => sink.record([], gate.next - 1),
        behind: (seq) => this.isBehind(seq),
        ready: () => this.isReady(),
        loggedOut: (text) => this.loggedOut(text),
      });
      // The engine emits its end as an error, which ends the process where no run of the session listens for it.
      session.on("error", () => undefined);
      return session;
    };
    const launcher = new (class extends engine.SessionLauncher {
      protected override makeFactory() {
        return { makeSession };
      }
    })(this.description(), null, silentLoggers);
    return launcher.run();
  }

  private description() {
    const { settings } = this;
    const begin = settings.begin_string ?? "FIX.4.4";
    const tcp = { host: settings.host, port: settings.port, ...(settings.tls !== undefined && { tls: settings.tls }) };
    const application = { type: "initiator", name: "bridge", protocol: "ascii", dictionary: dictionaryOf(begin) };
    return {
      application: { ...application, tcp, reconnectSeconds: 1, connectTimeoutSeconds: 5 },
      ...{ BeginString: begin, SenderCompId: settings.sender_comp_id, TargetCompID: settings.target_comp_id },
      ...(settings.username !== undefined && { Username: settings.username, Password: settings.password }),
      ...{ HeartBtInt: settings.heartbeat_seconds ?? 30, EncryptMethod: 0, ResetSeqNumFlag: false, BodyLengthChars: 7 },
    };
  }

  private isReady(): void {
    this.ready = true;
    this.say("The session with the venue is logged on.");
    const { symbols = [] } = this.settings;
    if (symbols.length === 0) return;
    const NoRelatedSym = symbols.map((name) => ({ Symbol: name, Instrument: { Symbol: name } }));
    const NoMDEntryTypes = [{ MDEntryType: "0" }, { MDEntryType: "1" }];
    this.session?.transmit("V", {
      ...{ MDReqID: `prices-${Date.now()}`, SubscriptionRequestType: "1", MarketDepth: 1, MDUpdateType: 0 },
      ...{ NoMDEntryTypes, MDReqGrp: { NoMDEntryTypes }, NoRelatedSym, InstrmtMDReqGrp: { NoRelatedSym } },
    });
  }

  private isBehind(seq: number): void {
    const expected = `message ${this.gate.next} was expected`;
    this.say(`The venue logged on with message ${seq}, and ${expected}: ask it to go on, or to reset the numbers.`);
  }

  /**
   * Ends the bridge at a message that cannot be read, before its number is taken: the next start asks for it again. To
   * keep it aside and go on would be worse. The deals after it close the oldest positions first, so without it they
   * would change the wrong ones, here and in the snapshots, and no later repair of one deal could undo that; a source
   * without a bridge is reported as stale within minutes.
   */
  private isHeld({ seq, type }: { seq: number; type: string }, error: unknown, sink: VenueSink): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.stopping.abort();
    this.session?.requestStop("A message cannot be read.");
    sink.fail(
      new UsageError(
        `Message ${seq} of the venue (35=${type}) cannot be read: ${reason}. The bridge ends before it, and asks ` +
          "for it again at its next start. Correct fix in the configuration or let the venue correct the message; or " +
          "book the deal by hand and add its id to fix.by_hand.",
      ),
    );
  }

  /** A venue that counts further than this session says which number it expects. */
  private loggedOut(text: string): void {
    const [, expected] = /expect\w*\s+(?:\w+\s+)*?(\d+)/i.exec(text) ?? [];
    if (expected !== undefined && Number(expected) > this.sent.next) this.sent.moveTo(Number(expected));
    if (text !== "") this.say(`The venue logged out: ${text}`);
  }

  private taken(type: string, view: FixView, sink: VenueSink): void {
    const get = (number: number) => view.getString(number) ?? undefined;
    if (refusals.includes(type)) this.refused(type, get);
    if (!["8", "AE", "W", "X"].includes(type)) return;
    const { events, quotes, note } = translate({ type, get, fields: view.toObject() }, this.settings);
    if (note !== undefined) this.say(note);
    for (const quote of quotes) sink.quote(quote);
    if (type !== "8" && type !== "AE") return;
    sink.record(type === "8" ? this.ordered(get, events) : events, this.gate.next - 1);
  }

  /** Names the position that an order of a command closes, and settles the command. */
  private ordered(get: Get, events: readonly VenueEvent[]): readonly VenueEvent[] {
    const position_id = this.orders.positionOf(get);
    this.orders.reported(get, events.length > 0);
    if (position_id === undefined) return events;
    return events.map((event) => {
      if (event.kind !== "fill") return event;
      const fill = { ...event.fill, position_id: event.fill.position_id ?? position_id, effect: "close" as const };
      return { ...event, fill };
    });
  }

  /** A message of the bridge that the venue refused: an order, or a subscription to prices. */
  private refused(type: string, get: Get): void {
    if (type !== "Y" && this.orders.rejected(get)) return;
    const what = type === "Y" ? "the subscription to prices" : `message ${get(45) ?? ""} (35=${get(372) ?? "?"})`;
    this.say(`The venue refused ${what}: ${get(58) ?? `reason ${get(281) ?? get(373) ?? get(380) ?? "unknown"}`}.`);
  }
}
