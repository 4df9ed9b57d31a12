import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { inKib, overBudget, type RouteSize, routeSizes } from "./sizes.ts";

const app = fileURLToPath(new URL("app/", import.meta.url));
const entries = { script: join(app, "main.tsx"), style: join(app, "theme/index.css") };

/** How the application is built; the development server adds source maps. */
export function buildOptions(out: string, development: boolean): BuildOptions & { readonly metafile: true } {
  return {
    entryPoints: [entries.script, entries.style],
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2022", "chrome120", "firefox121", "safari17"],
    jsx: "automatic",
    minify: !development,
    sourcemap: development,
    metafile: true,
    legalComments: "none",
    logLevel: "silent",
    loader: { ".woff2": "file" },
    define: { "process.env.NODE_ENV": JSON.stringify(development ? "development" : "production") },
    tsconfig: fileURLToPath(new URL("tsconfig.json", import.meta.url)),
  };
}

/**
 * Builds the dashboard into a folder, which is emptied first: `index.html` and `assets/` with content hashes in their
 * names. Prints the script of each route after gzip, and throws when a route is over its budget. The addresses that the
 * application works with are not part of it: they are in `config.json` at the same place, which a deployment writes.
 */
export async function buildDashboard(out: string): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const { metafile } = await build(buildOptions(out, false));
  await writeFile(join(out, "index.html"), indexHtml(metafile));
  const sizes = await sizesOf(metafile);
  for (const { route, bytes } of sizes) console.log(`  ${route.padEnd(20)} ${inKib(bytes).padStart(6)} KiB`);
  const over = overBudget(sizes);
  if (over.length > 0) throw new Error(`${over.join("; ")}.`);
}

async function sizesOf(metafile: Metafile): Promise<RouteSize[]> {
  const scripts = Object.entries(metafile.outputs).filter(([path]) => path.endsWith(".js"));
  const contents = new Map(await Promise.all(scripts.map(async ([path]) => [path, await readFile(path)] as const)));
  return routeSizes(new Map(scripts), (path) => contents.get(path) ?? new Uint8Array());
}

/** The page of every address. It has no script or style of its own, which the content security policy would refuse. */
export function indexHtml({ outputs }: Metafile): string {
  const builtFrom = (entry: string, ending: string): string => {
    const source = relative(process.cwd(), entry);
    const found = Object.entries(outputs).find(([path, one]) => one.entryPoint === source && path.endsWith(ending));
    if (found === undefined) throw new Error(`Nothing was built from ${source}.`);
    return `/assets/${basename(found[0])}`;
  };
  return `<!doctype html>
<html lang="en" data-mantine-color-scheme="light">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Brokerage</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${builtFrom(entries.style, ".css")}">
    <script type="module" src="${builtFrom(entries.script, ".js")}"></script>
  </head>
  <body>
    <div id="root"></div>
    <noscript>The dashboard needs JavaScript.</noscript>
  </body>
</html>
`;
}
