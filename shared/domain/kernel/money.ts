import { type CurrencyCode, minorDigits } from "../../currencies.ts";
import { limits } from "../../limits.ts";

/** Why a text is no amount of a currency. */
export type AmountFault = "amount_precision" | "amount_too_large";

/**
 * Minor units of a decimal text such as `"100.5"`. Never rounds: more digits than the currency has is
 * `amount_precision`, more than 10^18 minor units is `amount_too_large`. Yen may be written `100.00`, as programs do
 * that write two digits for every currency; three zeros could be thousands.
 */
export function parseAmount(text: string, currency: CurrencyCode): bigint | AmountFault {
  const digits = minorDigits[currency];
  const [whole = "0", written = ""] = text.split(".");
  const fraction = digits === 0 && /^00?$/.test(written) ? "" : written;
  if (fraction.length > digits) return "amount_precision";
  const minor = BigInt(whole + fraction.padEnd(digits, "0"));
  return minor > limits.money.max_minor ? "amount_too_large" : minor;
}

/**
 * Minor units of an amount with a sign, as a platform reports it. Zeros after the digits of its currency say nothing:
 * platforms print yen as `7.00`.
 */
export function parseReported(text: string, currency: CurrencyCode): bigint | AmountFault {
  const shortest = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const size = parseAmount(shortest.replace("-", ""), currency);
  return typeof size === "bigint" && text.startsWith("-") ? -size : size;
}

/** As {@link parseReported}; one that has more digits than its currency is rounded half away from zero. */
export function roundReported(text: string, currency: CurrencyCode): bigint | AmountFault {
  const digits = minorDigits[currency];
  const [whole = "0", fraction = ""] = text.split(".");
  const cut = parseReported(`${whole}.${fraction.slice(0, digits)}`, currency);
  if (typeof cut === "string" || fraction.charAt(digits) < "5") return cut;
  return text.startsWith("-") ? cut - 1n : cut + 1n;
}

/** The amount as its platform wrote it, where that has more digits than its currency; nothing where it has not. */
export function reportedFigure(text: string, currency: CurrencyCode): { readonly reported_amount?: string } {
  return parseReported(text, currency) === "amount_precision" ? { reported_amount: text } : {};
}

/** Decimal string with exactly the digits of the currency: 125000n USD is `"1250.00"`. */
export function formatAmount(minor: bigint, currency: CurrencyCode): string {
  const digits = minorDigits[currency];
  const sign = minor < 0n ? "-" : "";
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, "0");
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `part * 100 / whole` with two digits, truncated toward zero so that a level never looks better than it is. */
export function formatPercent(part: bigint, whole: bigint): string {
  const hundredths = (part * 10_000n) / whole;
  const sign = hundredths < 0n ? "-" : "";
  const text = (hundredths < 0n ? -hundredths : hundredths).toString().padStart(3, "0");
  return `${sign}${text.slice(0, -2)}.${text.slice(-2)}`;
}

/** The smaller of two amounts. */
export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** The larger of two amounts. */
export function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
