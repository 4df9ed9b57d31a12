/**
 * Does `work` for each item, at most so many at a time, and all of them even when some fail.
 * @throws the first failure, after everything has ended
 */
export async function inParallel<T>(
  atMost: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const worker = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      await work(items[index] as T, index).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atMost, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
