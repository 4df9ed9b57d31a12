import { mkdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import openapiTypescript, { astToString } from "openapi-typescript";
import { digest } from "./digest.ts";

const root = new URL("../../", import.meta.url);
const document = new URL("shared/openapi/openapi.json", root);
const folder = new URL(".build/dashboard-types/", root);

/**
 * Writes the types of the API into `.build/dashboard-types/api.d.ts`, from the committed document. They are half its
 * size and follow from it, so they are not committed; a file of the same document is kept.
 */
export async function writeApiTypes(): Promise<void> {
  const mark = `// ${digest(await readFile(document))}\n`;
  const file = new URL("api.d.ts", folder);
  const present = await readFile(file, "utf8").catch(() => "");
  if (present.startsWith(mark)) return;
  const nodes = await openapiTypescript(document, { silent: true });
  await mkdir(folder, { recursive: true });
  await writeFile(file, mark + astToString(nodes));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeApiTypes();
