/**
 * Runs before every file of a project without isolation, whose files share the process of their worker: a file finds no
 * module of this repository loaded, so that neither what a module keeps nor a client of the file before is there, and
 * the environment, the clock and the variables that the worker started with. Packages stay loaded, which is what saves
 * time. Values on `globalThis` or in a package stay, so tests keep nothing there; only the judge of answers keeps what
 * it compiled of the document, and the emulators their server.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { inject, vi } from "vitest";

const kept = globalThis as {
  testEnvironment?: { object: NodeJS.ProcessEnv; variables: NodeJS.ProcessEnv };
  testStorages?: Set<AsyncLocalStorage<unknown>>;
  testFolder?: string | undefined;
};

kept.testFolder = inject("notesDir");

/** Environment at the worker's start; this module is loaded for every file, and only the first one sees it. */
kept.testEnvironment ??= { object: process.env, variables: { ...process.env } };

const { object, variables } = kept.testEnvironment;
vi.useRealTimers();
// Vitest deletes variables of this object: of another one in its place, none could be unstubbed any more.
process.env = object;
vi.unstubAllEnvs();
for (const name of Object.keys(object)) if (!(name in variables)) delete object[name];
Object.assign(object, variables);
vi.resetModules();

// A storage that was entered once follows every promise of its process for good, also after its module is gone.
kept.testStorages ??= enteredStorages();
for (const storage of kept.testStorages) storage.disable();
kept.testStorages.clear();

/** Storages of asynchronous contexts, from the moment that each is entered. */
function enteredStorages(): Set<AsyncLocalStorage<unknown>> {
  const entered = new Set<AsyncLocalStorage<unknown>>();
  const { run } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<unknown>, ...given: Parameters<typeof run>) {
    entered.add(this);
    return run.apply(this, given);
  } as typeof run;
  return entered;
}
