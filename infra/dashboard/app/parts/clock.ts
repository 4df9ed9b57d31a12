import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** A text of the time that is now. A component is drawn again only when the text has become another one. */
export function useClock<T extends string | number | boolean>(textAt: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => textAt(Date.now()));
}
