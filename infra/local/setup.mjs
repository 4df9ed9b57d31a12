/**
 * Runs before `npm start`, `npm test` and `npm run check`, so that they work on a fresh clone by themselves: installs
 * the packages when they are missing or not those of the lock file. Plain Node without a package, since there may be
 * none.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
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

function install() {
  const npm = process.env.npm_execpath;
  const [command, ...args] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const options = ["ci", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const { status, error } = spawnSync(command, [...args, ...options], { cwd: path(""), stdio: "inherit" });
  if (status === 0) return;
  console.error(`The packages could not be installed${error === undefined ? "" : `: ${error.message}`}.`);
  process.exit(status ?? 1);
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Node ${process.versions.node} is too old: 20.19 or newer is needed.`);
  process.exit(1);
}
const reason = difference();
if (reason !== undefined) {
  const started = Date.now();
  console.log(`Installing the packages (${reason}) ...`);
  install();
  console.log(`Installed the packages in ${Math.round((Date.now() - started) / 1000)} s.`);
}
// The package that brings the Node of the functions also links it as `node`, and npm puts that folder in front of the
// PATH: every script would run under it instead of the Node of this machine.
rmSync(path("node_modules/.bin/node"), { force: true });
