import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { bundle } from "../../../infra/bundle.ts";
import { routes } from "../../../shared/routes/index.ts";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import { eventSourceFunctions } from "../../support/rules/architecture-rules.ts";
import type { Subject } from "../measure.ts";
import type { RowCost, Workload } from "../workload.ts";

/** A bundle, before anything of it is measured. */
export interface Bundled {
  /** File of the function, without `.ts`, or the name of a baseline. */
  readonly name: string;
  readonly file: string;
  readonly kibibytes: number;
  readonly gzipped: number;
  /** SHA-256 of the bundle: two that are equal need not be measured again. */
  readonly digest: string;
  readonly baseline: boolean;
}

/** A bundle with its work. */
export interface Row extends Bundled {
  readonly subject: Subject;
  readonly cost: RowCost | undefined;
  /** Behind the API, so the limits of routes hold for it. */
  readonly api: boolean;
}

/** Baselines of every ratio, and the least that one call takes. */
const baselines = {
  empty: "the no-op handler",
  tls: "the no-op handler, node:https loaded",
  floor: "one call, signed by hand",
};

/**
 * Bundles the baselines, the no-op handler first, and the functions whose name holds a text with the settings of
 * production; every one without it.
 * @throws UsageError when there is none
 */
export async function bundleAll(outdir: string, only = ""): Promise<readonly Bundled[]> {
  const files = [...new Set([...routes.map(({ file }) => file), ...eventSourceFunctions])].sort();
  const functions = new URL("../../../functions", import.meta.url).pathname;
  const kept = files.filter((file) => file.includes(only) && existsSync(join(functions, `${file}.ts`)));
  if (kept.length === 0) {
    throw new UsageError(`--only must be part of the name of a function, which "${only}" is not.`);
  }
  const entries = (names: readonly string[]) => names.map((file) => ({ name: file, file }));
  await bundle({ entries: entries(kept), root: functions, outdir: join(outdir, "own") });
  const root = new URL("../baselines", import.meta.url).pathname;
  await bundle({ entries: entries(Object.keys(baselines)), root, outdir: join(outdir, "bare") });
  return Promise.all([
    ...Object.entries(baselines).map(([file, name]) => bundledAt(join(outdir, "bare", file), name, true)),
    ...kept.map((file) => bundledAt(join(outdir, "own", file), file, false)),
  ]);
}

async function bundledAt(folder: string, name: string, baseline: boolean): Promise<Bundled> {
  const file = join(folder, "index.mjs");
  const bytes = await readFile(file);
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return { name, file, kibibytes: bytes.length / 1024, gzipped: gzipSync(bytes).length / 1024, digest, baseline };
}

/** The work of each bundle. */
export async function rowsOf(workload: Workload, bundles: readonly Bundled[]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const each of bundles) {
    const row = each.baseline ? undefined : routes.find(({ file }) => file === each.name);
    const event = each.baseline ? async () => ({}) : () => workload.eventFor(each.name);
    const cost = row && (await workload.costOf(row));
    const subject = {
      name: each.name,
      module: pathToFileURL(each.file).href,
      event,
      environment: workload.environment,
    };
    rows.push({ ...each, subject, cost, api: row !== undefined });
  }
  return rows;
}
