import type { Bill, Priced } from "./bill.ts";
import { eventsOf } from "./month.ts";

const money = (dollars: number) => dollars.toFixed(2);
const count = (value: number) => Math.round(value).toLocaleString("en-US");

/** A share in whole percent. */
export function percent(part: number, whole: number): string {
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`;
}

type Row = readonly [string, ...string[]];

/** Columns, the first to the left and the others to the right. */
function columns(rows: readonly Row[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `  ${line}`)
    .join("\n");
}

function section(title: string, rows: readonly Row[], after: readonly string[] = []): string {
  return [title, columns(rows), ...after.map((line) => `  ${line}`)].join("\n");
}

/** Cost of a month, with the three dearest lines and how to lower each. */
export function monthText({ stage, region, prices_read_on, month }: Bill): string {
  const { traffic, lines, dollars } = month;
  const rows = lines.map(
    ({ name, fixed, dollars: own }): Row => [name, money(own), percent(own, dollars), fixed ? "fixed" : ""],
  );
  const dearest = lines.slice(0, 3).flatMap(({ name, lower }, at) => [`${at + 1}. ${name}`, `   ${lower}`]);
  const title =
    `A month of ${stage}, ${region}, prices of ${prices_read_on}: $${money(dollars)} for ` +
    `${count(traffic.requests)} requests and ${count(eventsOf(traffic))} events`;
  const heads: Row = ["", "$", "share", ""];
  return section(title, [heads, ...rows], ["", "The three dearest lines, and what would lower them:", ...dearest]);
}

/** Cost of a month without any traffic. */
export function idleText({ stage, idle_month: { lines, dollars } }: Bill): string {
  const rows = lines.map(({ name, dollars: own }): Row => [name, money(own)]);
  return section(`A month of ${stage} without any traffic: $${money(dollars)}`, rows);
}

/** Dollars per million of everything that is counted. */
export function unitText({ routes, events, others, trading, units_counted_on, prices_read_on }: Bill): string {
  const rows = (all: readonly Priced[]) => all.map(({ name, dollars }): Row => [name, money(dollars)]);
  return [
    `Dollars per million, units of ${units_counted_on} at the prices of ${prices_read_on}`,
    section("Requests", rows(routes)),
    section("Events, after the request that caused them", rows(events)),
    section("Others", rows(others)),
    section("Commits of trading, on the database alone", rows(trading)),
  ].join("\n\n");
}

/** Differences between the bills of two templates of one stage: lines of the month, and routes. */
export function comparedText(before: Bill, now: Bill): string {
  const names = [...new Set([...now.month.lines, ...before.month.lines].map(({ name }) => lineKey(name)))];
  const of = (bill: Bill, key: string) =>
    bill.month.lines.filter(({ name }) => lineKey(name) === key).reduce((sum, { dollars }) => sum + dollars, 0);
  const differing = names.filter((name) => isOther(of(now, name), of(before, name)));
  const lines = differing.map((name): Row => changed(name, of(before, name), of(now, name)));
  const whole = changed("All lines", before.month.dollars, now.month.dollars);
  const idle = changed("Without any traffic", before.idle_month.dollars, now.idle_month.dollars);
  const routes = now.routes.flatMap(({ name, dollars }): Row[] => {
    const was = before.routes.find((each) => each.name === name)?.dollars;
    return was !== undefined && isOther(was, dollars) ? [changed(name, was, dollars)] : [];
  });
  const heads: Row = ["", "before $", "now $", "change $"];
  return [
    section("What the change costs, a month", [heads, ...lines, whole, idle]),
    ...(routes.length === 0 ? [] : [section("Requests, per million", [heads, ...routes])]),
  ].join("\n\n");
}

/** The name of a line without its counts, which the change may have changed. */
function lineKey(name: string): string {
  return name.replace(/ \(.*?\)/, "");
}

function isOther(one: number, other: number): boolean {
  return Math.abs(one - other) >= 0.005;
}

function changed(name: string, before: number, now: number): Row {
  const sign = now >= before ? "+" : "-";
  return [name, money(before), money(now), `${sign}${money(Math.abs(now - before))}`];
}
