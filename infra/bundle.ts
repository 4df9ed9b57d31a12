import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

/** One function to bundle: who asks for it, and the file of its handler under the root, without `.ts`. */
export interface BundleEntry {
  readonly name: string;
  readonly file: string;
}

/** What to bundle and where to. */
export interface BundleOptions {
  readonly entries: readonly BundleEntry[];
  /** Folder that the files are named in. */
  readonly root: string;
  /** Receives `<file>/index.mjs` for every entry and `metafile.json`. */
  readonly outdir: string;
}

/** The bundles: one folder per file, each of them one Lambda asset, and esbuild's account of what is in them. */
export interface Bundles {
  readonly directories: ReadonlyMap<string, string>;
  readonly metafile: Metafile;
}

/**
 * Functions only ever get credentials from their environment, so the SDK's chain of eight providers (files, SSO,
 * web identity, instance metadata) is dead weight: 130 KB and a tenth of a cold start.
 */
const environmentProvider = `
export const defaultProvider = () => async () => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } =
    process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error("The environment holds no AWS credentials.");
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
};
`;

/** Packages that must not come back by another way once the credential chain is replaced. */
const bannedInputs = [
  "@aws-sdk/credential-provider-ini",
  "@aws-sdk/credential-provider-sso",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/credential-provider-process",
];

/** Replaces the credential chain and counts how often, since a renamed package would silently match nothing. */
function credentialDiet(): { plugin: Plugin; hits: () => number } {
  const namespace = "environment-credentials";
  let hits = 0;
  const plugin: Plugin = {
    name: namespace,
    setup(context) {
      context.onResolve({ filter: /^@aws-sdk\/credential-provider-node$/ }, () => {
        hits += 1;
        return { path: "credential-provider-node", namespace, sideEffects: false };
      });
      context.onLoad({ filter: /.*/, namespace }, () => ({ contents: environmentProvider, loader: "js" }));
    },
  };
  return { plugin, hits: () => hits };
}

/** Throws when the SDK is in the bundles but the replacement did not do its work. */
export function assertDiet(metafile: Metafile, hits: number): void {
  const inputs = Object.keys(metafile.inputs);
  const clients = inputs.filter((input) => input.includes("node_modules/@aws-sdk/client-"));
  if (clients.length > 0 && hits === 0) {
    throw new Error("The SDK no longer imports @aws-sdk/credential-provider-node: the replacement matched nothing.");
  }
  const leaked = inputs.filter((input) => bannedInputs.some((name) => input.includes(`node_modules/${name}/`)));
  if (leaked.length > 0) throw new Error(`The bundles hold a credential provider that no function uses: ${leaked[0]}`);
}

function assertSources(root: string, entries: readonly BundleEntry[]): void {
  const missing = entries.filter(({ file }) => !existsSync(join(root, `${file}.ts`)));
  if (missing.length === 0) return;
  const folder = relative(process.cwd(), root);
  const lines = missing.map(({ name, file }) => `${name} names ${join(folder, file)}.ts, which does not exist.`);
  throw new Error(lines.join("\n"));
}

/**
 * Bundles all functions with one call, which costs seconds where a call per function costs minutes.
 * Throws when a file is missing, does not build, or the SDK escaped its diet.
 */
export async function bundle(options: BundleOptions): Promise<Bundles> {
  const outdir = resolve(options.outdir);
  const root = resolve(options.root);
  assertSources(root, options.entries);
  const entryPoints = options.entries.map(({ file }) => ({
    in: join(root, `${file}.ts`),
    out: join(file, "index"),
  }));
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const diet = credentialDiet();
  const { metafile } = await build({
    entryPoints,
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: false,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    mainFields: ["module", "main"],
    metafile: true,
    legalComments: "none",
    logLevel: "silent",
    plugins: [diet.plugin],
    // Dependencies in CommonJS call `require` for modules of Node, which an ES module does not have.
    banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
  });
  assertDiet(metafile, diet.hits());
  await writeFile(join(outdir, "metafile.json"), JSON.stringify(metafile));
  return { directories: new Map(options.entries.map(({ file }) => [file, join(outdir, file)])), metafile };
}
