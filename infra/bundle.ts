import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
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

/** Modules of the SDK that are replaced while bundling, each by what the functions need of it. */
const replacements: Readonly<Record<string, string>> = {
  // Functions only ever get credentials from their environment, so the chain of eight providers (files, SSO, web
  // identity, instance metadata) is dead weight: 130 KB and a tenth of a cold start.
  "@aws-sdk/credential-provider-node": `
export const defaultProvider = () => async () => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } =
    process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error("The environment holds no AWS credentials.");
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
};`,
  // No operation that we call streams events, but the import of this module also keeps others from being left out:
  // 18 KB.
  "@smithy/core/event-streams": `
const none = () => { throw new Error("Event streams are not in this bundle."); };
export const eventStreamSerdeProvider = none;
export const resolveEventStreamSerdeConfig = none;
export class EventStreamSerde { constructor() { none(); } }`,
};

/** Packages that must not come back by another way once the credential chain is replaced. */
const bannedInputs = [
  "@aws-sdk/credential-provider-ini",
  "@aws-sdk/credential-provider-sso",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/credential-provider-process",
];

/** Replaces modules and counts how often each is met, since a renamed package would silently match nothing. */
function sdkDiet(): { plugin: Plugin; hits: ReadonlyMap<string, number> } {
  const namespace = "sdk-diet";
  const hits = new Map(Object.keys(replacements).map((name) => [name, 0]));
  const plugin: Plugin = {
    name: namespace,
    setup(context) {
      context.onResolve({ filter: /^@(?:aws-sdk|smithy)\// }, ({ path }) => {
        const met = hits.get(path);
        if (met === undefined) return undefined;
        hits.set(path, met + 1);
        return { path, namespace, sideEffects: false };
      });
      context.onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: replacements[path] ?? "", loader: "js" }));
    },
  };
  return { plugin, hits };
}

/**
 * The description of the API travels compressed, 17 KB for 250: as a literal it alone would be over the budget of a
 * bundle, and JavaScript is slower to parse than to unpack and read as JSON.
 */
function packedDescription(): Plugin {
  return {
    name: "packed-description",
    setup(context) {
      context.onLoad({ filter: /[\\/]shared[\\/]openapi[\\/]openapi\.json$/ }, async ({ path }) => {
        const text = JSON.stringify(JSON.parse(await readFile(path, "utf8")));
        const packed = brotliCompressSync(text).toString("base64");
        const unpack = `brotliDecompressSync(Buffer.from("${packed}","base64"))`;
        return { contents: `import{brotliDecompressSync}from"node:zlib";export default JSON.parse(${unpack});` };
      });
    },
  };
}

/** Throws when the SDK is in the bundles but a replacement did not do its work. */
export function assertDiet(metafile: Metafile, hits: ReadonlyMap<string, number>): void {
  const inputs = Object.keys(metafile.inputs);
  const clients = inputs.filter((input) => input.includes("node_modules/@aws-sdk/client-"));
  const missed = [...hits].find(([, count]) => count === 0)?.[0];
  if (clients.length > 0 && missed !== undefined) {
    throw new Error(`The SDK no longer imports ${missed}: the replacement matched nothing.`);
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
  const diet = sdkDiet();
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
    plugins: [diet.plugin, packedDescription()],
    // Dependencies in CommonJS call `require` for modules of Node, which an ES module does not have.
    banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
  });
  assertDiet(metafile, diet.hits);
  await writeFile(join(outdir, "metafile.json"), JSON.stringify(metafile));
  return { directories: new Map(options.entries.map(({ file }) => [file, join(outdir, file)])), metafile };
}
