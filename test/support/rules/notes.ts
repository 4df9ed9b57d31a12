import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder in which the processes of one run write down what is judged after the last of them. */
    notesDir: string;
  }
}

/**
 * Kinds of notes: operations with the status that they answered, the grants of the functions on a stack, as JSON, and
 * the names of those that a call needed.
 */
export type NoteKind = "answers" | "grants" | "grants-used";

const noted = new Map<NoteKind, Set<string>>();

/** Notes lines for the whole run, each once for a process. */
export function note(kind: NoteKind, lines: readonly string[]): void {
  const before = noted.get(kind) ?? new Set();
  noted.set(kind, before);
  const fresh = [...new Set(lines)].filter((line) => !before.has(line));
  if (fresh.length === 0) return;
  for (const line of fresh) before.add(line);
  appendFileSync(join(inject("notesDir"), `${kind}.${process.pid}`), fresh.map((line) => `${line}\n`).join(""));
}

/** Lines of a kind that some process of the run noted; none when no file with such notes has run. */
export function notesOf(folder: string, kind: NoteKind): Set<string> {
  const files = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => name.startsWith(`${kind}.`));
  return new Set(files.flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean)));
}
