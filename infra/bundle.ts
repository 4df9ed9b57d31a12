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

/** Sources and target of a bundle. */
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

/**
 * The entry of each bundle. It answers the warm-up event itself (`shared/usage/keep-warm.ts`), so that no function runs
 * for it: the environment that took it is there for the next request. An entry without a handler is bundled as it is.
 */
function entries(root: string): Plugin {
  const filter = /^entry:/;
  return {
    name: "entries",
    setup(context) {
      context.onResolve({ filter }, ({ path }) => ({ path: path.replace(filter, ""), namespace: "entry" }));
      context.onLoad({ filter: /.*/, namespace: "entry" }, async ({ path }) => {
        const file = join(root, `${path}.ts`);
        const isHandler = /^export .*\bhandler\b/m.test(await readFile(file, "utf8"));
        const plain = `export * from ${JSON.stringify(file)};`;
        return { contents: isHandler ? `${answeringWarmUp(file)}${plain}` : plain, resolveDir: root };
      });
    },
  };
}

function answeringWarmUp(file: string): string {
  return (
    `import{handler as work}from ${JSON.stringify(file)};` +
    "export const handler=(event,context)=>event?.warm_up===true?Promise.resolve():work(event,context);"
  );
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
    in: `entry:${file}`,
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
    target: "node22",
    mainFields: ["module", "main"],
    metafile: true,
    legalComments: "none",
    logLevel: "silent",
    plugins: [entries(root), packedDescription(), declarations(), ...(diet === undefined ? [] : [diet.plugin])],
    ...(diet === undefined && { banner: { js: requireOfNode } }),
  });
  const missing = warnings.find(({ id }) => id === "import-is-undefined");
  if (missing !== undefined) throw new Error(`${missing.location?.file}: ${missing.text}`);
  if (diet !== undefined) assertReplaced(metafile, diet.hits);
  await writeFile(join(outdir, "metafile.json"), JSON.stringify(metafile));
  return { directories: new Map(options.entries.map(({ file }) => [file, join(outdir, file)])), metafile };
}
