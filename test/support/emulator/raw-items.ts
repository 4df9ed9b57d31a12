import type { RawItem, RawValue } from "./raw-table.ts";

/** The items of one kind. */
export function ofType(items: readonly RawItem[], type: string): RawItem[] {
  return items.filter((item) => item["et"] === type);
}

/** A text of an item; empty when it has none of this name. */
export function text(item: RawItem, name: string): string {
  const value = item[name];
  return typeof value === "string" ? value : "";
}

/** The digits of a stored number. */
export function numberText(value: RawValue | undefined): string | undefined {
  return typeof value === "object" && value !== null && "number" in value ? value.number : undefined;
}

/** Whether an item has a number of this name. */
export function hasNumber(item: RawItem, name: string): boolean {
  return numberText(item[name]) !== undefined;
}

/** A whole number of an item; one that nothing equals when it has none of this name. */
export function whole(item: RawItem, name: string): bigint {
  const digits = numberText(item[name]);
  if (digits === undefined || !/^-?\d+$/.test(digits)) return -(10n ** 30n);
  return BigInt(digits);
}

/** The sum of whole numbers. */
export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Items by a key. */
export function groupBy(items: readonly RawItem[], keyOf: (item: RawItem) => string): Map<string, RawItem[]> {
  const groups = new Map<string, RawItem[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** How often each name occurs. */
export function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
