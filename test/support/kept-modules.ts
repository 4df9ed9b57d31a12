import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keptAssembly } from "../../infra/local/synthesis.ts";
import { clientsDigest } from "./deployed-clients.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Folder in which Vitest keeps modules as it has transformed them, for the projects of a run and for the next runs. It
 * names each module by its text, its path and the configuration. The folder is one of its own for what else a module
 * depends on: where its imports of AWS lead, the versions of packages, and the settings of TypeScript.
 */
export async function keptModules(): Promise<string> {
  const settings = readFileSync(join(root, "tsconfig.json"));
  const digest = createHash("sha256").update(clientsDigest()).update(settings).digest("hex").slice(0, 16);
  const { directory } = await keptAssembly(join(root, ".local/test-modules"), "modules", digest, async (draft) => {
    mkdirSync(draft);
    writeFileSync(join(draft, "manifest.json"), "{}");
  });
  return directory;
}
