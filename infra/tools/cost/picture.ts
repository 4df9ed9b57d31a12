import type { Bill } from "./bill.ts";
import { eventsOf, type Line } from "./month.ts";
import { percent } from "./report.ts";

const size = { width: 980, left: 330, bar: 420, row: 30, top: 96 };
const colour = { dearest: "#b4451f", use: "#2f6690", fixed: "#8a8f98", text: "#1f2430", soft: "#5b6270" };
const dearestLines = 3;

/** The month of a bill as SVG: its lines as bars, and what would lower the three dearest. */
export function billPicture(bill: Bill): string {
  const { lines, dollars, traffic } = bill.month;
  const most = Math.max(...lines.map((line) => line.dollars));
  const below = size.top + lines.length * size.row + 34;
  const height = below + dearestLines * 44 + 118;
  const requests = traffic.requests.toLocaleString("en-US");
  const events = Math.round(eventsOf(traffic)).toLocaleString("en-US");
  const about = `${requests} requests, ${events} events, ${traffic.prices_per_second} prices a second`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" width="${size.width}"`,
    `  height="${height}" font-family="Helvetica, Arial, sans-serif" font-size="14">`,
    `<title>${safe(`A month of ${bill.stage}: $${dollars.toFixed(2)}`)}</title>`,
    `<rect width="${size.width}" height="${height}" fill="#fff"/>`,
    text(24, 38, `A month of ${bill.stage} costs $${dollars.toFixed(2)}`, { size: 24, weight: 700 }),
    text(24, 62, `${about}; ${bill.region}, prices of ${bill.prices_read_on}`, { fill: colour.soft }),
    ...lines.flatMap((line, at) => barOf(line, at, { most, whole: dollars })),
    text(24, below, "The three dearest lines, and what would lower them", { size: 16, weight: 700 }),
    ...lines
      .slice(0, dearestLines)
      .flatMap(({ name, lower }, at) => [
        text(24, below + 28 + at * 44, `${at + 1}. ${name}`, { fill: colour.dearest, weight: 700 }),
        text(42, below + 47 + at * 44, lower, { fill: colour.text }),
      ]),
    ...perMillion(bill, below + 28 + dearestLines * 44),
    "</svg>",
  ].join("\n")}\n`;
}

function barOf(
  { name, dollars, fixed }: Line,
  at: number,
  { most, whole }: { readonly most: number; readonly whole: number },
): string[] {
  const y = size.top + at * size.row;
  const width = Math.max(1, (dollars / most) * size.bar);
  const use = fixed ? colour.fixed : colour.use;
  const fill = at < dearestLines ? colour.dearest : use;
  const share = `$${dollars.toFixed(2)}, ${percent(dollars, whole)}${fixed ? ", also without traffic" : ""}`;
  return [
    text(size.left - 12, y + 15, name, { anchor: "end" }),
    `<rect x="${size.left}" y="${y}" width="${round(width)}" height="20" rx="2" fill="${fill}"/>`,
    text(size.left + width + 8, y + 15, share, { fill: colour.soft }),
  ];
}

/** Costs of single things, in words that need no table. */
function perMillion({ routes, events }: Bill, y: number): string[] {
  const of = (name: string) => [...routes, ...events].find((each) => each.name === name)?.dollars.toFixed(2) ?? "?";
  const shown = [
    ["Read an account", of("get_account")],
    ["Create a deposit", of("create_deposit")],
    ["Complete it", of("update_transaction")],
    ["Event to 2 endpoints", of("event to 2 endpoints")],
  ];
  return [
    text(24, y + 14, "A million of the most common things", { size: 16, weight: 700 }),
    ...shown.flatMap(([name = "", dollars = ""], at) => [
      text(24 + at * 235, y + 44, `$${dollars}`, { size: 20, weight: 700 }),
      text(24 + at * 235, y + 64, name, { fill: colour.soft }),
    ]),
  ];
}

interface Style {
  readonly size?: number;
  readonly weight?: number;
  readonly fill?: string;
  readonly anchor?: string;
}

function text(x: number, y: number, words: string, style: Style = {}): string {
  const { size: points = 14, weight = 400, fill = colour.text, anchor = "start" } = style;
  const look = `font-size="${points}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}"`;
  return `<text x="${round(x)}" y="${round(y)}" ${look}>${safe(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function safe(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
