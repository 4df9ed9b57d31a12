import { useAddress } from "./address.ts";
import { useKeys } from "./keys.ts";

/** The place in a queue that the address names. */
interface QueuePlace<T> {
  /** The row that is open, and its place; -1 while none is. */
  readonly opened: T | undefined;
  readonly at: number;
  readonly close: () => void;
}

/** The open row of a queue. j and k go to the next and to the one before, Escape closes it. */
export function useQueue<T extends { readonly id: string }>(rows: readonly T[]): QueuePlace<T> {
  const [search, change] = useAddress();
  const at = rows.findIndex(({ id }) => id === search["open"]);
  const go = (step: 1 | -1) => {
    const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next !== undefined) change({ open: next.id }, true);
  };
  const close = () => change({ open: undefined });
  useKeys({ j: () => go(1), k: () => go(-1), Escape: close });
  return { opened: rows[at], at, close };
}
