import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const manifests = ["package.json", "package-lock.json"];

/** Folder of the peers' sources, with the list of their packages. */
export const peersFolder = new URL("../peers/", import.meta.url).pathname;

/**
 * The folder `node_modules` of the peers, installed where it is not there yet: once for each state of their lock file,
 * under `.local`, so that the packages of this repository stay what the service needs. No package runs a script.
 * @throws Error when npm cannot install them, with what it said
 */
export async function peerPackages(say: (line: string) => void): Promise<string> {
  const lock = await readFile(join(peersFolder, "package-lock.json"));
  const cache = resolve(".local", "bench-peers");
  const folder = join(cache, createHash("sha256").update(lock).digest("hex").slice(0, 16));
  if (!existsSync(folder)) {
    say("Installing the peers into .local/bench-peers ...");
    await mkdir(cache, { recursive: true });
    const draft = await mkdtemp(join(cache, "draft-"));
    try {
      await Promise.all(manifests.map((name) => copyFile(join(peersFolder, name), join(draft, name))));
      await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: draft });
      await rename(draft, folder);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw new Error(`The peers could not be installed: ${(error as { stderr?: string }).stderr ?? error}`);
    }
  }
  return join(folder, "node_modules");
}

/** Version of each package of the peers that the comparison names. */
export async function peerVersions(): Promise<Readonly<Record<string, string>>> {
  const { dependencies } = JSON.parse(await readFile(join(peersFolder, "package.json"), "utf8"));
  return dependencies;
}
