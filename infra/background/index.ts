import type { Stage } from "../../shared/routes/route.ts";
import type { BackgroundRow } from "./row.ts";
import { backgroundRows } from "./rows.ts";
import { sandboxRows } from "./sandbox-rows.ts";
import { streamRows } from "./stream-rows.ts";

/** The functions without a route that a stage has. */
export function backgroundOf(stage: Stage): readonly BackgroundRow[] {
  const rows = [...backgroundRows, ...sandboxRows, ...streamRows];
  return rows.filter((row) => row.stage === undefined || row.stage === stage);
}
