import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { describe, expect, inject, it } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import { eventSourceFunctions } from "../support/rules/architecture-rules.ts";

/**
 * Largest bundle of a function behind the API in KiB; V8 reads each in 45 microseconds, called or not. Each that may
 * refuse a caller holds 6 KiB which report that: the client of SQS. What seals the
 * persons of the audit is 4 KiB of every command, and adding up the units of a request is 0.6 KiB of everything, as are
 * the limits of the stream.
 */
const apiBudget = 147;

/** Largest bundle in KiB of a function that is another size; each says why it may be larger or must be smaller. */
const others: Readonly<Record<string, number>> = {
  // No database, no schemas.
  "documents/health": 42,
  // The descriptions themselves, compressed.
  "documents/openapi": 136,
  "documents/asyncapi": 90,
  // The exchange of operators is 8 KiB: the key set of the pool, what its tokens must say, and the sign-in. Reporting
  // who is refused is 7: the client of SQS.
  "oauth/token": 155,
  // The claims of an e-mail address and an external id that move, and what a merge patch replaces.
  "clients/update": 148,
  // It links an account to the source of a platform.
  "accounts/create": 153,
  // A disable asks the platform of a linked account for no access, which is 8 KiB.
  "accounts/disable": 164,
  // These decide about open positions too: the exact arithmetic of margin and what follows from it, with the nights
  // that they are due, are 43 KiB, and reading the terms of these nights is 2. Money
  // of a linked account moves by command, which is 8 KiB more where a transaction is moved, and 3 more are what a
  // platform is asked to follow of it.
  "transactions/deposit": 219,
  "transactions/withdrawal": 220,
  // It asks the platform of a linked account for it.
  "transactions/adjustment": 152,
  "transactions/credit": 153,
  // The steps of a transfer over a platform are 10 KiB.
  "transactions/transfer": 251,
  // It also frees what an operation held that was put aside.
  "transactions/update": 256,
  // They are decided as the same move of an update.
  "transactions/approve": 247,
  "transactions/reject": 242,
  "accounts/update": 219,
  "sandbox/open-trade": 203,
  "sandbox/close-trade": 190,
  // Credit that ends moves the margin of open positions; it runs every minute, so it is hardly ever cold.
  // With the replay of a ledger, which a payout that comes back may need.
  "sandbox/settle-transaction": 233,
  "sandbox/fail-transaction": 223,
  "sandbox/return-transaction": 233,
  // It completes and fails transactions like the others, without deciding about positions itself.
  "sandbox/simulate-provider": 179,
  // It decides about margin and liquidations, and asks platforms for them. To find the part of a position that is
  // closed without trying each is 0.6 KiB of everything that deals.
  "margin/evaluate": 137,
  // It reads what waits for a price, and closes by deciding like the others.
  "sandbox/match": 146,
  // A price does all that there is: it fills, closes, calls and liquidates.
  "sandbox/set-prices": 231,
  // It reads the events that it causes, whose payloads need their dictionary.
  "sandbox/drive-account": 244,
  // Everything that trading decides, and which money of a platform is ours. A bridge calls them all day, so they are
  // hardly ever cold.
  "feed/send-batch": 325,
  "feed/retry-reject": 309,
  // What the end of a command books, with what follows for the margin of open positions.
  "feed/ack-command": 267,
  "feed/requeue-command": 197,
  // What adopting the platform's balance books, with what follows for the margin of open positions.
  "feed/resolve-drift": 335,
  // It compares positions exactly, and reads them as they are under a change of leverage.
  "feed/send-snapshot": 171,
  // Whose books count is changed by two persons.
  "feed/update-source": 147,
  // With the moves of a command, which are the decision.
  "feed/take-commands": 142,
  // The samples of events are 27 KiB.
  "webhooks/create": 147,
  "webhooks/test": 178,
  "sandbox/trigger-event": 179,
  // It takes transfers further, whose accounts may have open positions. It runs once a minute and is hardly ever cold.
  "events/sweep-events": 346,
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
  /node_modules\/@smithy\/core\/dist-es\/submodules\/event-streams\//,
  /node_modules\/(?:aws-xray-sdk|aws-cdk-lib|constructs)/,
  /(?:^|\/)shared\/openapi\/(?!stream\/|openapi\.json$|document\.ts$|published-kinds\.ts$)/,
  /(?:^|\/)shared\/openapi\/stream\/(?!asyncapi\.json$|async-document\.ts$)/,
  /^(?:infra\/(?!aws-client\/)|test\/)/,
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
  // The bundles that the synthesis of the sandbox made its assets from; it has every function.
  const bundles = join(inject("assemblyDir"), "bundle");
  const metafile = JSON.parse(readFileSync(join(bundles, "metafile.json"), "utf8")) as Metafile;

  it.each([...budgets])("%s stays within %i KiB and ships nothing forbidden", (file, budget) => {
    expect(faults(shipped(metafile, file), budget)).toEqual([]);
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
  const small = { kibibytes: apiBudget, inputs: ["functions/clients/get.ts", "infra/aws-client/http-handler.ts"] };

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
