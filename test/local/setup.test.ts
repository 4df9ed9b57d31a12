import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { machineNode } from "../support/machine-node.ts";
import { temporaryFolder } from "./fixture.ts";

const script = new URL("../../infra/local/setup.mjs", import.meta.url).pathname;
const here = { os: [process.platform], cpu: [process.arch] };
const there = { os: ["aix"], cpu: ["s390x"] };
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder.path, "infra", "local"), { recursive: true });
  mkdirSync(join(folder.path, "node_modules", ".bin"), { recursive: true });
  cpSync(script, join(folder.path, "infra", "local", "setup.mjs"));
  writeFileSync(join(folder.path, "npm.cjs"), `console.log("npm " + process.argv.slice(2).join(" "));`);
});
afterEach(() => folder.remove());

type Packages = Record<string, Record<string, unknown>>;

/** Runs the step in a project with these lock files; npm only prints what it was asked. */
function setUp(wanted: Packages, installed: Packages | undefined) {
  writeFileSync(join(folder.path, "package-lock.json"), JSON.stringify({ packages: { "": {}, ...wanted } }));
  if (installed !== undefined) {
    writeFileSync(join(folder.path, "node_modules", ".package-lock.json"), JSON.stringify({ packages: installed }));
  }
  const env = { npm_execpath: join(folder.path, "npm.cjs") };
  const { stdout, status } = spawnSync(machineNode, [join(folder.path, "infra", "local", "setup.mjs")], { env });
  return { text: stdout.toString(), status };
}

const one = { version: "1.0.0" };

describe("the step before start, test and check", () => {
  it.each<[string, boolean, Packages, Packages | undefined]>([
    ["there are no packages", true, { "node_modules/a": one }, undefined],
    ["all are there", false, { "node_modules/a": one }, { "node_modules/a": one }],
    ["one is missing", true, { "node_modules/a": one, "node_modules/b": one }, { "node_modules/a": one }],
    ["one has another version", true, { "node_modules/a": one }, { "node_modules/a": { version: "0.9.0" } }],
    ["one is too many", true, {}, { "node_modules/a": one }],
    ["one of another platform is missing", false, { "node_modules/a": { ...one, ...there, optional: true } }, {}],
    [
      "an optional one of this platform is missing",
      true,
      { "node_modules/a": { ...one, ...here, optional: true } },
      {},
    ],
    ["an optional one of any platform is missing", false, { "node_modules/a": { ...one, optional: true } }, {}],
  ])("when %s asks npm: %s", (_, expected, wanted, installed) => {
    const { text, status } = setUp(wanted, installed);
    expect(status).toBe(0);
    expect(text.includes("npm ci")).toBe(expected);
    expect(text.includes("Installing the packages")).toBe(expected);
  });

  it("takes away the link that would put another Node in front of this machine's", () => {
    const link = join(folder.path, "node_modules", ".bin", "node");
    writeFileSync(link, "");
    setUp({}, {});
    expect(existsSync(link)).toBe(false);
  });

  it("fails when npm fails", () => {
    writeFileSync(join(folder.path, "npm.cjs"), "process.exit(7);");
    expect(setUp({}, undefined).status).toBe(7);
  });
});
