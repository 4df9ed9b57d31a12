import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readArguments, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { type Ran, startCommandProcess } from "../support/command-process.ts";
import { machineNode } from "../support/machine-node.ts";
import { temporaryFolder } from "./fixture.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules", "tsx", "dist", "loader.mjs");
const folder = temporaryFolder();
const { PATH = "", HOME = "" } = process.env;
const env = { PATH, HOME, AWS_EC2_METADATA_DISABLED: "true" };
afterAll(folder.remove);

/** The file that an npm script runs. */
function fileOf(script: string): string {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  return join(root, /\S+\.ts$/.exec(String(Object(scripts)[script]))?.[0] ?? "");
}

/** Runs Node with the loader of the npm scripts, in a folder without a service. */
async function runNode(words: readonly string[]): Promise<Ran> {
  const child = spawn(machineNode, ["--import", tsx, ...words], {
    cwd: folder.path,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text.stderr += chunk.toString()));
  await once(child, "close");
  return { code: child.exitCode, ...text };
}

/** A wrong call: one sentence on stderr that names what is wrong, and nothing else. */
function expectRefusal({ code, stdout, stderr }: Ran, named: string): void {
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^[^\n]+\.\n$/);
  expect(stderr).toContain(named);
}

describe("the arguments of a command", () => {
  const options = {
    port: { type: "string", default: "3000" },
    secret: { type: "string", multiple: true },
    fresh: { type: "boolean", default: false },
  } as const;
  const read = (...words: string[]) => readArguments(options, { words });

  it("are its options and as many words as it takes", () => {
    expect(read().values).toEqual({ port: "3000", fresh: false });
    const { values } = read("--port=0", "--secret", "a", "--secret=-b", "--fresh");
    expect(values).toMatchObject({ port: "0", secret: ["a", "-b"], fresh: true });
    expect(readArguments(options, { words: ["create", "--fresh"], positionals: 1 }).positionals).toEqual(["create"]);
  });

  it.each([
    [["--what"], "--what"],
    [["--what=1"], "--what"],
    [["--toString"], "--toString"],
    [["-p", "1"], "-p"],
    [["--port"], "--port"],
    [["--port="], "--port"],
    [["--port", ""], "--port"],
    [["--port", "--fresh"], "--port"],
    [["--fresh=yes"], "--fresh"],
    [["once"], '"once"'],
    [["--", "--port"], '"--port"'],
  ])("%j are refused in a sentence that names the one at fault", (words, named) => {
    expect(() => read(...words)).toThrow(UsageError);
    expect(() => read(...words)).toThrow(new RegExp(`^The (?:option|argument) ${named} [^\n]+\\.$`));
  });

  it.each(["", "-1", "1.5", "1e3", "0x1", "70000", " 1", "99999999999999999999"])("take no number %j", (text) => {
    expect(() => wholeNumber("port", text, 0, 65_535)).toThrow("--port must be a whole number from 0 to 65535.");
  });
});

const scripts = [
  "application",
  "audit",
  "deploy",
  "drill",
  "erase",
  "restore",
  "bridge",
  "ticks",
  "code",
  "receiver",
  "reconcile",
  "demo",
  "start",
  "soak",
  "check:long",
  "bench",
  "docs",
  "openapi",
  "openapi:baseline",
] as const;

const refused: readonly (readonly [script: string, words: readonly string[], named: string])[] = [
  ["start", ["--stage", "staging"], "--stage"],
  ["start", ["--data=", "--fresh"], "--data"],
  ["soak", ["--events", "many"], "--events"],
  ["bench", ["--rounds", "x"], "--rounds"],
  ["bridge", ["--config", "venue.json", "--source", "mt5:one"], "--source"],
  ["code", ["owner@demo.example"], "npm start"],
  ["deploy", [], "--stage"],
  ["deploy", ["--stage", "staging"], "--stage"],
  ["drill", ["nothing"], "receiver-down"],
  ["receiver", ["--port=70000"], "--port"],
  ["receiver", ["--status=20x"], "--status"],
  ["receiver", ["--fail-first=-1"], "--fail-first"],
  ["receiver", ["--delay=1.5"], "--delay"],
  ["receiver", ["--secret=secret"], "--secret"],
  ["reconcile", ["--stage", "other"], "--stage"],
  ["application", [], "create"],
  ["application", ["create"], "--name"],
  ["application", ["create", "--name", " "], "--name"],
  ["application", ["create", "--name", "CRM", "--stage", "staging"], "--stage"],
  ["application", ["create", "--name", "CRM", "--brokerage", "brk_1"], "--brokerage"],
  [
    "application",
    ["create", "--name", "CRM", "--scopes", "clients:read,nothing:read"],
    '--scopes holds "nothing:read"',
  ],
  ["application", ["create", "--name", "CRM", "--local"], "npm start"],
  ["audit", [], "verify or seal"],
  ["audit", ["check"], '"check"'],
  ["audit", ["verify"], "--bucket, --dir and --local"],
  ["audit", ["verify", "--bucket", "days", "--local"], "--bucket, --dir and --local"],
  ["audit", ["verify", "--dir", "none"], "none"],
  ["audit", ["verify", "--dir", ".", "--brokerage", "brk_1"], "--brokerage"],
  ["audit", ["verify", "--dir", ".", "--head", "0"], "--head"],
  ["audit", ["verify", "--dir", ".", "--head", `brk_1=${"0".repeat(64)}`], "--head"],
  ["audit", ["verify", "--dir", ".", "--until", "2026-02-30"], "--until"],
  ["audit", ["verify", "--dir", ".", "--until", "2999-01-01"], "--until"],
  ["audit", ["verify", "--dir", "."], "no sealed day"],
  ["audit", ["verify", "--local"], "npm start"],
  ["audit", ["seal", "--stage", "staging"], "--stage"],
  ["erase", [], "client"],
  ["erase", ["client", "--brokerage", "brk_1", "--client", "cli_1"], "--brokerage"],
  ["erase", ["client", "--brokerage", "brk_01JD0000000000000000000000"], "--client"],
  ["restore", [], "numbers"],
  ["restore", ["numbers", "--after", "7"], "--brokerage"],
  ["restore", ["numbers", "--brokerage", "brk_01JD0000000000000000000000", "--after", "7"], "--last-valid"],
  ["restore", ["numbers", "--stage", "staging"], "--stage"],
];

describe("a command", () => {
  const results = new Map<string, Ran>();

  beforeAll(async () => {
    const calls = scripts.flatMap((script) => [
      [script, "--help"],
      [script, "--nothing"],
    ]);
    for (const [script, words] of refused) calls.push([script, ...words]);
    const together = startCommandProcess(folder.path);
    for (const call of calls) {
      const [script = "", ...words] = call;
      results.set(String(call), await together.run(fileOf(script), words, env));
    }
    expect(await together.stop()).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  const ranWith = (...call: readonly string[]): Ran => {
    const found = results.get(String(call));
    if (found === undefined) throw new Error(`${call.join(" ")} did not run.`);
    return found;
  };

  describe.each(scripts)("npm run %s", (script) => {
    it("has --help and refuses an option that it does not know", () => {
      const help = ranWith(script, "--help");
      expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: "" });
      expect(help.stdout).toMatch(new RegExp(`^npm (?:run )?${script} -- `, "m"));
      expect(help.stdout).toMatch(/^ {2}--help +this text$/m);
      expect(help.stdout).not.toContain("Starting");
      expectRefusal(ranWith(script, "--nothing"), "--nothing");
    });
  });

  it.each(refused)("npm run %s %j is refused in one sentence that names the argument", (script, words, named) => {
    expectRefusal(ranWith(script, ...words), named);
  });
});

it("npm run application takes the README's words and says what AWS lacks", async () => {
  const words = ["create", "--stage", "sandbox", "--brokerage", "new", "--name", "CRM"];
  expectRefusal(await runNode([fileOf("application"), ...words]), "AWS_REGION");
});
