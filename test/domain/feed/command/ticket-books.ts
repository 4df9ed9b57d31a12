import fc from "fast-check";
import { type AccountItem, applyItem } from "../../../../shared/domain/feed/apply.ts";
import { positionMarker } from "../../../../shared/domain/feed/deals.ts";
import { contentOf, type NotedContents, repetitionOf, withContent } from "../../../../shared/domain/feed/repetition.ts";
import { type DealUndo, undoOf } from "../../../../shared/domain/feed/undo.ts";
import type { DedupName } from "../../../../shared/domain/records/feed-item.ts";
import type { TradingChange } from "../../../../shared/domain/records/trading-change.ts";
import { someMarket, someSymbol } from "../../../support/builders/trading.ts";
import { context, desk, origin, text } from "../../feed-cases.ts";

/** One step: what the platform does, and what the bridge sends again after it. */
export const ticketStep = fc.record({
  what: fc.constantFrom("open", "open", "close", "part", "part", "night", "back", "back", "correct", "reuse"),
  which: fc.nat({ max: 7 }),
  cents: fc.integer({ min: -900, max: 900 }),
  /** Whether the deal names what it is charged; one that does not is charged no commission. */
  names: fc.boolean(),
  charged: fc.integer({ min: -350, max: 20 }),
  again: fc.constantFrom("nothing", "nothing", "one", "enriched", "all"),
});
type Step = typeof ticketStep extends fc.Arbitrary<infer S> ? S : never;

interface Deal extends Pick<Step, "names" | "charged"> {
  readonly action: "open" | "close";
  readonly ticket: string;
  /** Its profit. */
  readonly cents: number;
  /** Lots of each position before it, by ticket, its swap so far, and the balance. */
  readonly before: ReadonlyMap<string, number>;
  readonly swapsBefore: ReadonlyMap<string, number>;
  readonly centsBefore: number;
  readonly nights: number;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Note extends NotedContents {
  readonly undo?: DealUndo;
}

/** A symbol that charges, which is none of the business of a platform that decides. */
const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
const market = someMarket({}, [someSymbol("EURUSD", { commission })]);

/** A share of swap so far, rounded half away from zero. */
function shareOf(cents: number, part: number, whole: number): number {
  return Math.sign(cents) * Math.floor((2 * Math.abs(cents) * part + whole) / (2 * whole));
}

/** A platform that closes under the ticket of the opening and takes deals back, our book of it, and a bridge. */
export class TicketBooks {
  readonly ours = desk();
  /** State of the platform: lots by ticket in hundredths, and its balance in cents. */
  private lots = new Map<string, number>();
  private swaps = new Map<string, number>();
  /** How many nights there were so far. */
  private nights = 0;
  private cents = 1_000_000;
  private deals: Deal[] = [];
  private takenBack: Deal[] = [];
  private readonly history: AccountItem[] = [];
  private readonly notes = new Map<string, Note>();
  private readonly names = new Map<string, string>();
  private count = 0;
  readonly seen = new Set<string>();

  run({ what, which, cents, again, names, charged }: Step): void {
    this.count += 1;
    const tickets = [...this.lots.keys()];
    const ticket = tickets[which % Math.max(1, tickets.length)];
    const money = { names, charged: names ? charged : 0 };
    const position = what === "reuse" ? this.closedTicket(which) : this.newTicket();
    if (what === "open" || what === "reuse") this.open(position, money);
    else if (what === "night") {
      if (ticket !== undefined) this.night(ticket, cents);
    } else if (what === "back") this.takeBack();
    else if (what === "correct") this.correct();
    else if (ticket !== undefined && this.isFree("close", ticket)) {
      const held = this.lots.get(ticket) ?? 0;
      const rest = what === "part" && held > 10 ? { lots: text(10), remaining_position_id: this.newTicket() } : {};
      // A deal under a name that was taken back says another price, else it could be the same in another form.
      const data = { ...this.named(ticket), price: this.newPrice(), profit: text(cents), ...rest };
      this.deal({ action: "close", ticket, cents, data, ...money });
    }
    this.sendAgain(again, which);
  }

  /** Both books have the same money and the same positions under the same names. */
  get books() {
    const positions = [...this.ours.positions.values()].map((position) => {
      const { source_position_id: name = "", lots, swap_minor } = position;
      return [name, `${lots} ${swap_minor}`];
    });
    return {
      ours: { balance: this.ours.balance.balance_minor, lots: Object.fromEntries(positions) },
      theirs: {
        balance: BigInt(this.cents),
        lots: Object.fromEntries(
          [...this.lots].map(([name, lots]) => [name, `${text(lots)} ${this.swaps.get(name) ?? 0}`]),
        ),
      },
    };
  }

  private newPrice(): string {
    return `1.1${String(1000 + this.count)}`;
  }

  private newTicket(): string {
    return `T-${this.count}`;
  }

  /** A ticket whose position is closed and whose deals are taken back or of other names. */
  private closedTicket(which: number): string {
    const used = this.deals.map(({ ticket }) => ticket).filter((each) => !this.lots.has(each));
    return used[which % Math.max(1, used.length)] ?? this.newTicket();
  }

  private named(ticket: string) {
    return { platform_login: "1", deal_id: ticket, position_id: ticket };
  }

  /** Whether a ticket may have such a deal: it opens and closes once, in this order. */
  private isFree(action: Deal["action"], ticket: string): boolean {
    return this.deals.every((each) => each.ticket !== ticket || (action === "close" && each.action === "open"));
  }

  private open(position: string, money: Pick<Step, "names" | "charged">): void {
    const ticket = this.isFree("open", position) ? position : this.newTicket();
    if (ticket !== position) this.seen.add("reused position");
    const lots = text(100 + this.count);
    const data = {
      ...this.named(ticket),
      position_id: position,
      symbol: "EURUSD",
      side: "buy",
      lots,
      price: "1.10010",
    };
    this.deal({ action: "open", ticket, cents: 0, data, ...money });
  }

  /** Swap of a night, which the platform books with the close: the deal may name it, and need not. */
  private night(ticket: string, cents: number): void {
    this.swaps.set(ticket, (this.swaps.get(ticket) ?? 0) + cents);
    this.nights += 1;
    this.seen.add("night");
    const amount = text(cents);
    this.send({ type: "swap", data: { position_id: ticket, amount, for_date: "2026-11-20" } });
  }

  private deal({
    action,
    ticket,
    cents,
    data,
    names,
    charged,
  }: Omit<Deal, "before" | "nights" | `${string}Before`>): void {
    const position = String(data["position_id"]);
    const [before, swapsBefore, centsBefore] = [new Map(this.lots), new Map(this.swaps), this.cents];
    const held = before.get(position) ?? 0;
    const all = Math.round(Number(data["lots"] ?? 0) * 100);
    if (action === "open") this.lots.set(position, all);
    else this.lots.delete(position);
    const rest = data["remaining_position_id"];
    const accrued = this.swaps.get(position) ?? 0;
    const swap = action === "open" ? 0 : rest === undefined ? accrued : shareOf(accrued, all, held);
    this.swaps.delete(position);
    if (rest !== undefined) {
      this.lots.set(String(rest), held - all);
      this.swaps.set(String(rest), accrued - swap);
    }
    this.cents += cents + charged + swap;
    const { nights } = this;
    this.deals.push({ action, ticket, cents, names, charged, before, swapsBefore, centsBefore, nights, data });
    this.seen.add(rest === undefined ? action : "renamed");
    if (action === "close" && !names) this.seen.add(swap === 0 ? "close without money" : "close without its swap");
    const named = { commission: text(charged), ...(action === "close" && { swap: text(swap) }) };
    this.send({ type: "execution", data: { action, ...data, ...(names && named) } });
  }

  /** The newest deal is taken back: a close before the opening of its ticket. */
  private takeBack(): void {
    // The swap of a night is part of a position that the deal made.
    if (this.deals.at(-1)?.nights !== this.nights) return;
    const deal = this.deals.pop();
    if (deal === undefined) return;
    this.lots = new Map(deal.before);
    this.swaps = new Map(deal.swapsBefore);
    this.cents = deal.centsBefore;
    this.takenBack.push(deal);
    this.seen.add(`${deal.action} taken back`);
    const data = { reversal_id: `R-${this.count}`, platform_login: "1", deal_id: deal.ticket };
    this.send({ type: "deal_reversal", data });
  }

  /** The deal that was taken back last comes again with another price and, of a close, another profit. */
  private correct(): void {
    const deal = this.takenBack.pop();
    if (deal === undefined || !this.isFree(deal.action, deal.ticket)) return;
    const position = String(deal.data["position_id"]);
    const rest = String(deal.data["remaining_position_id"] ?? "");
    const isHeld = this.lots.has(position);
    const fits = deal.action === "open" ? !isHeld : isHeld && this.lots.get(position) === deal.before.get(position);
    if (!fits || this.lots.has(rest)) return;
    const cents = deal.action === "open" ? 0 : deal.cents + 1;
    const price = this.newPrice();
    const profit = deal.action === "open" ? {} : { profit: text(cents) };
    this.seen.add(`${deal.action} corrected`);
    this.deal({ ...deal, cents, data: { ...deal.data, price, ...profit } });
  }

  private sendAgain(again: Step["again"], which: number): void {
    const one = this.history[which % Math.max(1, this.history.length)];
    if (again === "nothing" || one === undefined) return;
    if (again === "all") for (const each of this.history) this.expectRepeated(each);
    else if (again === "one") this.expectRepeated(one);
    else this.expectRepeated({ ...one, data: { swap: "0", stop_loss: "1.0", ...one.data } } as AccountItem);
  }

  private send(item: object): void {
    const made = { at: undefined, seq: String(this.count), ...item } as AccountItem;
    if (this.receive(made) !== "new") throw new Error(`It was not applied: ${JSON.stringify(item)}`);
    this.history.push(made);
  }

  /** Nothing is booked of what comes again. With more members it may be a conflict, where its deal was taken back. */
  private expectRepeated(item: AccountItem): void {
    const found = this.receive(item);
    if (found === "new") throw new Error(`It was booked again: ${JSON.stringify(item)}`);
    this.seen.add(found);
  }

  private receive(item: AccountItem): ReturnType<typeof repetitionOf> {
    const name = nameOf(item);
    const key = name.join(" ");
    const before = this.notes.get(key);
    const content = contentOf(name, item);
    const repetition = repetitionOf(before, content);
    if (repetition !== "new") return repetition;
    const deal = item.type === "deal_reversal" ? this.lastOf(item.data.deal_id) : undefined;
    const undo = deal === undefined ? undefined : this.notes.get(deal)?.undo;
    const { position_id = "", remaining_position_id = "" } = item.data as Readonly<Record<string, string>>;
    const links = {
      ...{
        trade_id: this.ownerOf(position_id),
        remaining_id: this.ownerOf(remaining_position_id),
        order_id: null,
        undo,
      },
      named: this.ownerOf(undo?.closed?.renamed?.from ?? undo?.closed?.position?.source_position_id ?? ""),
    };
    const source = { ...origin.source, swap_reporting: "nights" } as const;
    const decision = applyItem(this.ours.state, market, item, links, { ...origin, source } as never, context);
    this.ours.apply(decision);
    if (!decision.ok) return "conflict";
    for (const change of decision.changes) this.claim(change);
    const noted: Note = { status: "applied", ...withContent(before, content) };
    this.notes.set(key, deal === undefined ? { ...noted, undo: copied(undoOf(decision.changes)) } : noted);
    if (deal !== undefined) {
      const { undo: _undo, ...rest } = this.notes.get(deal) ?? noted;
      this.notes.set(deal, { ...rest, taken_back: true });
    }
    return "new";
  }

  private lastOf(ticket: string): string {
    return this.notes.get(`close ${ticket}`)?.undo === undefined ? `open ${ticket}` : `close ${ticket}`;
  }

  private ownerOf(position: string): string | undefined {
    return this.names.get(positionMarker(origin.source, position));
  }

  private claim(change: TradingChange): void {
    if (change.op === "release" && this.names.get(change.value) === change.owner) this.names.delete(change.value);
    if (change.op !== "claim") return;
    if (this.names.get(change.value) !== change.instead_of) throw new Error(`${change.value} has another owner.`);
    this.names.set(change.value, change.owner);
  }
}

function nameOf(item: AccountItem): DedupName {
  if (item.type === "deal_reversal") return ["reversal", item.data.reversal_id];
  return item.type === "execution" ? [item.data.action, item.data.deal_id] : ["item", item.seq];
}

/** As the note keeps it. */
function copied(undo: DealUndo): DealUndo {
  return JSON.parse(JSON.stringify(undo)) as DealUndo;
}
