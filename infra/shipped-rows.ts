import { readdirSync } from "node:fs";
import { sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Route, ShippedRoute } from "../shared/routes/route.ts";
import { memberOrder } from "../shared/schema/member-order.ts";
import { literal } from "./literal.ts";

const schemaFolder = new URL("../shared/schema/", import.meta.url);

/** Members that only the stacks and the description of the API read: those that {@link ShippedRoute} lacks. */
const described = {
  tag: true,
  summary: true,
  description: true,
  file: true,
  auth: true,
  further_scopes: true,
  grants: true,
  objects: true,
  globals: true,
  within: true,
  governs: true,
  tenantless: true,
  secrets: true,
  pool: true,
  stream: true,
  queues: true,
  table: true,
  example: true,
  refusals: true,
  conflicts: true,
  emits: true,
  stages: true,
} as const satisfies Record<Exclude<keyof Route, keyof ShippedRoute>, true>;
/** Members that are schemas, which are shipped as imports of the schema itself. */
const schemas: ReadonlySet<string> = new Set(["query", "body"]);

/** The export of a value: its module, relative to a file of rows, and its name. */
interface Exported {
  readonly module: string;
  readonly name: string;
}

/** An evaluated module: its exports by name. */
export type Module = Readonly<Record<string, unknown>>;

let known: Promise<ReadonlyMap<unknown, Exported>> | undefined;

/** Every value that a file of schemas exports, with its name. */
function exportedSchemas(): Promise<ReadonlyMap<unknown, Exported>> {
  known ??= readSchemas();
  return known;
}

async function readSchemas(): Promise<ReadonlyMap<unknown, Exported>> {
  const entries = readdirSync(schemaFolder, { recursive: true, encoding: "utf8" });
  const files = entries.filter((file) => file.endsWith(".ts")).map((file) => file.split(sep).join("/"));
  const modules = await Promise.all(files.map((file) => import(new URL(file, schemaFolder).href) as Promise<Module>));
  return new Map(
    modules.flatMap((module, place) =>
      Object.entries(module)
        .filter(([, value]) => typeof value === "object" && value !== null)
        .map(([name, value]) => [value, { module: `../schema/${files[place]}`, name }] as const),
    ),
  );
}

/**
 * The source text of a file of rows as it is shipped: each row without the members that only the description and the
 * stacks read, and with the order of its reply's members instead of the schema, which would be a fifth of a bundle. It
 * is made from the evaluated rows, so it does not depend on how they are written.
 * @throws Error if the file exports anything but rows and lists of them, if the schema of a query or a body has no
 *   exported name, or if a member has no literal
 */
export async function shippedRows(path: string): Promise<string> {
  return rowsOf(await import(pathToFileURL(path).href), await exportedSchemas(), path);
}

/** The text of {@link shippedRows} for the exports of a file. */
export function rowsOf(module: Module, named: ReadonlyMap<unknown, Exported>, path: string): string {
  const imports = new Map<string, Set<string>>();
  const lines: string[] = [];
  const names = new Map<unknown, string>();
  for (const [name, value] of Object.entries(module)) {
    if (!isRow(value)) continue;
    names.set(value, name);
    lines.push(`export const ${name} = ${rowText(value, named, imports)};`);
  }
  for (const [name, value] of Object.entries(module)) {
    if (names.has(value)) continue;
    if (!Array.isArray(value) || !value.every((each) => names.has(each))) {
      throw new Error(`${path} exports ${name}, which is neither a row nor a list of rows of this file.`);
    }
    lines.push(`export const ${name} = [${value.map((each) => names.get(each)).join(", ")}];`);
  }
  const statements = [...imports].map(([from, some]) => `import { ${[...some].join(", ")} } from "${from}";`);
  return [...statements, ...lines, ""].join("\n");
}

function isRow(value: unknown): value is Route {
  return typeof value === "object" && value !== null && "id" in value && "path" in value && "reply" in value;
}

function rowText(row: Route, named: ReadonlyMap<unknown, Exported>, imports: Map<string, Set<string>>): string {
  const members = Object.entries(row).flatMap(([member, value]) => {
    if (member in described || value === undefined) return [];
    if (member === "reply") return [`reply: { order: ${literal(memberOrder(row.reply))} }`];
    if (!schemas.has(member)) return [`${member}: ${literal(value)}`];
    const found = named.get(value);
    if (found === undefined) {
      throw new Error(`The ${member} of the row ${row.id} must be a schema that a file of shared/schema exports.`);
    }
    imports.set(found.module, (imports.get(found.module) ?? new Set()).add(found.name));
    return [`${member}: ${found.name}`];
  });
  return `{ ${members.join(", ")} }`;
}
