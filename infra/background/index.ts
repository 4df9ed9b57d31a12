import type { Stage } from "../../shared/routes/route.ts";
import { stageConfig } from "../stages.ts";
import type { BackgroundRow } from "./row.ts";
import { backgroundRows } from "./rows.ts";
import { sandboxRows } from "./sandbox-rows.ts";
import { streamRows } from "./stream-rows.ts";
import { keepWarmRow } from "./warm-rows.ts";

/** The functions without a route that a stage has; whether it keeps the others warm, when not as it is by itself. */
export function backgroundOf(stage: Stage, keepsWarm = stageConfig(stage).keepWarm): readonly BackgroundRow[] {
  const all = [...backgroundRows, ...sandboxRows, ...streamRows];
  const rows = all.filter((row) => row.stage === undefined || row.stage === stage);
  return keepsWarm ? [...rows, keepWarmRow(stage, rows)] : rows;
}
