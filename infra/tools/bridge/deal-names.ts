import { unitsOf } from "./units.ts";
import type { Fill } from "./venue.ts";

/**
 * A venue gives the name of a deal once in a session day: on another day, or with another content, it is another deal.
 * The day is that of the deal itself, since a venue may report it again on a later day.
 */
export class DealName {
  /** The names that are remembered of the deal. */
  readonly remembered: readonly string[];
  /** The name under which the service gets it: with its day, where the venue gave the name on an earlier one. */
  readonly deal_id: string;
  /** Whether it is recorded already; a day that one of two reports lacks is not compared. */
  readonly isKnown: boolean;

  constructor({ deal_id, platform_login, symbol, side, lots, price, at }: Fill, known: ReadonlySet<string>) {
    const day = at?.slice(0, 10) ?? "";
    const content = JSON.stringify([platform_login, symbol, side, String(unitsOf(lots)), String(unitsOf(price))]);
    const [any, first, same] = [`deal:${deal_id}`, `deal:${deal_id} first ${day}`, `deal:${deal_id} ${content}`];
    const isFirst = !known.has(any);
    this.isKnown = day === "" ? known.has(same) : known.has(`${same} ${day}`) || known.has(`${same} `);
    this.deal_id = isFirst || day === "" || known.has(first) ? deal_id : `${deal_id}@${day}`;
    this.remembered = [any, ...(isFirst ? [first] : []), same, `${same} ${day}`];
  }
}
