import { mkdirSync, rmSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { synthesizeOnce } from "../../infra/local/synthesis.ts";
import { keptAssemblies } from "./assemblies.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Cloud assembly of the sandbox stage; every test that runs the stack runs it. */
    assemblyDir: string;
  }
}

/**
 * Synthesizes the sandbox stage, unless a run or `npm start` has done so from the same sources, and makes the folder in
 * which every file notes what is judged after all of them.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const { notesDir } = project.config.provide;
  if (notesDir === undefined) throw new Error("The configuration names no folder for the notes.");
  mkdirSync(notesDir, { recursive: true });
  const { directory } = await synthesizeOnce("sandbox", keptAssemblies, console.log);
  project.provide("assemblyDir", directory);
  return () => rmSync(notesDir, { recursive: true, force: true });
}
