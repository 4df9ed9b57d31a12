import { unitsOf } from "./units.ts";
import type { Fill } from "./venue.ts";

/**
 * A venue gives the name of a deal once in a session day: on another day, or with another content, it is another deal.
 * The day is that of the deal itself, since a venue may report it again on a later day.
 *
 * A deal that the venue reports in two forms has two names, and ids of the trade that both carry. A report of one form
 * joins one of the other form with the same id, content and day, each of them once: two equal deals stay two.
 */
export class DealName {
  /** The names that are remembered of the deal. */
  readonly remembered: readonly string[];
  /** The names of a report that this one joins; they are forgotten, so that no other joins it. */
  readonly spent: readonly string[];
  /** The name under which the service gets it: with its day, where the venue gave the name on an earlier one. */
  readonly deal_id: string;
  /** Whether it is recorded already; a day that one of two reports lacks is not compared. */
  readonly isKnown: boolean;

  constructor({ deal_id, platform_login, symbol, side, lots, price, at, trade }: Fill, known: ReadonlySet<string>) {
    const day = at?.slice(0, 10) ?? "";
    const content = JSON.stringify([platform_login, symbol, side, String(unitsOf(lots)), String(unitsOf(price))]);
    const [any, first, same] = [`deal:${deal_id}`, `deal:${deal_id} first ${day}`, `deal:${deal_id} ${content}`];
    const isFirst = !known.has(any);
    this.isKnown = day === "" ? known.has(same) : known.has(`${same} ${day}`) || known.has(`${same} `);
    this.deal_id = isFirst || day === "" || known.has(first) ? deal_id : `${deal_id}@${day}`;
    const { form = "execution", ids = [] } = trade ?? {};
    const key = (of: string, id: string) => `${of}:${id} ${content} `;
    const other = form === "execution" ? "capture" : "execution";
    this.spent = this.isKnown ? [] : ids.flatMap((id) => waiting(key(other, id), day, known) ?? []);
    const isJoined = this.spent.length > 0;
    const open = isJoined
      ? []
      : ids.map((id) => numbered(`${key(form, id)}${day}`, count(`${key(form, id)}${day}`, known) + 1));
    this.remembered = [any, ...(isFirst ? [first] : []), same, `${same} ${day}`, ...open];
  }
}

const numbered = (key: string, number: number) => `${key}#${number}`;

/** How many reports wait under a key. */
function count(key: string, known: ReadonlySet<string>): number {
  let found = 0;
  while (known.has(numbered(key, found + 1))) found += 1;
  return found;
}

/** The name of a report that waits for its other form; one without a day waits for every day. */
function waiting(key: string, day: string, known: ReadonlySet<string>): string | undefined {
  if (day === "") return [...known].findLast((name) => name.startsWith(key));
  const of = [day, ""].find((each) => known.has(numbered(key + each, 1)));
  return of === undefined ? undefined : numbered(key + of, count(key + of, known));
}
