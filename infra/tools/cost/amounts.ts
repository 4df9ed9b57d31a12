import type { PriceName, Prices } from "../../../shared/domain/usage/prices.ts";

/** How much of each priced thing, in the units of the prices: `dynamodb_per_million_write_units: 2` is two million. */
export type Amounts = Readonly<Partial<Record<PriceName, number>>>;

const namesOf = (amounts: Amounts) => Object.keys(amounts) as PriceName[];

/** Dollars of amounts. */
export function dollarsOf(amounts: Amounts, prices: Prices): number {
  return namesOf(amounts).reduce((sum, name) => sum + (amounts[name] ?? 0) * prices[name], 0);
}

/** The same amounts so many times. */
export function times(amounts: Amounts, factor: number): Amounts {
  return Object.fromEntries(namesOf(amounts).map((name) => [name, (amounts[name] ?? 0) * factor]));
}

/** All of them together. */
export function sumOf(parts: readonly Amounts[]): Amounts {
  const sum: Partial<Record<PriceName, number>> = {};
  for (const part of parts) for (const name of namesOf(part)) sum[name] = (sum[name] ?? 0) + (part[name] ?? 0);
  return sum;
}

/** Those of some prices only. */
export function only(amounts: Amounts, wanted: (name: PriceName) => boolean): Amounts {
  return Object.fromEntries(
    namesOf(amounts)
      .filter(wanted)
      .map((name) => [name, amounts[name]]),
  );
}
