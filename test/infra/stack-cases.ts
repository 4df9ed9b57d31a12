import { beforeAll } from "vitest";
import type { Stage } from "../../shared/routes/route.ts";
import { keptStage, type SynthesizedStage } from "./assembly.ts";

const byStage = new Map<Stage, SynthesizedStage>();

beforeAll(async () => {
  for (const stage of ["sandbox", "production"] as const) {
    byStage.set(stage, await keptStage({ stage, config: { leadingKeys: true } }));
  }
});

export function synthesized(stage: Stage): SynthesizedStage {
  const found = byStage.get(stage);
  if (found === undefined) throw new Error(`${stage} was not synthesized.`);
  return found;
}
