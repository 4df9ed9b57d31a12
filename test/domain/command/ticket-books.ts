import fc from "fast-check";
import { type AccountItem, applyItem } from "../../../shared/domain/feed/apply.ts";
import type { DedupName } from "../../../shared/domain/feed/batch.ts";
import { positionMarker } from "../../../shared/domain/feed/deals.ts";
import { contentOf, type NotedContents, repetitionOf, withContent } from "../../../shared/domain/feed/repetition.ts";
import { type DealUndo, undoOf } from "../../../shared/domain/feed/undo.ts";
import type { TradingChange } from "../../../shared/domain/trading/changes.ts";
import { context, desk, market, origin, text } from "../feed-cases.ts";

/** One step: what the platform does, and what the bridge sends again after it. */
export const ticketStep = fc.record({
  what: fc.constantFrom("open", "open", "close", "part", "part", "back", "back", "correct", "reuse"),
  which: fc.nat({ max: 7 }),
  cents: fc.integer({ min: -900, max: 900 }),
  again: fc.constantFrom("nothing", "nothing", "one", "enriched", "all"),
});
type Step = typeof ticketStep extends fc.Arbitrary<infer S> ? S : never;

interface Deal {
  readonly action: "open" | "close";
  readonly ticket: string;
  readonly cents: number;
  /** Lots of each position before it, by ticket. */
  readonly before: ReadonlyMap<string, number>;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Note extends NotedContents {
  readonly undo?: DealUndo;
}

/** A platform that closes under the ticket of the opening and takes deals back, our book of it, and a bridge. */
export class TicketBooks {
  readonly ours = desk();
  /** State of the platform: lots by ticket in hundredths, and its balance in cents. */
  private lots = new Map<string, number>();
  private cents = 1_000_000;
  private deals: Deal[] = [];
  private takenBack: Deal[] = [];
  private readonly history: AccountItem[] = [];
  private readonly notes = new Map<string, Note>();
  private readonly names = new Map<string, string>();
  private count = 0;
  readonly seen = new Set<string>();

  run({ what, which, cents, again }: Step): void {
    this.count += 1;
    const tickets = [...this.lots.keys()];
    const ticket = tickets[which % Math.max(1, tickets.length)];
    const profit = text(cents);
    if (what === "open" || what === "reuse") this.open(what === "reuse" ? this.closedTicket(which) : this.newTicket());
    else if (what === "back") this.takeBack();
    else if (what === "correct") this.correct();
    else if (ticket !== undefined && this.isFree("close", ticket)) {
      const held = this.lots.get(ticket) ?? 0;
      const rest = what === "part" && held > 10 ? { lots: text(10), remaining_position_id: this.newTicket() } : {};
      this.deal({ action: "close", ticket, cents, data: { ...this.named(ticket), price: "1.10010", profit, ...rest } });
    }
    this.sendAgain(again, which);
  }

  /** Both books have the same money and the same positions under the same names. */
  get books() {
    const positions = [...this.ours.positions.values()].map(({ source_position_id: name = "", lots }) => [name, lots]);
    return {
      ours: { balance: this.ours.balance.balance_minor, lots: Object.fromEntries(positions) },
      theirs: {
        balance: BigInt(this.cents),
        lots: Object.fromEntries([...this.lots].map(([name, lots]) => [name, text(lots)])),
      },
    };
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
    return { platform_login: "1", deal_id: ticket, position_id: ticket, commission: "0" };
  }

  /** Whether a ticket may have such a deal: it opens and closes once, in this order. */
  private isFree(action: Deal["action"], ticket: string): boolean {
    return this.deals.every((each) => each.ticket !== ticket || (action === "close" && each.action === "open"));
  }

  private open(position: string): void {
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
    this.deal({ action: "open", ticket, cents: 0, data });
  }

  private deal({ action, ticket, cents, data }: Omit<Deal, "before">): void {
    const position = String(data["position_id"]);
    const before = new Map(this.lots);
    const all = Math.round(Number(data["lots"] ?? 0) * 100);
    const left = (before.get(position) ?? 0) - all;
    if (action === "open") this.lots.set(position, all);
    else this.lots.delete(position);
    const rest = data["remaining_position_id"];
    if (rest !== undefined) this.lots.set(String(rest), left);
    this.cents += cents;
    this.deals.push({ action, ticket, cents, before, data });
    this.seen.add(rest === undefined ? action : "renamed");
    this.send({ type: "execution", data: { action, ...data } });
  }

  /** The newest deal is taken back: a close before the opening of its ticket. */
  private takeBack(): void {
    const deal = this.deals.pop();
    if (deal === undefined) return;
    this.lots = new Map(deal.before);
    this.cents -= deal.cents;
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
    const price = `1.1${String(1000 + this.count)}`;
    const profit = deal.action === "open" ? {} : { profit: text(cents) };
    this.seen.add(`${deal.action} corrected`);
    this.deal({ ...deal, cents, data: { ...deal.data, price, ...profit } });
  }

  private sendAgain(again: Step["again"], which: number): void {
    const one = this.history[which % Math.max(1, this.history.length)];
    if (again === "nothing" || one === undefined) return;
    if (again === "all") for (const each of this.history) this.expectRepeated(each);
    else if (again === "one") this.expectRepeated(one);
    else this.expectRepeated({ ...one, data: { ...one.data, swap: "0", stop_loss: "1.0" } } as AccountItem);
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
