import { AsyncResource } from "node:async_hooks";
import { parentPort, SHARE_ENV, Worker, workerData } from "node:worker_threads";
import { limits } from "../limits.ts";
import { env } from "./env.ts";
import { causeOf, log } from "./log.ts";
import { isUnavailable, Unavailable } from "./unavailable.ts";

/**
 * Asks another thread, for at most so many milliseconds. Question and answer are values that structured cloning keeps.
 * Undefined where the thread cannot be asked: nothing was sent. Rejects with `Unavailable` when the thread ends or is
 * late: what it was asked may have been done.
 */
export type Ask<Q, A> = (question: Q, within_ms: number) => Promise<A> | undefined;

/** Answers a question on the thread that was asked. */
type Answer<Q, A> = (question: Q) => Promise<A>;

/** What a thread says: that it can be asked, or an answer. */
type Message<A> =
  | { readonly ready: true }
  | { readonly id: number; readonly answer: A }
  | { readonly id: number; readonly error: Error; readonly unavailable: boolean };

/** What a thread is asked. */
interface Asked<Q> {
  readonly id: number;
  readonly question: Q;
}

/** Threads in addition to the main one: each of them runs the same file and answers by the same function. */
export interface WorkerThreads<Q, A> {
  /**
   * The threads that can be asked now. The first call starts them and returns none of them, so that no request waits
   * for their start; one that ended is started again.
   */
  readonly ready: () => readonly Ask<Q, A>[];
}

/** What a thread is started with, so that no other thread that loads a function takes itself for one. */
const role = "brokerage-worker-thread";

/** Whether this is such a thread: it answers questions, and no requests. */
export const isWorkerThread: boolean = workerData === role;

/**
 * One thread for each processor of the function but the first, which the main thread uses: none below 2,654 MB. `file`
 * is the module that calls this, as `import.meta.url`. A thread loads it, which calls this again: the thread then does
 * `prepare` and answers by `answer`.
 */
export function workerThreads<Q, A>(
  file: string,
  answer: Answer<Q, A>,
  prepare: () => Promise<void>,
): WorkerThreads<Q, A> {
  if (isWorkerThread) {
    serve(answer, prepare);
    return { ready: () => [] };
  }
  const threads = Array.from({ length: env.processors - 1 }, () => new Thread<Q, A>(file));
  return { ready: () => threads.flatMap((thread) => thread.ready() ?? []) };
}

/** Answers the questions of the main thread. */
function serve<Q, A>(answer: Answer<Q, A>, prepare: () => Promise<void>): void {
  const say = (message: Message<A>) => parentPort?.postMessage(message);
  parentPort?.on("message", ({ id, question }: Asked<Q>) => {
    answer(question)
      .then((done) => say({ id, answer: done }))
      // An error loses its class on its way, and with it what it means.
      .catch((error: Error) => say({ id, error: new Error(error.message), unavailable: isUnavailable(error) }));
  });
  // Its first question makes up for what could not be prepared.
  void prepare()
    .catch(() => undefined)
    .then(() => say({ ready: true }));
}

interface Waiting<A> {
  readonly done: (answer: A) => void;
  readonly failed: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A thread as the main one knows it: not started, starting, ready, or ended. */
class Thread<Q, A> {
  private readonly file: string;
  /** Of no request, whichever starts the thread: what is logged of it names none. */
  private readonly scope = new AsyncResource("Thread");
  private readonly waiting = new Map<number, Waiting<A>>();
  private worker: Worker | undefined;
  private isReady = false;
  private failedStarts = 0;
  private asked = 0;

  constructor(file: string) {
    this.file = file;
  }

  ready(): Ask<Q, A> | undefined {
    if (this.worker === undefined && this.failedStarts < limits.functions.thread_starts) {
      this.scope.runInAsyncScope(() => this.start());
    }
    return this.isReady ? this.ask : undefined;
  }

  private start(): void {
    this.failedStarts += 1;
    try {
      // The variables are those of the main thread at any time: Lambda sets the trace of each invocation there.
      const worker = new Worker(new URL(this.file), { workerData: role, env: SHARE_ENV });
      // It keeps the process from its end only while it is asked something.
      worker.unref();
      worker.on("message", (message: Message<A>) => this.hear(message));
      worker.on("error", failed);
      worker.on("exit", () => this.end());
      this.worker = worker;
    } catch (error) {
      failed(error);
    }
  }

  private hear(message: Message<A>): void {
    if ("ready" in message) {
      this.isReady = true;
      this.failedStarts = 0;
    } else this.settle(message);
  }

  private end(): void {
    this.worker = undefined;
    this.isReady = false;
    for (const id of [...this.waiting.keys()]) this.giveUp(id, "A thread ended.");
  }

  private readonly ask: Ask<Q, A> = (question, within_ms) => {
    const { worker } = this;
    if (worker === undefined) return undefined;
    this.asked += 1;
    const id = this.asked;
    try {
      worker.postMessage({ id, question } satisfies Asked<Q>);
    } catch (error) {
      failed(error);
      return undefined;
    }
    worker.ref();
    return new Promise((done, failed) => {
      const timer = setTimeout(() => this.giveUp(id, "A thread is late."), within_ms);
      this.waiting.set(id, { done, failed, timer });
    });
  };

  private giveUp(id: number, reason: string): void {
    this.settle({ id, error: new Error(reason), unavailable: true });
  }

  private settle(message: Exclude<Message<A>, { ready: true }>): void {
    const waiting = this.waiting.get(message.id);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.waiting.delete(message.id);
    if (this.waiting.size === 0) this.worker?.unref();
    if ("answer" in message) waiting.done(message.answer);
    else waiting.failed(message.unavailable ? new Unavailable(message.error.message) : message.error);
  }
}

function failed(error: unknown): void {
  const { stack } = error as Error;
  log.error("A thread failed.", { ...causeOf(error), stack });
}
