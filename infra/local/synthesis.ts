import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** What an assembly is made from; what runs it, and the tools beside it, are not part of it. */
const sources = ["infra", "shared", "functions", "package-lock.json"];
const others = [join("infra", "local"), join("infra", "tools")];
/** Assemblies kept: another runner may still use the one before. */
const keptAssemblies = 3;

/** A digest of everything that the assembly of a stage is made from. */
export function sourceDigest(stage: string, folder = root): string {
  const hash = createHash("sha256").update(stage);
  for (const file of sources.flatMap((name) => filesUnder(folder, name))) {
    hash.update(`\0${file}\0`).update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

/**
 * Synthesizes a stage into a folder below `into` that is named after its sources, or does nothing when it is there
 * already. Says so before it begins, since it takes a quarter of a minute. Returns the folder. Rejects with the output
 * of the synthesis when it fails.
 */
export async function synthesizeOnce(
  stage: string,
  into: string,
  say: (text: string) => void,
): Promise<{ directory: string; fresh: boolean }> {
  const directory = join(into, `${stage}-${sourceDigest(stage)}`);
  if (existsSync(join(directory, "manifest.json"))) return { directory, fresh: false };
  say(`synthesizing the stage ${stage}, about 20 seconds ...`);
  const draft = `${directory}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  await runSynthesis(stage, draft);
  rmSync(directory, { recursive: true, force: true });
  renameSync(draft, directory);
  prune(into, stage);
  return { directory, fresh: true };
}

/** Runs the app itself and not the command line of the CDK, which sends telemetry and fetches notices. */
async function runSynthesis(stage: string, output: string): Promise<void> {
  const tsx = join(root, "node_modules", "tsx", "dist", "cli.mjs");
  const args = [tsx, join(root, "infra", "app.ts"), "-c", `stage=${stage}`, "--output", output];
  const env = { ...process.env, CDK_DISABLE_VERSION_CHECK: "1" };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`The stage ${stage} cannot be synthesized:\n${text.trim()}`);
}

function prune(into: string, stage: string): void {
  const old = readdirSync(into)
    .filter((name) => name.startsWith(`${stage}-`))
    .map((name) => ({ path: join(into, name), made_ms: statSync(join(into, name)).mtimeMs }))
    .sort((a, b) => b.made_ms - a.made_ms)
    .slice(keptAssemblies);
  for (const { path } of old) rmSync(path, { recursive: true, force: true });
}

function filesUnder(folder: string, name: string): string[] {
  if (others.includes(name) || !existsSync(join(folder, name))) return [];
  if (!statSync(join(folder, name)).isDirectory()) return [name];
  return readdirSync(join(folder, name))
    .sort()
    .flatMap((entry) => filesUnder(folder, join(name, entry)));
}
