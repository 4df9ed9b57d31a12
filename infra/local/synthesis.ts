import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settingsFile, settingsVariable } from "../settings-file.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Sources of an assembly; the runner, the tools and the ADRs are not among them. */
const sources = ["infra", "shared", "functions", "package-lock.json", settingsFile];
const others = [join("infra", "local"), join("infra", "tools"), join("shared", "decisions")];
/** Assemblies kept: another runner may still use the one before. */
const keptAssemblies = 3;
/** No synthesis takes as long. */
const draftLifeMs = 3_600_000;

/** A digest of everything that the assembly of a stage is made from. */
export function sourceDigest(stage: string, folder = root): string {
  const hash = createHash("sha256").update(JSON.stringify([stage, process.env[settingsVariable]]));
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
  return keptAssembly(into, stage, sourceDigest(stage), async (draft) => {
    say(`synthesizing the stage ${stage}, about 20 seconds ...`);
    await runSynthesis(stage, draft);
  });
}

/**
 * The folder `<name>-<digest>` below `into`, filled by `make` unless it is there already: it is complete when it has a
 * `manifest.json`. Callers that make the same one concurrently each fill a draft of their own, and the first that is
 * complete is kept.
 */
export async function keptAssembly(
  into: string,
  name: string,
  digest: string,
  make: (draft: string) => Promise<void>,
): Promise<{ directory: string; fresh: boolean }> {
  const directory = join(into, `${name}-${digest}`);
  if (isComplete(directory)) return { directory, fresh: false };
  const draft = `${directory}.${randomUUID()}.new`;
  mkdirSync(into, { recursive: true });
  await make(draft);
  if (isComplete(directory)) {
    rmSync(draft, { recursive: true, force: true });
  } else {
    rmSync(directory, { recursive: true, force: true });
    renameSync(draft, directory);
  }
  prune(into, name);
  return { directory, fresh: true };
}

function isComplete(directory: string): boolean {
  return existsSync(join(directory, "manifest.json"));
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

/** Removes all but the newest, and drafts that a process left when it was killed. */
function prune(into: string, name: string): void {
  const entries = readdirSync(into).map((entry) => ({ entry, made_ms: statSync(join(into, entry)).mtimeMs }));
  const isOf = (entry: string) => entry.startsWith(`${name}-`) && /^[0-9a-f]{16}$/.test(entry.slice(name.length + 1));
  const old = entries
    .filter(({ entry }) => isOf(entry))
    .sort((a, b) => b.made_ms - a.made_ms)
    .slice(keptAssemblies);
  const left = entries.filter(({ entry, made_ms }) => entry.endsWith(".new") && made_ms < Date.now() - draftLifeMs);
  for (const { entry } of [...old, ...left]) rmSync(join(into, entry), { recursive: true, force: true });
}

function filesUnder(folder: string, name: string): string[] {
  if (others.includes(name) || !existsSync(join(folder, name))) return [];
  if (!statSync(join(folder, name)).isDirectory()) return [name];
  return readdirSync(join(folder, name))
    .sort()
    .flatMap((entry) => filesUnder(folder, join(name, entry)));
}
