import { AsyncLocalStorage } from "node:async_hooks";
import { setMaxListeners } from "node:events";

/** Ends when the time of the work is over that a call is made for. */
const budgets = new AsyncLocalStorage<AbortSignal>();

/**
 * Does `work` within so many milliseconds: a call of AWS that it makes by a {@link bounded} client and that is still
 * under way then fails with an `AbortError`, and so does one that it begins later. A budget inside another one counts
 * alone.
 */
export async function withinBudget<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const ending = new AbortController();
  // Each call under way listens: a publisher has more of them than Node takes for normal.
  setMaxListeners(0, ending.signal);
  const timer = setTimeout(() => ending.abort(), ms);
  try {
    return await budgets.run(ending.signal, work);
  } finally {
    clearTimeout(timer);
  }
}

/** A client of the SDK. */
interface Client {
  readonly send: (...given: never[]) => unknown;
}

/** The client, each of whose calls ends with the budget that it is made in; outside of one its own limits count. */
export function bounded<C extends Client>(client: C): C {
  const send = client.send.bind(client) as (command: unknown, options?: object) => unknown;
  const within = (command: unknown, options?: object) => {
    const abortSignal = budgets.getStore();
    return send(command, abortSignal === undefined ? options : { abortSignal, ...options });
  };
  return Object.assign(client, { send: within as C["send"] });
}
