import { afterAll, beforeAll } from "vitest";
import type { Stage } from "../../shared/routes/route.ts";
import { type SynthesizedStage, synthesizeStage } from "./assembly.ts";

const byStage = new Map<Stage, SynthesizedStage>();

beforeAll(async () => {
  for (const stage of ["sandbox", "production"] as const) {
    byStage.set(stage, await synthesizeStage({ stage, validate: false, config: { leadingKeys: true } }));
  }
});

afterAll(async () => {
  for (const stage of byStage.values()) await stage.remove();
});

export function synthesized(stage: Stage): SynthesizedStage {
  const found = byStage.get(stage);
  if (found === undefined) throw new Error(`${stage} was not synthesized.`);
  return found;
}
