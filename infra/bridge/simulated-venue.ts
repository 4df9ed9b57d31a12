import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CurrencyCode, minorDigits } from "../../shared/currencies.ts";
import { UsageError } from "../../shared/runtime/command-line.ts";
import type { ServiceClient } from "../tools/service-client.ts";
import { Book, grossProfit } from "./book.ts";
import { DurableLog, type LogRecord } from "./durable-log.ts";
import { decimalOf, rounded, unitsOf } from "./units.ts";
import type {
  AccountTerms,
  CloseCommand,
  CommandOutcome,
  Fill,
  MoneyCommand,
  MoneyMoved,
  TermsCommand,
  Venue,
  VenueEvent,
  VenueSink,
} from "./venue.ts";

/** Terms of a symbol, as the venue reads them from the service. */
interface SymbolTerms {
  readonly contract_size: string;
  readonly quote_currency: string;
}

/** Where a simulated venue keeps its ledger, and which market it trades at. */
export interface SimulationOptions {
  readonly client: ServiceClient;
  /** Folder of its ledger, which survives the bridge. */
  readonly folder: string;
  /** Currency of its accounts. */
  readonly currency: string;
}

/** A ledger that refuses what the request asks; its message says why. */
export class VenueRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A trading platform for the sandbox: it has a ledger of its own, accepts commands, and fills orders at the quotes of
 * the service. Every login exists from its first operation on. It trades symbols that are quoted in its currency,
 * without commission.
 */
export class SimulatedVenue implements Venue {
  readonly knowsBalances = true;
  readonly reportsMoney = true;
  private readonly options: SimulationOptions;
  private readonly events: VenueEvent[];
  private readonly log: DurableLog;
  private readonly book = new Book();
  private readonly symbols = new Map<string, SymbolTerms>();
  private readonly digits: number;
  private sink: VenueSink | undefined;

  private constructor(options: SimulationOptions, log: DurableLog, events: VenueEvent[]) {
    this.options = options;
    this.digits = digitsOf(options.currency);
    this.log = log;
    this.events = events;
    for (const event of events) this.apply(event);
  }

  /** @throws UsageError when there is no such currency */
  static async open(options: SimulationOptions): Promise<SimulatedVenue> {
    digitsOf(options.currency);
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    const { log, records } = await DurableLog.open(join(options.folder, "venue.jsonl"));
    return new SimulatedVenue(options, log, records as unknown as VenueEvent[]);
  }

  async start(cursor: number, sink: VenueSink): Promise<void> {
    this.sink = sink;
    for (const [place, event] of this.events.entries()) if (place >= cursor) sink.record([event], place + 1);
  }

  async stop(): Promise<void> {
    this.sink = undefined;
    await this.log.close();
  }

  /** Accounts with their balances and positions. */
  accounts() {
    return this.book.snapshot();
  }

  async money({ type, platform_login, amount, currency, comment }: MoneyCommand): Promise<CommandOutcome> {
    if (type === "find_operation") return { status: "done", operation_id: this.operationOf(platform_login, comment) };
    if (type !== "balance_operation") {
      return { status: "failed", error: { code: "unsupported_command", message: `No ${type} is simulated.` } };
    }
    if (currency !== this.options.currency) {
      const message = `The accounts of this venue are in ${this.options.currency}, not in ${currency}.`;
      return { status: "failed", error: { code: "currency_mismatch", message } };
    }
    return outcomeOf(async () => (await this.move(platform_login, amount, comment)).operation_id);
  }

  /** The venue ends with the bridge, so what is not in its ledger was not carried out. */
  interrupted(platform_login: string, comment: string): CommandOutcome {
    const operation_id = this.operationOf(platform_login, comment);
    return operation_id === null ? { status: "not_sent" } : { status: "done", operation_id };
  }

  close({ platform_login, position_id, lots, reason }: CloseCommand): Promise<CommandOutcome> {
    return outcomeOf(async () => (await this.closePosition(platform_login, position_id, lots, reason)).deal_id);
  }

  setTerms({ platform_login, terms }: TermsCommand): Promise<CommandOutcome> {
    return outcomeOf(() => this.setTermsOf(platform_login, terms));
  }

  /** Sets terms of an account, by a command or by hand, and reports them; returns the name of the change. */
  async setTermsOf(platform_login: string, terms: AccountTerms): Promise<string> {
    const change_id = `A-${this.events.length + 1}`;
    await this.happen({ kind: "terms", change: { change_id, platform_login, at: now(), terms } });
    return change_id;
  }

  /**
   * Moves money, by a command or by hand.
   * @throws VenueRefusal when the account has less, or the amount is none
   */
  async move(platform_login: string, amount: string, reference?: string): Promise<MoneyMoved> {
    const units = amountIn(amount, this.digits);
    const account = this.accounts().find((each) => each.platform_login === platform_login);
    if (units < 0n && unitsOf(account?.balance ?? "0") + units < 0n) {
      throw new VenueRefusal("insufficient_funds", `The login ${platform_login} has ${account?.balance ?? "0.00"}.`);
    }
    const operation_id = `B-${this.events.length + 1}`;
    const money = { operation_id, platform_login, amount: decimalOf(units, 2), at: now() };
    const moved: MoneyMoved = { ...money, ...(reference !== undefined && { reference }) };
    await this.happen({ kind: "money", money: moved });
    return moved;
  }

  /** Changes a balance and reports no operation, as a platform does whose bridge is incomplete: the books drift. */
  async adjustSilently(platform_login: string, amount: string): Promise<void> {
    amountIn(amount, this.digits);
    await this.happen({ kind: "adjusted", platform_login, amount });
  }

  /**
   * Fills an order at the quote of the service.
   * @throws VenueRefusal when the lots are none, or the symbol is not quoted in the currency of the accounts
   */
  async trade(platform_login: string, side: "buy" | "sell", symbol: string, lots: string): Promise<Fill> {
    lotsIn(lots);
    await this.termsOf(symbol);
    const price = await this.priceOf(symbol, side);
    const deal_id = `D-${this.events.length + 1}`;
    const position_id = `P-${this.events.length + 1}`;
    const filled = { deal_id, platform_login, symbol, side, lots, price, position_id, at: now() };
    const fill: Fill = { ...filled, effect: "open", commission: "0.00" };
    await this.happen({ kind: "fill", fill });
    return fill;
  }

  /**
   * Closes a position, or a part of it, at the quote of the service.
   * @throws VenueRefusal when there is no such position
   */
  async closePosition(login: string, position_id: string, part?: string, reason: Fill["reason"] = "client") {
    const found = this.book.position(login, position_id);
    if (found === undefined) throw new VenueRefusal("position_not_found", `There is no position ${position_id}.`);
    const { symbol } = found;
    const side = found.side === "buy" ? "sell" : "buy";
    const [{ contract_size }, price] = [await this.termsOf(symbol), await this.priceOf(symbol, side)];
    const position = this.book.position(login, position_id);
    if (position === undefined) throw new VenueRefusal("position_not_found", `${position_id} was closed meanwhile.`);
    const lots = part ?? position.lots;
    if (lotsIn(lots) > unitsOf(position.lots)) {
      throw new VenueRefusal("lots_changed", `The position ${position_id} has ${position.lots} lots.`);
    }
    const profit = decimalOf(rounded(grossProfit(position, lots, price, contract_size), this.digits), 2);
    const deal_id = `D-${this.events.length + 1}`;
    const closed = {
      deal_id,
      platform_login: login,
      symbol,
      side,
      lots,
      price,
      position_id,
      profit,
      at: now(),
    } as const;
    const fill: Fill = { ...closed, effect: "close", commission: "0.00", reason };
    await this.happen({ kind: "fill", fill });
    return fill;
  }

  /** Makes an event part of the ledger, and reports it when it is on the disk. */
  private async happen(event: VenueEvent): Promise<void> {
    this.events.push(event);
    const cursor = this.events.length;
    this.apply(event);
    await this.log.append(event as unknown as LogRecord);
    this.sink?.record([event], cursor);
  }

  private apply(event: VenueEvent): void {
    if (event.kind === "adjusted") this.book.adjust(event.platform_login, event.amount);
    else for (const item of this.book.itemsOf(event)) this.book.apply(item);
  }

  private operationOf(login: string, comment: string): string | null {
    for (const event of this.events) {
      if (event.kind !== "money" || event.money.platform_login !== login) continue;
      if (event.money.reference === comment) return event.money.operation_id;
    }
    return null;
  }

  private async priceOf(symbol: string, side: "buy" | "sell"): Promise<string> {
    const { body } = await this.options.client.call<{ bid: string; ask: string }>("GET", `/quotes/${symbol}`);
    return side === "buy" ? body.ask : body.bid;
  }

  private async termsOf(symbol: string): Promise<SymbolTerms> {
    const known = this.symbols.get(symbol);
    if (known !== undefined) return known;
    const { body } = await this.options.client.call<SymbolTerms>("GET", `/symbols/${symbol}`);
    if (body.quote_currency !== this.options.currency) {
      const sentence = `The simulated venue trades symbols in ${this.options.currency}, and ${symbol} is in`;
      throw new VenueRefusal("symbol_not_traded", `${sentence} ${body.quote_currency}.`);
    }
    this.symbols.set(symbol, body);
    return body;
  }
}

/**
 * The number of a text. Anything else must not reach the ledger: the events after it would get other places on the
 * disk than in memory, and after a restart the journal would skip as many of them.
 * @throws VenueRefusal when the text is no plain decimal
 */
function numberIn(text: string, example: string): bigint {
  try {
    return unitsOf(text);
  } catch {
    throw new VenueRefusal("invalid_number", `"${text}" is no number such as ${example}.`);
  }
}

function lotsIn(text: string): bigint {
  const lots = numberIn(text, "0.10");
  if (lots <= 0n) throw new VenueRefusal("invalid_lots", `Lots must be above 0, not ${text}.`);
  return lots;
}

function amountIn(text: string, digits: number): bigint {
  const amount = numberIn(text, "100.00");
  if (amount !== 0n && rounded(amount, digits) === amount) return amount;
  throw new VenueRefusal("invalid_amount", `An amount must not be 0 and has at most ${digits} decimals, not ${text}.`);
}

function digitsOf(currency: string): number {
  const digits = minorDigits[currency as CurrencyCode];
  if (digits !== undefined) return digits;
  throw new UsageError(`--currency must be the code of a currency such as USD, not "${currency}".`);
}

function now(): string {
  return new Date().toISOString();
}

async function outcomeOf(work: () => Promise<string>): Promise<CommandOutcome> {
  try {
    return { status: "done", operation_id: await work() };
  } catch (error) {
    if (!(error instanceof VenueRefusal)) throw error;
    return { status: "failed", error: { code: error.code, message: error.message } };
  }
}
