import { UsageError } from "../../../shared/runtime/command-line.ts";

/** A recorded price. `time` is in milliseconds of the Unix epoch. */
export interface Tick {
  readonly time: number;
  readonly symbol: string;
  readonly bid: string;
  readonly ask: string;
}

const columns = ["time", "bid", "ask", "symbol"] as const;
type Column = (typeof columns)[number];

/** A longer line is none of a file of ticks; reading stops there, so that memory stays bounded. */
const longestLine = 1000;
const decimal = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/;
/** Characters of names of symbols; the service has the last word. */
const symbolName = /^[\p{L}\d ._\-/#@+()&!$]{1,31}$/u;
const timestamp = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Reads ticks from the text of a CSV file, one at a time. The first line names the columns `time`, `bid`, `ask` and
 * `symbol` in any order, or is already a tick in that order. Empty lines are skipped, and those that start with `#`
 * where no symbol stands first: `#AAPL` is one.
 * Times are RFC 3339, in UTC when they name no zone, or milliseconds of the Unix epoch, and may not run backwards.
 * @throws UsageError the number of the line and the rule that it breaks
 */
export async function* readTicks(chunks: AsyncIterable<string | Buffer>, symbol?: string): AsyncGenerator<Tick> {
  let places: ReadonlyMap<Column, number> | undefined;
  let last = Number.NEGATIVE_INFINITY;
  for await (const { number, text } of linesOf(chunks)) {
    if (text === "" || (text.startsWith("#") && places?.get("symbol") !== 0)) continue;
    const cells = text.split(/[,;]/).map((cell) => cell.trim());
    if (places === undefined) {
      const named = placesOf(cells, symbol);
      places = named ?? new Map(columns.map((column, place) => [column, place]));
      if (named !== undefined) continue;
    }
    const tick = tickOf(cells, places, symbol);
    if (typeof tick === "string") throw new UsageError(`line ${number}: ${tick}`);
    if (tick.time < last) throw new UsageError(`line ${number}: time must not be before that of the line above`);
    last = tick.time;
    yield tick;
  }
}

async function* linesOf(chunks: AsyncIterable<string | Buffer>) {
  const decoder = new TextDecoder();
  let rest = "";
  let number = 0;
  for await (const chunk of chunks) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      number += 1;
      yield { number, text: bounded(line, number).trim() };
    }
    bounded(rest, number + 1);
  }
  if (rest !== "") yield { number: number + 1, text: rest.trim() };
}

function bounded(line: string, number: number): string {
  if (line.length <= longestLine) return line;
  throw new UsageError(`line ${number}: is longer than ${longestLine} characters`);
}

/** Where each column is; undefined when the line is no header. */
function placesOf(cells: readonly string[], symbol: string | undefined): ReadonlyMap<Column, number> | undefined {
  const names = cells.map((cell) => cell.toLowerCase());
  const needed = symbol === undefined ? columns : columns.filter((column) => column !== "symbol");
  if (!needed.every((column) => names.includes(column))) return undefined;
  return new Map(columns.map((column) => [column, names.indexOf(column)]));
}

/** The tick of a line, or the rule that the line breaks. */
function tickOf(cells: readonly string[], places: ReadonlyMap<Column, number>, symbol?: string): Tick | string {
  const cell = (column: Column) => cells[places.get(column) ?? -1];
  const [time, bid, ask, named] = [cell("time"), cell("bid"), cell("ask"), cell("symbol") ?? symbol];
  if (time === undefined || bid === undefined || ask === undefined || named === undefined) {
    return `must have the columns ${columns.join(", ")} (or give --symbol), and has ${cells.length}`;
  }
  const ms = /^\d{12,14}$/.test(time) ? Number(time) : timeOf(time);
  if (Number.isNaN(ms)) return `time must be RFC 3339 or milliseconds since 1970, not "${time}"`;
  for (const [name, text] of [["bid", bid] as const, ["ask", ask] as const]) {
    if (!decimal.test(text)) return `${name} must be a decimal such as 1.10000 or -37.63, not "${text}"`;
  }
  if (Number(ask) < Number(bid)) return `ask must not be below bid, and ${ask} is below ${bid}`;
  if (!symbolName.test(named.normalize("NFC"))) return `symbol must be a name such as EURUSD, not "${named}"`;
  return { time: ms, symbol: named, bid, ask };
}

function timeOf(text: string): number {
  const match = timestamp.exec(text);
  return match === null ? Number.NaN : Date.parse(text.replace(" ", "T") + (match[1] === undefined ? "Z" : ""));
}
