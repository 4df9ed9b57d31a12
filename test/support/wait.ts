/**
 * A bound in milliseconds that holds when the service runs alone. It stretches where the tests share the processors
 * with other work, as every budget of the service does; `npm run check:long` has it as it is.
 */
export const stretched = (boundMs: number): number => boundMs * Number(process.env["BUDGET_FACTOR"] ?? 1);

const patienceMs = Number(process.env["EVENTUALLY_MS"] ?? 15_000);

/** The first answer of `look` that is not undefined. Looks again at once every few milliseconds, for a bounded time. */
export async function eventually<T>(
  look: () => Promise<T | undefined> | T | undefined,
  withinMs = patienceMs,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`What was awaited did not come within ${withinMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
