/** Keeps a value in what an environment remembers, as its newest, and at most so many values: the oldest goes first. */
export function keepLast<T>(kept: Map<string, T>, name: string, value: T, atMost: number): void {
  kept.delete(name);
  if (kept.size >= atMost) kept.delete(kept.keys().next().value ?? "");
  kept.set(name, value);
}
