import { TestRunner } from "vitest";
import { fileOf, mutations } from "./mutations.ts";

/**
 * Runs the files of `test/mutants.ts` in one process: before each, it forgets the sources that bugs are planted in, and
 * asks the server for them again. Vitest otherwise evaluates again what the process was sent before.
 */
export default class PlantingRunner extends TestRunner {
  override importFile(filepath: string, source: "collect" | "setup"): unknown {
    const { evaluatedModules } = this["moduleRunner"];
    for (const file of new Set(mutations.map(fileOf))) {
      for (const module of evaluatedModules.getModulesByFile(file) ?? []) evaluatedModules.invalidateModule(module);
    }
    return super.importFile(filepath, source);
  }
}
