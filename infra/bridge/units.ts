/** Decimals of the numbers that a bridge calculates with: as many as the API takes. */
export const mostDecimals = 12;

const decimals = mostDecimals;
const one = 10n ** BigInt(decimals);

const plain = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * A decimal as a whole number of 10^-12.
 * @throws Error when the text is no plain decimal of at most twelve decimals
 */
export function unitsOf(text: string): bigint {
  const [, sign, whole = "", fraction = ""] = plain.exec(text) ?? [];
  const tail = fraction.replace(/0+$/, "");
  if (sign === undefined || tail.length > decimals) {
    throw new Error(`"${text}" is no plain decimal of at most ${decimals} decimals.`);
  }
  const units = BigInt(whole) * one + BigInt(tail.padEnd(decimals, "0") || "0");
  return sign === "-" ? -units : units;
}

/** A whole number of 10^-12 as a decimal with at least this many decimals. */
export function decimalOf(units: bigint, least = 0): string {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "").padEnd(least, "0");
  const whole = `${units < 0n ? "-" : ""}${digits.slice(0, -decimals)}`;
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** The product of two numbers of 10^-12, rounded toward zero. */
export function product(a: bigint, b: bigint): bigint {
  return (a * b) / one;
}

/** The product of two numbers of 10^-12, where it is one itself; undefined where digits would be lost. */
export function exactProduct(a: bigint, b: bigint): bigint | undefined {
  return (a * b) % one === 0n ? product(a, b) : undefined;
}

/** The quotient of two numbers of 10^-12, where it is one itself; undefined where digits would be lost. */
export function exactQuotient(a: bigint, b: bigint): bigint | undefined {
  const scaled = a * one;
  return scaled % b === 0n ? scaled / b : undefined;
}

/** A number of 10^-12 rounded to so many decimals, half away from zero. */
export function rounded(units: bigint, places: number): bigint {
  const step = 10n ** BigInt(decimals - places);
  const half = units < 0n ? -step / 2n : step / 2n;
  return ((units + half) / step) * step;
}
