import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { synthesize } from "../../infra/app.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Cloud assembly of the sandbox stage, made once for the whole run. */
    assemblyDir: string;
  }
}

/** Synthesizes the sandbox stage once; every test that runs the stack runs this assembly. */
export default async function setup(project: TestProject): Promise<() => void> {
  const outdir = mkdtempSync(join(tmpdir(), "brokerage-assembly-"));
  await synthesize({ stage: "sandbox", outdir });
  project.provide("assemblyDir", outdir);
  return () => {
    for (const dir of [outdir, project.config.provide.answersDir]) {
      if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
    }
  };
}
