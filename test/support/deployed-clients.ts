import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vitest/config";
import { keptAssembly } from "../../infra/local/synthesis.ts";

const root = join(import.meta.dirname, "../..");
const sources = join(root, "infra/aws-client");
const keptIn = join(root, ".local/aws-client");

/** Matches the files of the clients, which Node loads as they are: they need no transformation. */
export const clientFiles = /\/\.local\/aws-client\//;

/** Packages of the SDK that functions import. */
const packages = [
  "@aws-sdk/client-api-gateway",
  "@aws-sdk/client-apigatewaymanagementapi",
  "@aws-sdk/client-cloudwatch-logs",
  "@aws-sdk/client-cognito-identity-provider",
  "@aws-sdk/client-dynamodb",
  "@aws-sdk/client-secrets-manager",
  "@aws-sdk/client-sqs",
  "@aws-sdk/lib-dynamodb",
  "@aws-sdk/util-dynamodb",
];

const nameOf = (path: string) => path.replace("@aws-sdk/", "");

/** A digest of everything that the clients are made from. */
export function clientsDigest(): string {
  const hash = createHash("sha256");
  const files = readdirSync(sources).map((name) => join("infra/aws-client", name));
  for (const path of [...files.sort(), "package-lock.json"]) {
    hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Bundles a file for each package, and what several of them share. Throws when a replacement did not apply. */
async function bundleClients(outdir: string): Promise<void> {
  const { build } = await import("esbuild");
  const { assertReplaced, awsClient } = await import("../../infra/aws-client/plugin.ts");
  const { plugin, hits } = awsClient();
  const { metafile } = await build({
    entryPoints: packages.map((name) => ({ in: name, out: nameOf(name) })),
    absWorkingDir: root,
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    mainFields: ["module", "main"],
    metafile: true,
    logLevel: "silent",
    plugins: [plugin],
  });
  assertReplaced(metafile, hits);
  writeFileSync(join(outdir, "manifest.json"), JSON.stringify(metafile.outputs));
}

/**
 * Gives tests the clients of AWS that functions ship instead of the published ones, which cost a third of the
 * processor time of a test on the emulator. They are bundled once for the same sources. `infra/aws-client` itself reads
 * the published packages; `test/infra/aws-client.test.ts` compares both.
 */
export async function deployedClients(): Promise<Plugin> {
  if (process.env["SDK_DIET"] === "0") return { name: "published-clients" };
  const { directory } = await keptAssembly(keptIn, "clients", clientsDigest(), bundleClients);
  return {
    name: "deployed-clients",
    enforce: "pre",
    resolveId(source, importer) {
      if (!packages.includes(source) || importer?.startsWith(sources)) return null;
      return join(directory, `${nameOf(source)}.js`);
    },
  };
}
