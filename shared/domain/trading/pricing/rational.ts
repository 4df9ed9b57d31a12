type Operand = Rational | string | bigint;

/**
 * An exact number. Trading arithmetic is done in these and rounded once, at its end. It is not kept in lowest terms:
 * to find a common divisor costs more than all the rest of a product or a sum, and no result depends on it.
 */
export class Rational {
  /** Bears the sign. */
  readonly numerator: bigint;
  /** Above zero. */
  readonly denominator: bigint;

  /** @throws RangeError when the denominator is zero */
  constructor(numerator: bigint, denominator: bigint) {
    if (denominator === 0n) throw new RangeError("A number was divided by zero.");
    const negative = denominator < 0n;
    this.numerator = negative ? -numerator : numerator;
    this.denominator = negative ? -denominator : denominator;
  }

  add(other: Operand): Rational {
    const { numerator, denominator } = exact(other);
    if (denominator === this.denominator) return new Rational(this.numerator + numerator, denominator);
    return bounded(this.numerator * denominator + numerator * this.denominator, this.denominator * denominator);
  }

  sub(other: Operand): Rational {
    return this.add(exact(other).neg());
  }

  mul(other: Operand): Rational {
    const { numerator, denominator } = exact(other);
    return bounded(this.numerator * numerator, this.denominator * denominator);
  }

  /** @throws RangeError when the other number is zero */
  div(other: Operand): Rational {
    const { numerator, denominator } = exact(other);
    return bounded(this.numerator * denominator, this.denominator * numerator);
  }

  neg(): Rational {
    return new Rational(-this.numerator, this.denominator);
  }

  abs(): Rational {
    return this.numerator < 0n ? this.neg() : this;
  }

  equals(other: Operand): boolean {
    return this.minus(other) === 0n;
  }

  lt(other: Operand): boolean {
    return this.minus(other) < 0n;
  }

  lte(other: Operand): boolean {
    return this.minus(other) <= 0n;
  }

  gt(other: Operand): boolean {
    return this.minus(other) > 0n;
  }

  gte(other: Operand): boolean {
    return this.minus(other) >= 0n;
  }

  /** Whether it is a whole number of times the other one; never of zero. */
  divisible(other: Operand): boolean {
    const { numerator, denominator } = exact(other);
    return numerator !== 0n && (this.numerator * denominator) % (this.denominator * numerator) === 0n;
  }

  /** A number of the sign that the difference has. */
  private minus(other: Operand): bigint {
    const { numerator, denominator } = exact(other);
    return this.numerator * denominator - numerator * this.denominator;
  }
}

/** A denominator beyond this is brought to lowest terms: 256 bits, more than a decision comes to before it rounds. */
const largest = 1n << 256n;

function bounded(numerator: bigint, denominator: bigint): Rational {
  const value = new Rational(numerator, denominator);
  return value.denominator < largest ? value : inLowestTerms(value);
}

function inLowestTerms({ numerator, denominator }: Rational): Rational {
  let [divisor, rest] = [denominator, numerator < 0n ? -numerator : numerator];
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest];
  return new Rational(numerator / divisor, denominator / divisor);
}

function exact(value: Operand): Rational {
  return value instanceof Rational ? value : rational(value);
}

const numberForm = /^([+-]?\d+)(?:\.(\d+)|\/(\d+))?$/;
const powersOfTen = Array.from({ length: 40 }, (_, digits) => 10n ** BigInt(digits));

function powerOfTen(digits: number): bigint {
  return powersOfTen[digits] ?? 10n ** BigInt(digits);
}

/**
 * The exact value of a decimal text, of a `numerator/denominator` text or of an integer. Never of a double.
 * @throws SyntaxError for any other text
 */
export function rational(value: string | bigint): Rational {
  if (typeof value === "bigint") return new Rational(value, 1n);
  const [, whole, fraction = "", denominator] = numberForm.exec(value) ?? [];
  if (whole === undefined) throw new SyntaxError(`"${value}" is no number.`);
  if (denominator !== undefined) return new Rational(BigInt(whole), BigInt(denominator));
  return new Rational(BigInt(whole + fraction), powerOfTen(fraction.length));
}

/** `numerator / denominator`. */
export function quotient(numerator: bigint, denominator: bigint): Rational {
  return new Rational(numerator, denominator);
}

/** Zero. */
export const zero = rational(0n);

/** The exact value as `numerator/denominator` in lowest terms, which {@link rational} reads again. */
export function ratioText(value: Rational): string {
  const { numerator, denominator } = inLowestTerms(value);
  return `${numerator}/${denominator}`;
}

/** The number in units of `10^-digits`, rounded half away from zero: -0.005 with two digits is -1n. */
export function roundHalfAway({ numerator, denominator }: Rational, digits: number): bigint {
  const scaled = (numerator < 0n ? -numerator : numerator) * powerOfTen(digits);
  const rounded = (2n * scaled + denominator) / (2n * denominator);
  return numerator < 0n ? -rounded : rounded;
}

/** The number in units of `10^-digits`, rounded down or up. */
export function roundToward({ numerator, denominator }: Rational, digits: number, direction: "down" | "up"): bigint {
  const scaled = numerator * powerOfTen(digits);
  const cut = scaled / denominator;
  if (scaled % denominator === 0n) return cut;
  if (direction === "down") return numerator < 0n ? cut - 1n : cut;
  return numerator < 0n ? cut : cut + 1n;
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
