import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../infra/bundle.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { eventSourceFunctions } from "../support/architecture-rules.ts";

/** Largest bundle in KiB by what a function does; every 100 KiB cost about a tenth of a cold start. */
function budgetOf(row: Route): number {
  if (row.rate === "token") return 345;
  if (row.secrets !== undefined) return 305;
  if (row.file === "documents/openapi") return 110;
  if (row.file === "documents/health") return 80;
  return row.method === "GET" ? 290 : 300;
}

const budgets = new Map<string, number>([
  ...routes.map((row) => [row.file, budgetOf(row)] as const),
  ...eventSourceFunctions.map((file) => [file, file === "applications/provision" ? 335 : 290] as const),
]);

/** What no function may ship: the full zod, providers of credentials it never uses, our own tools and tests. */
const forbidden = [
  /node_modules\/zod\/v4\/classic\//,
  /node_modules\/zod\/v4\/locales\/(?!en\.)/,
  /node_modules\/@aws-sdk\/(?:credential-provider-(?:ini|sso|process|web-identity|login)|nested-clients)\//,
  /node_modules\/(?:aws-xray-sdk|aws-cdk-lib|constructs)/,
  /(?:^|\/)shared\/openapi\/(?!openapi\.json$|document\.ts$)/,
  /^(?:infra|test)\//,
];

interface Shipped {
  readonly kibibytes: number;
  readonly inputs: readonly string[];
}

/** Size and inputs of the bundle of one file; inputs that tree shaking emptied do not count. */
function shipped(metafile: Metafile, file: string): Shipped {
  const output = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint?.endsWith(`functions/${file}.ts`));
  if (output === undefined) throw new Error(`There is no bundle of functions/${file}.ts.`);
  const inputs = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { kibibytes: output.bytes / 1024, inputs: inputs.map(([path]) => path) };
}

describe("the bundle of each function", () => {
  const outdir = mkdtempSync(join(tmpdir(), "bundle-budget-"));
  let metafile: Metafile;

  beforeAll(async () => {
    const entries = [...budgets.keys()].map((file) => ({ name: file, file }));
    const root = new URL("../../functions/", import.meta.url).pathname;
    ({ metafile } = await bundle({ entries, root, outdir }));
  });

  afterAll(() => rmSync(outdir, { recursive: true, force: true }));

  it.each([...budgets])("%s stays within %i KiB and ships nothing forbidden", (file, budget) => {
    const { kibibytes, inputs } = shipped(metafile, file);
    expect(inputs.filter((path) => forbidden.some((pattern) => pattern.test(path)))).toEqual([]);
    expect(kibibytes).toBeLessThanOrEqual(budget);
  });
});
