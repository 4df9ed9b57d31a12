import { mkdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import openapiTypescript, {
  astToString,
  NULL,
  type OpenAPITSOptions,
  STRING,
  tsIntersection,
  tsLiteral,
  tsUnion,
} from "openapi-typescript";
import ts from "typescript";
import { digest } from "./digest.ts";

const root = new URL("../../", import.meta.url);
const document = new URL("shared/openapi/openapi.json", root);
const folder = new URL(".build/dashboard-types/", root);

/** An open enumeration as the text that it is, with its known values for completion: `"a" | "b" | (string & {})`. */
const transform: NonNullable<OpenAPITSOptions["transform"]> = (schema) => {
  const known: unknown = schema["x-extensible-enum"];
  if (!Array.isArray(known)) return;
  const other = tsIntersection([STRING, ts.factory.createTypeLiteralNode([])]);
  return tsUnion([...known.map(tsLiteral), other, ...(schema.nullable === true ? [NULL] : [])]);
};

/**
 * Writes the types of the API into `.build/dashboard-types/api.d.ts`, from the committed document. They are half its
 * size and follow from it, so they are not committed; a file of the same document is kept.
 */
export async function writeApiTypes(): Promise<void> {
  const mark = `// ${digest(await readFile(document))}\n`;
  const file = new URL("api.d.ts", folder);
  const present = await readFile(file, "utf8").catch(() => "");
  if (present.startsWith(mark)) return;
  const nodes = await openapiTypescript(document, { silent: true, transform });
  await mkdir(folder, { recursive: true });
  await writeFile(file, mark + astToString(nodes));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeApiTypes();
