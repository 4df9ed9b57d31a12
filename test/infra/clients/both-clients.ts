import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "../../../infra/bundle.ts";
import { keptAssembly, sourceDigest } from "../../../infra/local/synthesis.ts";
import { keptTestAssemblies } from "../../support/assemblies.ts";
import type * as Clients from "../fixtures/clients.ts";

const fixtures = fileURLToPath(new URL("../fixtures", import.meta.url));

/** The clients of AWS as they are published, and as the bundles of the functions have them. */
export interface BothClients {
  readonly published: typeof Clients;
  readonly slim: typeof Clients;
}

/** Bundles both, once for all files and runs with the same sources, and loads them for one file. */
export async function bothClients(user: string): Promise<BothClients> {
  const own = readdirSync(fixtures).filter((name) => name.endsWith(".ts"));
  const texts = own.map((name) => readFileSync(join(fixtures, name), "utf8"));
  const { directory } = await keptAssembly(
    keptTestAssemblies,
    "clients",
    sourceDigest(JSON.stringify(texts)),
    async (draft) => {
      for (const diet of [false, true]) {
        const entries = [{ name: "The comparison", file: "clients" }];
        await bundle({ entries, root: fixtures, outdir: join(draft, String(diet)), diet });
      }
      writeFileSync(join(draft, "manifest.json"), "{}");
    },
  );
  const load = async (diet: boolean): Promise<typeof Clients> =>
    await import(`${pathToFileURL(join(directory, String(diet), "clients", "index.mjs")).href}?for=${user}`);
  return { published: await load(false), slim: await load(true) };
}
