import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { build, type Plugin } from "esbuild";

/** Replacements of what Lambda and Node give to a function. */
export interface Surroundings {
  /** A module of a package or of Node by its name. */
  readonly inject: (name: string) => unknown;
  readonly Date: DateConstructor;
  readonly Math: Math;
  readonly setTimeout: (run: () => void, ms?: number) => unknown;
  readonly clearTimeout: (timer: unknown) => void;
  readonly process: object;
}

/** Exports of a file. */
export type Exports = Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;

/** Makes the modules of a file once more: nothing that one instance remembers is seen by another. */
export type Factory = (surroundings: Surroundings) => Promise<Exports>;

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Files that are left out of the code as it ships, and what stands in for each. */
export type Replacements = Readonly<Record<string, string>>;

/** The clients of AWS and the modules of Node come from the surroundings, by their names. */
function surrounded(replacements: Replacements): Plugin {
  return {
    name: "surrounded",
    setup(context) {
      context.onResolve({ filter: /^[^./]/ }, ({ path }) =>
        isBuiltin(path) || path.startsWith("@aws-sdk/") ? { path, namespace: "injected" } : undefined,
      );
      context.onLoad({ filter: /./, namespace: "injected" }, ({ path }) => ({
        contents: `module.exports = inject(${JSON.stringify(path)});`,
      }));
      context.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = replacements[path.slice(root.length)];
        return contents === undefined ? undefined : { contents, loader: "ts", resolveDir: root };
      });
    },
  };
}

/**
 * Compiles a file of this repository, by its path from the root, so that it can be run many times in this process, each
 * time with a clock, a randomness, clients and a memory of its own: as instances of Lambda are.
 */
export async function factoryOf(file: string, replacements: Replacements = {}): Promise<Factory> {
  const { outputFiles } = await build({
    entryPoints: [`${root}${file}`],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node22",
    logLevel: "silent",
    plugins: [surrounded(replacements)],
  });
  const text = outputFiles[0]?.text ?? "";
  // The bundle imports nothing; what it exports becomes the result of a function that may await.
  const body = text.replace(/export \{([^}]*)\};\s*$/, (_, names: string) => {
    const members = names.split(",").map((name) => name.trim().replace(/^(\w+) as (\w+)$/, "$2: $1"));
    return `return { ${members.join(", ")} };`;
  });
  const names = "inject, Date, Math, setTimeout, clearTimeout, process";
  const script = new Script(`(async ({ ${names} }) => {\n${body}\n})`, { filename: `model/${file}` });
  return script.runInThisContext() as Factory;
}
