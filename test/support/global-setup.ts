import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { synthesizeOnce } from "../../infra/local/synthesis.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Cloud assembly of the sandbox stage; every test that runs the stack runs it. */
    assemblyDir: string;
  }
}

const keptIn = fileURLToPath(new URL("../../.local/cdk", import.meta.url));

/**
 * Synthesizes the sandbox stage, unless a run or `npm start` has done so from the same sources, and makes the folder in
 * which every file notes what it saw answered.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const { answersDir } = project.config.provide;
  if (answersDir === undefined) throw new Error("The configuration names no folder for the answers.");
  mkdirSync(answersDir, { recursive: true });
  const { directory } = await synthesizeOnce("sandbox", keptIn, console.log);
  project.provide("assemblyDir", directory);
  return () => rmSync(answersDir, { recursive: true, force: true });
}
