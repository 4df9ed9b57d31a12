/** A number of the API with grouped digits and a true minus, in the decimals that it came with; never by a float. */
export function grouped(text: string): string {
  const [, sign = "", whole = "", rest = ""] = /^([-+]?)(\d+)(\..*)?$/.exec(text) ?? [];
  if (whole === "") return text;
  return `${sign.replace("-", "−")}${whole.replaceAll(/\B(?=(\d{3})+$)/g, ",")}${rest}`;
}

/** The same with a plus, for profit and differences. */
export function signed(text: string): string {
  const shown = grouped(text);
  return isNegative(text) || isZero(text) ? shown : `+${shown}`;
}

/** Whether a decimal is below zero. */
export function isNegative(text: string): boolean {
  return text.startsWith("-") && !isZero(text);
}

/** Whether a decimal is zero. */
export function isZero(text: string): boolean {
  return /^[-+]?0*(?:\.0*)?$/.test(text);
}

/** The sum of decimals with the same number of decimals, exact. */
export function sum(texts: readonly string[]): string {
  const decimals = Math.max(0, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const total = texts.reduce((all, text) => all + units(text, decimals), 0n);
  const digits = String(total < 0n ? -total : total).padStart(decimals + 1, "0");
  const cut = digits.length - decimals;
  return `${total < 0n ? "-" : ""}${digits.slice(0, cut)}${decimals > 0 ? `.${digits.slice(cut)}` : ""}`;
}

/** One decimal less another, exact. */
export function less(one: string, other: string): string {
  return sum([one, other.startsWith("-") ? other.slice(1) : `-${other}`]);
}

function units(text: string, decimals: number): bigint {
  const [whole = "0", part = ""] = text.replace(/^[-+]/, "").split(".");
  const value = BigInt(whole + part.padEnd(decimals, "0"));
  return text.startsWith("-") ? -value : value;
}

/** The day of now in UTC, `2026-11-29`. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Prefix and last six characters: identifiers of one moment have their beginning in common. */
export function shortId(id: string): string {
  const [prefix = "", rest = ""] = id.split("_");
  return rest.length > 6 ? `${prefix}_…${rest.slice(-6)}` : id;
}

const spelled: Readonly<Record<string, string>> = {
  e_wallet: "E-wallet",
  stop_out: "Stop-out",
  auto_disabled: "Auto-disabled",
  gtc: "Until cancelled",
  gtd: "Until a time",
  mt4: "MT4",
  mt5: "MT5",
  ctrader: "cTrader",
  cfd: "CFD",
  pep: "PEP",
};

/** A value of the API in words: `bank_transfer` is "Bank transfer". */
export function inWords(value: string): string {
  const text = value.replaceAll("_", " ");
  return spelled[value] ?? text.charAt(0).toUpperCase() + text.slice(1);
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** A length of time in its two largest units: "3 h 12 min". */
export function lengthOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < minute) return `${seconds} s`;
  if (seconds < hour)
    return withRest(Math.floor(seconds / minute), "min", seconds % minute, "s", seconds < 10 * minute);
  if (seconds < day)
    return withRest(Math.floor(seconds / hour), "h", Math.floor((seconds % hour) / minute), "min", true);
  const days = Math.floor(seconds / day);
  return withRest(days, "d", Math.floor((seconds % day) / hour), "h", days < 100);
}

function withRest(value: number, unit: string, rest: number, restUnit: string, shown: boolean): string {
  return shown && rest > 0 ? `${value} ${unit} ${String(rest).padStart(2, "0")} ${restUnit}` : `${value} ${unit}`;
}

/** How long ago, or in how long, a time is. */
export function relative(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  return ms < -1000 ? `in ${lengthOf(-ms)}` : `${lengthOf(ms)} ago`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Time of day in UTC; with its date, and the year of another year, when it is not of today. */
export function clockTime(at: string, nowMs: number): string {
  const time = at.slice(11, 19);
  const today = new Date(nowMs).toISOString();
  if (at.slice(0, 10) === today.slice(0, 10)) return time;
  return `${dateOf(at, at.slice(0, 4) !== today.slice(0, 4))} ${time.slice(0, 5)}`;
}

/** Time of day in UTC of a moment in milliseconds since the epoch: "09:31:02". */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

/** "14 Mar 2026". */
export function dateOf(at: string, year = true): string {
  const [y, m, d] = at.slice(0, 10).split("-");
  return `${Number(d)} ${months[Number(m) - 1]}${year ? ` ${y}` : ""}`;
}
