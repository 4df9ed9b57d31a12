/** Why a request may not go on: the members of a transaction that are taken, by position. */
export interface Conflict {
  readonly members: readonly boolean[];
}

/**
 * The items of writes in progress, so that overlapping ones are refused as DynamoDB refuses them (AWS docs: transaction
 * conflict handling): a write of an item in somebody's transaction, an item in two transactions, and a transactional
 * read of an item that is being written. A plain write in progress does not stop a transaction.
 */
export class ItemsInFlight {
  private readonly transactions = new Map<string, number>();
  private readonly writes = new Map<string, number>();
  private readonly tokens = new Set<string>();

  /** Whether a transaction with that client request token is in progress. */
  hasToken(token: string): boolean {
    return this.tokens.has(token);
  }

  /** Takes the items of a write transaction until the returned function is called. */
  startTransaction(items: readonly string[], token: string | undefined): Conflict | (() => void) {
    const members = items.map((item) => this.transactions.has(item));
    if (members.includes(true)) return { members };
    if (token !== undefined) this.tokens.add(token);
    const release = take(this.transactions, items);
    return () => {
      release();
      if (token !== undefined) this.tokens.delete(token);
    };
  }

  /** Takes the items of a plain write until the returned function is called. */
  startWrite(items: readonly string[]): Conflict | (() => void) {
    const members = items.map((item) => this.transactions.has(item));
    return members.includes(true) ? { members } : take(this.writes, items);
  }

  /** Conflicts of a transactional read; undefined when there is none. */
  readConflict(items: readonly string[]): Conflict | undefined {
    const members = items.map((item) => this.transactions.has(item) || this.writes.has(item));
    return members.includes(true) ? { members } : undefined;
  }
}

function take(counts: Map<string, number>, items: readonly string[]): () => void {
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return () => {
    for (const item of items) {
      const left = (counts.get(item) ?? 1) - 1;
      if (left > 0) counts.set(item, left);
      else counts.delete(item);
    }
  };
}
