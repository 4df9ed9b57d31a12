import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";
import { publishedKinds, samples } from "../shared/openapi/published-kinds.ts";
import { assertReplaced, assertVersions, awsClient, installedVersion } from "./aws-client/plugin.ts";
import { declarations } from "./declarations.ts";

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
  /** False ships the SDK as it is published; `SDK_DIET=0` in the environment says so for every build. */
  readonly diet?: boolean;
}

/** The bundles: one folder per file, each of them one Lambda asset, and esbuild's account of what is in them. */
export interface Bundles {
  readonly directories: ReadonlyMap<string, string>;
  readonly metafile: Metafile;
}

/**
 * The description of the API travels compressed, 48 KB for 700: as a literal it alone would be over the budget of a
 * bundle, and JavaScript is slower to parse than to unpack and read as JSON. So do the kinds of events that are made of
 * it, without the description itself; their samples, which are small, travel as they are.
 */
function packedDescription(): Plugin {
  return {
    name: "packed-description",
    setup(context) {
      context.onLoad({ filter: /[\\/]shared[\\/]openapi[\\/]openapi\.json$/ }, async ({ path }) => {
        const text = JSON.stringify(JSON.parse(await readFile(path, "utf8")));
        return { contents: `${unpacker}export default ${packed(text)};` };
      });
      context.onLoad({ filter: /[\\/]shared[\\/]openapi[\\/]published-kinds\.ts$/ }, () => ({
        contents: [
          unpacker,
          `export const publishedKinds = /* @__PURE__ */ (() => ${packed(JSON.stringify(publishedKinds))})();`,
          `export const samples = /* @__PURE__ */ JSON.parse(${JSON.stringify(JSON.stringify(samples))});`,
        ].join("\n"),
      }));
    },
  };
}

const unpacker = 'import{brotliDecompressSync}from"node:zlib";';

/** An expression that is a value again, given as JSON: compressed, where that is a tenth. */
function packed(text: string): string {
  const bytes = brotliCompressSync(text).toString("base64");
  return `JSON.parse(brotliDecompressSync(Buffer.from("${bytes}","base64")))`;
}

/** First line of a bundle of dependencies in CommonJS, which call `require` for modules of Node. */
export const requireOfNode = 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);';

function assertSources(root: string, entries: readonly BundleEntry[]): void {
  const missing = entries.filter(({ file }) => !existsSync(join(root, `${file}.ts`)));
  if (missing.length === 0) return;
  const folder = relative(process.cwd(), root);
  const lines = missing.map(({ name, file }) => `${name} names ${join(folder, file)}.ts, which does not exist.`);
  throw new Error(lines.join("\n"));
}

/**
 * Bundles all functions with one call, which costs seconds where a call per function costs minutes.
 * Throws when a file is missing, does not build, or a replacement of the SDK did not apply.
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
  const diet = (options.diet ?? process.env["SDK_DIET"] !== "0") ? awsClient() : undefined;
  if (diet !== undefined) assertVersions(installedVersion);
  const { metafile, warnings } = await build({
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
    plugins: [packedDescription(), declarations(), ...(diet === undefined ? [] : [diet.plugin])],
    ...(diet === undefined && { banner: { js: requireOfNode } }),
  });
  const missing = warnings.find(({ id }) => id === "import-is-undefined");
  if (missing !== undefined) throw new Error(`${missing.location?.file}: ${missing.text}`);
  if (diet !== undefined) assertReplaced(metafile, diet.hits);
  await writeFile(join(outdir, "metafile.json"), JSON.stringify(metafile));
  return { directories: new Map(options.entries.map(({ file }) => [file, join(outdir, file)])), metafile };
}
