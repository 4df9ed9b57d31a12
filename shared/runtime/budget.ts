import { AsyncLocalStorage } from "node:async_hooks";
import { setMaxListeners } from "node:events";
import { limits } from "../limits.ts";
import { env } from "./env.ts";

/** Units of DynamoDB, as its answers report them; a read may take half a unit. */
export interface SpentUnits {
  read_units: number;
  write_units: number;
}

interface Budget {
  /** Ends when the time of the work is over that a call is made for. */
  readonly ending: AbortSignal;
  readonly spent: SpentUnits;
}

const budgets = new AsyncLocalStorage<Budget>();

/**
 * Does `work` within so many milliseconds: a call of AWS that it makes by a {@link bounded} client and that is still
 * under way then fails with an `AbortError`, and so does one that it begins later. Of a budget inside another one the
 * time counts alone, and the units count for both.
 */
export async function withinBudget<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const ending = new AbortController();
  // Each call under way listens: a publisher has more of them than Node takes for normal.
  setMaxListeners(0, ending.signal);
  const timer = setTimeout(() => ending.abort(), ms);
  try {
    const spent = budgets.getStore()?.spent ?? { read_units: 0, write_units: 0 };
    return await budgets.run({ ending: ending.signal, spent }, work);
  } finally {
    clearTimeout(timer);
  }
}

/** Units that the work of this budget has spent so far, to be added to; undefined outside of a budget. */
export function spentUnits(): SpentUnits | undefined {
  return budgets.getStore()?.spent;
}

/** How long a try of a call may take, in the SDK's words: as much longer as a request may take (`env.budgetFactor`). */
export function callHandler() {
  const { handler } = limits.calls;
  return { ...handler, requestTimeout: handler.requestTimeout * env.budgetFactor };
}

/** A client of the SDK. */
interface Client {
  readonly send: (...given: never[]) => unknown;
}

/** The client, each of whose calls ends with the budget that it is made in; outside of one its own limits count. */
export function bounded<C extends Client>(client: C): C {
  const send = client.send.bind(client) as (command: unknown, options?: object) => unknown;
  const within = (command: unknown, options?: object) => {
    const abortSignal = budgets.getStore()?.ending;
    return send(command, abortSignal === undefined ? options : { abortSignal, ...options });
  };
  return Object.assign(client, { send: within as C["send"] });
}
