import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import type { MoneyHook } from "../money-hook.ts";
import type { CloseCommand, CommandOutcome, MoneyCommand, Venue, VenueEvent, VenueSink } from "../venue.ts";
import { SentNumbers } from "./numbers.ts";
import { type Get, Orders } from "./orders.ts";
import { type Field, type FixMessage, timestampOf } from "./parse.ts";
import { Prices } from "./prices.ts";
import { Session } from "./session.ts";
import type { Incoming, SessionSettings } from "./session-port.ts";
import { quantityOf, type TranslateConfig, translate } from "./translate.ts";
import { type Address, openLine } from "./transport.ts";

/** A session with a venue, as `bridge.json` describes it. */
export interface FixSettings extends Address, SessionSettings, TranslateConfig {
  /** Symbols whose prices are subscribed to. */
  readonly symbols?: readonly string[];
  /** The venue reports the profit of every deal, and the bridge books all money, from the opening of each account. */
  readonly complete_ledger?: boolean;
}

/** The first wait before a new connection; each that fails doubles it, up to the longest. */
const reconnectMs = { first: 500, longest: 4000 } as const;
/** Time that the end of a session has when the bridge stops. */
const stopMs = 2000;
/** A venue over FIX, as a drop-copy client: it takes every report once, in order, across the death of either side. */
export class FixVenue implements Venue {
  readonly knowsBalances: boolean;
  readonly reportsMoney = false;
  private readonly settings: FixSettings;
  private readonly hook: MoneyHook;
  private readonly say: (sentence: string) => void;
  private readonly logonLimitMs: number;
  private readonly sent: SentNumbers;
  private readonly stopping = new AbortController();
  private readonly orders = new Orders();
  private readonly incoming: Incoming = { next: 1 };
  private session: Session | undefined;
  private work: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly settings: FixSettings;
    readonly hook: MoneyHook;
    readonly folder: string;
    readonly say: (sentence: string) => void;
    /** The venue answers a logon within so long. */
    readonly logonLimitMs?: number;
  }) {
    const { settings, hook, folder, say, logonLimitMs = 15_000 } = options;
    this.logonLimitMs = logonLimitMs;
    this.knowsBalances = settings.complete_ledger ?? false;
    this.settings = settings;
    this.hook = hook;
    this.say = say;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.sent = new SentNumbers(join(folder, "fix-sent"), (error) => {
      say(`The numbers of the session cannot be kept: ${String(error)}`);
      this.stopping.abort();
    });
  }

  async start(cursor: number, sink: VenueSink): Promise<void> {
    this.incoming.next = cursor + 1;
    await this.sent.start();
    this.work = this.connect(sink);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.session?.leave("The bridge stops.");
    await Promise.race([this.work, pause(stopMs, undefined, { ref: false })]);
    await this.sent.stop();
  }

  money(command: MoneyCommand): Promise<CommandOutcome> {
    return this.hook(command);
  }

  async close(command: CloseCommand): Promise<CommandOutcome> {
    const { command_id, position_id, side, symbol, lots, platform_login } = command;
    if (quantityOf(lots, symbol, this.settings) === undefined) {
      const message = `${lots} lots of ${symbol} are no quantity that an order can carry exactly.`;
      return { status: "failed", error: { code: "invalid_lots", message } };
    }
    const order = { id: command_id, platform_login, symbol, side, lots, effect: "C" };
    const error = { code: "venue_offline", message: "The session is not logged on." };
    return this.orders.outcomeOf(command_id, position_id, () => {
      const seq = this.order(order);
      if (seq === undefined) this.orders.settle(command_id, { status: "not_sent", error });
      else this.orders.sent(command_id, seq);
    });
  }

  /** Sends an order, at the market without a price; returns its number, undefined without a session to send it. */
  order(
    order: Pick<CloseCommand, "platform_login" | "symbol" | "side" | "lots"> & {
      id: string;
      price?: string;
      effect?: string;
    },
  ): number | undefined {
    const { session, settings } = this;
    const quantity = quantityOf(order.lots, order.symbol, settings);
    if (session === undefined || !session.isActive || quantity === undefined) return undefined;
    return session.send("D", [
      [11, order.id],
      [21, "1"],
      [1, order.platform_login],
      [55, order.symbol],
      [54, order.side === "buy" ? "1" : "2"],
      [60, timestampOf(Date.now())],
      [38, quantity],
      ...(order.price === undefined
        ? [[40, "1"] as const]
        : ([
            [40, "2"],
            [44, order.price],
          ] as const)),
      ...(order.effect === undefined ? [] : [[77, order.effect] as const]),
    ]);
  }

  private async connect(sink: VenueSink): Promise<void> {
    const { signal } = this.stopping;
    let wait: number = reconnectMs.first;
    let said: string | undefined;
    while (!signal.aborted) {
      const { reason, wasReady } = await this.connectOnce(sink);
      const { host, port } = this.settings;
      const refused = `No session with the venue at ${host}:${port} (${reason})`;
      const sentence = wasReady ? `The session with the venue has ended (${reason})` : refused;
      // A venue that is away is reported once, and each end of a session.
      if ((wasReady || sentence !== said) && !signal.aborted) this.say(`${sentence}; connecting again.`);
      said = sentence;
      if (wasReady) wait = reconnectMs.first;
      await pause(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(2 * wait, reconnectMs.longest);
    }
  }

  /** One connection, until it ends. */
  private connectOnce(sink: VenueSink): Promise<{ readonly reason: string; readonly wasReady: boolean }> {
    const { settings, incoming, sent, logonLimitMs } = this;
    const prices = new Prices();
    return new Promise((resolve) => {
      let reason: string | undefined;
      let wasReady = false;
      const line = openLine(settings, {
        opened: () => session.start(),
        received: (bytes) => session.receive(bytes),
        tick: () => session.tick(),
        closed: (error) => {
          session.ended();
          const ended = wasReady ? "it ended the connection" : "it ended the connection before the logon";
          resolve({ reason: reason ?? (error?.message || ended), wasReady });
        },
      });
      const session = new Session({
        ...{ settings, incoming, outgoing: sent, logonMs: logonLimitMs },
        port: {
          write: (bytes) => line.write(bytes),
          end: (why) => {
            reason = why;
            line.end();
          },
          taken: (message, seq) => this.taken(message, seq, prices, sink),
          held: (message, seq, error) => this.isHeld({ seq, type: message.type }, error, sink),
          reset: (next) => sink.record([], next - 1),
          ready: () => {
            wasReady = true;
            this.isReady(session);
          },
          loggedOut: (text) => this.loggedOut(text),
          say: (sentence) => this.say(sentence),
        },
      });
      this.session = session;
    });
  }

  private isReady(session: Session): void {
    this.say("The session with the venue is logged on.");
    const { symbols = [] } = this.settings;
    if (symbols.length === 0) return;
    const bidAndAsk: Field[] = [
      [267, "2"],
      [269, "0"],
      [269, "1"],
    ];
    const names = symbols.map((name): Field => [55, name]);
    const request: Field[] = [
      [262, `prices-${Date.now()}`],
      [263, "1"],
      [264, "1"],
      [265, "0"],
    ];
    session.send("V", [...request, ...bidAndAsk, [146, String(names.length)], ...names]);
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

  private taken(message: FixMessage, seq: number, prices: Prices, sink: VenueSink): void {
    const { type } = message;
    const get: Get = (number) => message.get(number);
    if (type === "W" || type === "X") {
      for (const quote of prices.apply(message)) sink.quote(quote);
      return;
    }
    if (type !== "8" && type !== "AE") {
      this.refused(type, get);
      return;
    }
    const { events, note } = translate(message, this.settings);
    if (note !== undefined) this.say(note);
    if (type === "8") this.orders.reported(get, events.length > 0);
    sink.record(
      events.map((event) => this.named(event)),
      seq,
    );
  }

  /** Names the position that the order of a command closes. */
  private named(event: VenueEvent): VenueEvent {
    if (event.kind !== "fill") return event;
    const position_id = this.orders.positionOf(event.fill.orders ?? []);
    if (position_id === undefined) return event;
    const fill = { ...event.fill, position_id: event.fill.position_id ?? position_id, effect: "close" as const };
    return { ...event, fill };
  }

  /** A message of the bridge that the venue refused: an order, or a subscription to prices. */
  private refused(type: string, get: Get): void {
    if (type !== "Y" && this.orders.rejected(get)) return;
    const what = type === "Y" ? "the subscription to prices" : `message ${get(45) ?? ""} (35=${get(372) ?? "?"})`;
    this.say(`The venue refused ${what}: ${get(58) ?? `reason ${get(281) ?? get(373) ?? get(380) ?? "unknown"}`}.`);
  }
}
