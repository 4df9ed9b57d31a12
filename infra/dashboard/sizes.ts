import { basename } from "node:path";
import { gzipSync } from "node:zlib";

/** A file that esbuild wrote: its imports, and the source that it begins with. */
export interface BuiltFile {
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
  readonly entryPoint?: string | undefined;
}

/** The script that a route loads, in bytes after gzip. */
export interface RouteSize {
  readonly route: string;
  readonly bytes: number;
}

/** The most that the first route, and any further one, may load in KiB of script after gzip. */
export const scriptBudget = { first_kib: 200, further_kib: 40 } as const;

/** Files of the first page after a sign-in: the program itself, the sign-in and the home page. */
const ofTheFirst = /\/(?:main\.tsx|session\/sign-in\.ts|pages\/home\.tsx)$/;

/**
 * Sizes of the routes, the first one first. A further route counts what it loads in addition to the first.
 */
export function routeSizes(files: ReadonlyMap<string, BuiltFile>, read: (path: string) => Uint8Array): RouteSize[] {
  const known = new Map<string, number>();
  const sizeOf = (path: string): number => {
    const size = known.get(path) ?? gzipSync(read(path)).length;
    known.set(path, size);
    return size;
  };
  const sum = (paths: Iterable<string>) => [...paths].reduce((bytes, path) => bytes + sizeOf(path), 0);
  const entries = [...files].flatMap(([path, { entryPoint }]) =>
    entryPoint === undefined ? [] : [{ path, entryPoint }],
  );
  const first = new Set(
    entries.filter(({ entryPoint }) => ofTheFirst.test(entryPoint)).flatMap(({ path }) => [...loadedBy(path, files)]),
  );
  const further = entries
    .filter(({ entryPoint }) => !ofTheFirst.test(entryPoint) && /\.tsx?$/.test(entryPoint))
    .map(({ path, entryPoint }) => ({
      route: basename(entryPoint).replace(/\.tsx?$/, ""),
      bytes: sum([...loadedBy(path, files)].filter((one) => !first.has(one))),
    }));
  return [{ route: "first route", bytes: sum(first) }, ...further.toSorted((one, other) => other.bytes - one.bytes)];
}

/** A file and all that it imports at its start; what it imports later is a route of its own. */
function loadedBy(path: string, files: ReadonlyMap<string, BuiltFile>, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const { path: target, kind } of files.get(path)?.imports ?? []) {
    if (kind === "import-statement") loadedBy(target, files, seen);
  }
  return seen;
}

/** Routes over their budget, in sentences. */
export function overBudget([first, ...further]: readonly RouteSize[]): string[] {
  const over = ({ route, bytes }: RouteSize, kib: number) =>
    bytes > kib * 1024 ? [`${route} loads ${inKib(bytes)} KiB of script after gzip, more than ${kib}`] : [];
  return [
    ...(first === undefined ? [] : over(first, scriptBudget.first_kib)),
    ...further.flatMap((route) => over(route, scriptBudget.further_kib)),
  ];
}

/** Bytes as KiB with one decimal. */
export function inKib(bytes: number): string {
  return (bytes / 1024).toFixed(1);
}
