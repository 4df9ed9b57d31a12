import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { describe, expect, inject, it } from "vitest";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { eventSourceFunctions } from "../../support/rules/architecture-rules.ts";
import sizes from "./sizes.json" with { type: "json" };

/**
 * Largest bundle of a function behind the API in KiB, by its kind; V8 reads each KiB in 45 microseconds, called or not.
 * Reads value accounts at most; writes decide about money and open positions; what a bridge calls all day decides
 * about everything, and is hardly ever cold. Functions in the background are waited for by no caller. The largest reads
 * have 142: the accounts of a client, valued and with the client next to them. The OpenAPI document is compressed text,
 * of which V8 reads nothing, and grows by 0.8 with each operation.
 */
const caps = { read: 145, write: 262, feed: 342, document: 160 } as const;

/** The cap of a function in KiB; none in the background. */
function capOf({ method, path }: Pick<Route, "method" | "path">): number {
  if (path === "/openapi.json") return caps.document;
  if (method === "GET") return caps.read;
  return /^\/(?:feed|drift)\//.test(path) ? caps.feed : caps.write;
}

const budgets = new Map<string, number>([
  ...routes.map((row) => [row.file, capOf(row)] as const),
  ...eventSourceFunctions.map((file) => [file, Infinity] as const),
]);

/** A size that grew or fell by so many KiB is to be read in the diff of `sizes.json`. */
const shownFrom = 10;

/** Inputs that no function may ship: the full zod, the parts that the diet removed, our own tools and tests. */
const forbidden = [
  /node_modules\/zod\/v4\/classic\//,
  /node_modules\/zod\/v4\/locales\/(?!en\.)/,
  /node_modules\/@aws-sdk\/(?:credential-provider-(?:ini|sso|process|web-identity|login)|nested-clients)\//,
  /node_modules\/(?:undici|mnemonist|semver|lodash[^/]*|ulid|@aws-lambda-powertools|@nestjs)\//,
  /node_modules\/@smithy\/(?:node-http-handler|credential-provider-imds|fetch-http-handler)\//,
  /node_modules\/@smithy\/core\/dist-es\/submodules\/event-streams\//,
  /node_modules\/(?:aws-xray-sdk|aws-cdk-lib|constructs)/,
  /(?:^|\/)shared\/openapi\/(?!stream\/|openapi\.json$|document\.ts$|lean\.ts$|published-kinds\.ts$)/,
  /(?:^|\/)shared\/openapi\/stream\/(?!asyncapi\.json$|async-document\.ts$)/,
  /^(?:infra\/(?!aws-client\/)|test\/)/,
];

interface Shipped {
  readonly kibibytes: number;
  readonly inputs: readonly string[];
}

/** Size and inputs of the bundle of one file; inputs that tree shaking emptied do not count. */
function shipped(metafile: Metafile, file: string): Shipped {
  const output = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint === `entry:${file}`);
  if (output === undefined) throw new Error(`There is no bundle of functions/${file}.ts.`);
  const inputs = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { kibibytes: output.bytes / 1024, inputs: inputs.map(([path]) => path) };
}

/** Faults of a bundle: its size, and each input that it may not have. */
function faults({ kibibytes, inputs }: Shipped, budget: number): string[] {
  const tooLarge = kibibytes > budget ? [`${kibibytes.toFixed(1)} KiB of ${budget}`] : [];
  return [...tooLarge, ...inputs.filter((path) => forbidden.some((pattern) => pattern.test(path)))];
}

describe("the bundle of each function", () => {
  // The bundles that the synthesis of the sandbox made its assets from; it has every function.
  const bundles = join(inject("assemblyDir"), "bundle");
  const metafile = JSON.parse(readFileSync(join(bundles, "metafile.json"), "utf8")) as Metafile;

  it.each([...budgets])("%s stays within %d KiB and ships nothing forbidden", (file, budget) => {
    expect(faults(shipped(metafile, file), budget)).toEqual([]);
  });

  it(`is in sizes.json to ${shownFrom} KiB, which \`npm run bundles\` writes`, () => {
    const stored: Readonly<Record<string, number>> = sizes;
    const others = [...budgets.keys()].filter(
      (file) => !(Math.abs(shipped(metafile, file).kibibytes - (stored[file] ?? Number.NaN)) < shownFrom),
    );
    expect(others).toEqual([]);
    expect(Object.keys(stored).filter((file) => !budgets.has(file))).toEqual([]);
  });

  it("ships the client of the user pool without a route only", () => {
    const holds = (file: string) => shipped(metafile, file).inputs.some((path) => /client-cognito/.test(path));
    expect(routes.map(({ file }) => file).filter(holds)).toEqual([]);
    expect(eventSourceFunctions.filter(holds)).toEqual(["applications/provision"]);
  });

  it("ships only the row of its endpoint, without what only the description says of it", () => {
    const code = readFileSync(join(bundles, "clients/get/index.mjs"), "utf8");
    expect(code).toContain('"get_client"');
    expect(code).not.toMatch(/"list_clients"|"create_client"|Get one client/);
  });
});

describe("the budget", () => {
  const small = { kibibytes: caps.read, inputs: ["functions/clients/get.ts", "infra/aws-client/http-handler.ts"] };

  it("lets a bundle pass that keeps to it", () => {
    expect(faults(small, caps.read)).toEqual([]);
  });

  it("catches a bundle that grew past it", () => {
    expect(faults({ ...small, kibibytes: 145.1 }, caps.read)).toEqual(["145.1 KiB of 145"]);
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
    expect(faults({ ...small, inputs: [...small.inputs, path] }, caps.read)).toEqual([path]);
  });
});
