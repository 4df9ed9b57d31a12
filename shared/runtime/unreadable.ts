/** A stored item that cannot be read: of a schema version that this code does not know, or damaged. */
export class UnreadableItem extends Error {
  override readonly name = "UnreadableItem";
  /** Partition and sort key with a space between them, for the log. */
  readonly key: string;

  constructor(key: string, why: string) {
    super(`The item ${key} cannot be read: ${why}.`);
    this.key = key;
  }
}

/** @throws UnreadableItem in the place of an item that cannot be read */
export function sound<T>(item: T | UnreadableItem): T {
  if (item instanceof UnreadableItem) throw item;
  return item;
}

/** Those of several items that can be read: for who goes on without the others, which the reader has reported. */
export function readable<T>(items: readonly (T | UnreadableItem)[]): T[] {
  return items.filter((item): item is T => !(item instanceof UnreadableItem));
}

/** The result of work, or the item that it could not read: the work of others goes on. */
export async function unlessUnreadable<T>(work: Promise<T>): Promise<T | UnreadableItem> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof UnreadableItem) return error;
    throw error;
  }
}
