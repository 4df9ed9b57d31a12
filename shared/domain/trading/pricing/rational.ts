import Fraction from "fraction.js";

/** An exact number. Trading arithmetic is done in these and rounded once, at its end. */
export type Rational = Fraction;

/** The exact value of a decimal text, of a `numerator/denominator` text or of an integer. Never of a double. */
export function rational(value: string | bigint): Rational {
  return new Fraction(value);
}

/** `numerator / denominator`. */
export function quotient(numerator: bigint, denominator: bigint): Rational {
  return new Fraction(numerator, denominator);
}

/** Zero. */
export const zero = rational(0n);

/** The exact value as `numerator/denominator`, which {@link rational} reads again. */
export function ratioText(value: Rational): string {
  return `${value.s * value.n}/${value.d}`;
}

/** The number in units of `10^-digits`, rounded half away from zero: -0.005 with two digits is -1n. */
export function roundHalfAway(value: Rational, digits: number): bigint {
  return value.s * roundedRatio(value.n * 10n ** BigInt(digits), value.d);
}

/** `numerator / denominator` of two numbers that are not negative, rounded half up. */
function roundedRatio(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

/** The number in units of `10^-digits`, rounded down or up. */
export function roundToward(value: Rational, digits: number, direction: "down" | "up"): bigint {
  const scaled = value.s * value.n * 10n ** BigInt(digits);
  const cut = scaled / value.d;
  if (scaled % value.d === 0n) return cut;
  if (direction === "down") return value.s < 0n ? cut - 1n : cut;
  return value.s < 0n ? cut : cut + 1n;
}

/** Decimal text with exactly `digits` digits, rounded half away from zero. */
export function decimalText(value: Rational, digits: number): string {
  return unitsText(roundHalfAway(value, digits), digits);
}

/** Decimal text of a number of units of `10^-digits`. */
export function unitsText(units: bigint, digits: number): string {
  const sign = units < 0n ? "-" : "";
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, "0");
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Decimal text with at least `least` and at most `most` digits, without zeros at its end beyond the least. */
export function shortDecimalText(value: Rational, least: number, most: number): string {
  const text = decimalText(value, most);
  const end = text.length - (most - least);
  let length = text.length;
  while (length > end && text[length - 1] === "0") length -= 1;
  return text[length - 1] === "." ? text.slice(0, length - 1) : text.slice(0, length);
}
