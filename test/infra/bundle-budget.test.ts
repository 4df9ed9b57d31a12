import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../infra/bundle.ts";
import { routes } from "../../shared/routes/index.ts";
import { eventSourceFunctions } from "../support/architecture-rules.ts";

/** Largest bundle of a function behind the API in KiB; every 100 KiB cost about a tenth of a cold start. */
const apiBudget = 160;

/** Largest bundle in KiB of a function that is another size; each says why it may be larger or must be smaller. */
const others: Readonly<Record<string, number>> = {
  // No database, no schemas.
  "documents/health": 60,
  // The description itself, compressed.
  "documents/openapi": 90,
  // These also read secrets and sign or verify tokens: the client of Secrets Manager and jsonwebtoken are 20 KiB.
  "oauth/token": 175,
  // These decide about open positions too: the exact arithmetic of margin and what follows from it are 40 KiB.
  "transactions/deposit": 200,
  "transactions/withdrawal": 200,
  "transactions/update": 200,
  "accounts/update": 200,
  "accounts/disable": 200,
  "sandbox/provide": 200,
  "sandbox/open-trade": 200,
  "sandbox/close-trade": 200,
  // A price does all that there is: it fills, closes, calls and liquidates.
  "sandbox/set-prices": 206,
  "sandbox/drive-account": 210,
  "sandbox/match": 200,
  "sandbox/settle-transaction": 200,
  "sandbox/fail-transaction": 200,
  "sandbox/return-transaction": 200,
  // Everything that trading decides. A bridge calls them all day, so they are hardly ever cold.
  "feed/send-batch": 229,
  "feed/retry-reject": 227,
  // The client of SQS.
  "webhooks/replay": 175,
  "webhooks/retry-delivery": 175,
  // The client of SQS; the samples of events are 24 KiB.
  "webhooks/test": 180,
  "sandbox/trigger-event": 180,
  // The client of API Gateway brings 35 KiB of shapes, of which tree shaking drops none. No caller waits for it.
  "applications/provision": 225,
};

const budgets = new Map<string, number>(
  [...routes.map((row) => row.file), ...eventSourceFunctions].map((file) => [file, others[file] ?? apiBudget]),
);

/** What no function may ship: the full zod, what the diet closed the door on, our own tools and tests. */
const forbidden = [
  /node_modules\/zod\/v4\/classic\//,
  /node_modules\/zod\/v4\/locales\/(?!en\.)/,
  /node_modules\/@aws-sdk\/(?:credential-provider-(?:ini|sso|process|web-identity|login)|nested-clients)\//,
  /node_modules\/(?:undici|mnemonist|semver|lodash[^/]*|ulid|@aws-lambda-powertools|@nestjs)\//,
  /node_modules\/@smithy\/(?:node-http-handler|credential-provider-imds|fetch-http-handler)\//,
  /node_modules\/(?:aws-xray-sdk|aws-cdk-lib|constructs)/,
  /(?:^|\/)shared\/openapi\/(?!openapi\.json$|document\.ts$|published-kinds\.ts$)/,
  /^(?:infra\/(?!sdk-diet\/)|test\/)/,
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

/** What is wrong with a bundle: its size, and each input that it may not have. */
function faults({ kibibytes, inputs }: Shipped, budget: number): string[] {
  const tooLarge = kibibytes > budget ? [`${kibibytes.toFixed(1)} KiB of ${budget}`] : [];
  return [...tooLarge, ...inputs.filter((path) => forbidden.some((pattern) => pattern.test(path)))];
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
    expect(faults(shipped(metafile, file), budget)).toEqual([]);
  });

  it("ships only the row of its endpoint, without what only the description says of it", () => {
    const code = readFileSync(join(outdir, "clients/get/index.mjs"), "utf8");
    expect(code).toContain('"get_client"');
    expect(code).not.toMatch(/"list_clients"|"create_client"|Get one client/);
  });
});

describe("the budget", () => {
  const small = { kibibytes: apiBudget, inputs: ["functions/clients/get.ts", "infra/sdk-diet/http-handler.ts"] };

  it("lets a bundle pass that keeps to it", () => {
    expect(faults(small, apiBudget)).toEqual([]);
  });

  it("catches a bundle that grew past it", () => {
    expect(faults({ ...small, kibibytes: apiBudget + 0.1 }, apiBudget)).toEqual([
      `${apiBudget + 0.1} KiB of ${apiBudget}`,
    ]);
  });

  it.each([
    "node_modules/zod/v4/classic/schemas.js",
    "node_modules/@aws-sdk/nested-clients/dist-es/submodules/sts/index.js",
    "node_modules/@smithy/node-http-handler/dist-es/index.js",
    "node_modules/semver/index.js",
    "node_modules/lodash.once/index.js",
    "infra/stages.ts",
    "shared/openapi/build.ts",
  ])("catches a bundle that takes in %s", (path) => {
    expect(faults({ ...small, inputs: [...small.inputs, path] }, apiBudget)).toEqual([path]);
  });
});
