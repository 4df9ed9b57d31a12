import { AsyncLocalStorage } from "node:async_hooks";

/** Resolves when the work may change something; rejects with what refuses it. */
type Verdict = () => Promise<void>;

const verdicts = new AsyncLocalStorage<Verdict>();

/**
 * Does `work` while its verdict is still pending: reads go on, and every other call by a {@link judged} client waits
 * for the verdict and is not made when that rejects (ADR 0007).
 */
export function awaitingVerdict<T>(verdict: Verdict, work: () => Promise<T>): Promise<T> {
  return verdicts.run(verdict, work);
}

/** Values that verdicts rejected with. */
const refusals = new WeakSet<object>();

/** Whether an error is the refusal of the work itself: no call has failed, and there is nothing to report. */
export function isRefusal(error: unknown): boolean {
  return typeof error === "object" && error !== null && refusals.has(error);
}

/**
 * Resolves when the work may change something: for an effect that no judged client makes, such as a metric.
 * @throws what refuses the work
 */
export async function untilAdmitted(): Promise<void> {
  const verdict = verdicts.getStore();
  if (verdict === undefined) return;
  try {
    await verdict();
  } catch (error) {
    refusals.add(error as object);
    throw error;
  }
}

/** A client of the SDK. */
interface Client {
  readonly send: (...given: never[]) => unknown;
}

/** The class of a command. */
type CommandClass = abstract new (...given: never[]) => object;

/**
 * The client, whose calls wait for the verdict on the work that they belong to, except those of the commands `reads`.
 * A command that is not listed waits, so a new one can only be slower than necessary. Without a verdict, as in the
 * functions behind queues and streams, nothing waits.
 */
export function judged<C extends Client>(client: C, reads: readonly CommandClass[]): C {
  const send = client.send.bind(client) as (command: unknown, options?: object) => unknown;
  const afterVerdict = (command: unknown, options?: object) => {
    const free = verdicts.getStore() === undefined || reads.some((read) => command instanceof read);
    return free ? send(command, options) : untilAdmitted().then(() => send(command, options));
  };
  return Object.assign(client, { send: afterVerdict as C["send"] });
}
