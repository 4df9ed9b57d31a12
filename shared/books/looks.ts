import type { Difference } from "../domain/books/difference.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";

/**
 * The differences that each of several looks shows. DynamoDB may show a transaction on one item some milliseconds
 * before it shows it on another; a difference that one look does not show is none.
 */
export async function seenEachTime(
  look: () => readonly Difference[],
  again: () => Promise<unknown>,
): Promise<readonly Difference[]> {
  let seen = look();
  for (let count = 1; count < limits.books.looks && seen.length > 0; count += 1) {
    await pause(limits.books.between_looks_ms);
    await again();
    const before = new Set(seen.map(nameOf));
    seen = look().filter((difference) => before.has(nameOf(difference)));
  }
  return seen;
}

function nameOf({ object_type, object_id, field }: Difference): string {
  return `${object_type} ${object_id} ${field}`;
}
