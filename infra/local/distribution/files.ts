import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

/** Stores an object of a bucket. */
type Put = (bucket: string, key: string, body: Uint8Array, headers: Record<string, string>) => void;

const deploymentType = "Custom::CDKBucketDeployment";

/** Types as the AWS CLI guesses them from names, which copies the files on AWS. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".woff2": "font/woff2",
};

/** ARNs of the functions that copy files on AWS; this runner copies them itself. */
export function copierFunctions(resources: readonly Resource[]): ReadonlySet<unknown> {
  const deployments = resources.filter(({ type }) => type === deploymentType);
  return new Set(deployments.map(({ properties }) => properties["ServiceToken"]));
}

/**
 * Copies the files of every deployment of the template into its bucket, as the library's function does on AWS: each
 * asset unpacked, the values of the stack in the place of their markers, below the prefix. `localized` puts addresses
 * of this machine into files that hold values of the stack.
 */
export function deployFiles(resources: readonly Resource[], put: Put, localized: (text: string) => string): void {
  for (const deployment of resources.filter(({ type }) => type === deploymentType)) {
    deploy(deployment, put, localized);
  }
}

function deploy({ path, properties, sources = [] }: Resource, put: Put, localized: (text: string) => string) {
  const { DestinationBucketName: bucket, DestinationBucketKeyPrefix: prefix = "", Prune: prune } = properties;
  if (String(prune) !== "false") throw new AssemblyError(path, "Prune is on; the local runner removes no files");
  const headers = systemHeaders(path, properties["SystemMetadata"]);
  for (const [at, folder] of sources.entries()) {
    const markers = markersOf(path, properties, at);
    for (const file of filesOf(folder)) {
      const name = relative(folder, file).split(sep).join("/");
      const content = readFileSync(file);
      const body = markers.length === 0 ? content : Buffer.from(localized(replaced(content.toString(), markers)));
      const type = mediaTypes[extname(name)];
      if (type === undefined) throw new AssemblyError(path, `the type of ${name} is not known to the local runner`);
      put(String(bucket), [prefix, name].filter(Boolean).join("/"), body, { "content-type": type, ...headers });
    }
  }
}

function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function systemHeaders(path: string, metadata: unknown): Record<string, string> {
  const entries = Object.entries(isRecord(metadata) ? metadata : {});
  const strange = entries.find(([name]) => name !== "cache-control");
  if (strange !== undefined) throw new AssemblyError(path, `${strange[0]} of a file is not known to the local runner`);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** Markers of one source with their values, which stand inside of texts of JSON documents. */
function markersOf(path: string, properties: Resource["properties"], at: number): readonly [string, string][] {
  const { SourceMarkers: markers, SourceMarkersConfig: configs } = properties;
  const [own, config] = [markers, configs].map((list) => (Array.isArray(list) ? list[at] : undefined));
  const entries = Object.entries(isRecord(own) ? own : {});
  if (entries.length > 0 && String(isRecord(config) && config["jsonEscape"]) !== "true") {
    throw new AssemblyError(path, "values of the stack are put into JSON files only");
  }
  return entries.map(([marker, value]) => [marker, JSON.stringify(String(value)).slice(1, -1)]);
}

function replaced(text: string, markers: readonly [string, string][]): string {
  return markers.reduce((filled, [marker, value]) => filled.replaceAll(marker, value), text);
}
