import type { Stage } from "../../shared/routes/route.ts";
import type { BackgroundRow } from "./row.ts";
import { backgroundRows } from "./rows.ts";
import { sandboxRows } from "./sandbox-rows.ts";

/** The functions without a route that a stage has. */
export function backgroundOf(stage: Stage): readonly BackgroundRow[] {
  return [...backgroundRows, ...sandboxRows].filter((row) => row.stage === undefined || row.stage === stage);
}
