import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readArguments, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { temporaryFolder } from "./fixture.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules", "tsx", "dist", "loader.mjs");
const folder = temporaryFolder();
afterAll(folder.remove);

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs what an npm script runs, in a folder without a service. */
async function run(script: string, ...words: string[]): Promise<Ran> {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const file = /\S+\.ts$/.exec(String(Object(scripts)[script]))?.[0] ?? "";
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, ["--import", tsx, join(root, file), ...words], {
    cwd: folder.path,
    env: { PATH, HOME, AWS_EC2_METADATA_DISABLED: "true" },
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

describe.each([
  "application",
  "receiver",
  "demo",
  "start",
  "soak",
  "check:long",
  "bench",
  "docs",
  "openapi",
  "openapi:baseline",
])("npm run %s", (script) => {
  it("has --help and refuses an option that it does not know", { timeout: 60_000 }, async () => {
    const [help, wrong] = await Promise.all([run(script, "--help"), run(script, "--nothing")]);
    expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^npm (?:run )?${script} -- `, "m"));
    expect(help.stdout).toMatch(/^ {2}--help +this text$/m);
    expectRefusal(wrong, "--nothing");
  });
});

it.each([
  ["start", ["--stage", "staging"], "--stage"],
  ["start", ["--data=", "--fresh"], "--data"],
  ["soak", ["--events", "many"], "--events"],
  ["bench", ["--rounds", "x"], "--rounds"],
  ["application", [], "create"],
  ["application", ["create"], "--name"],
  ["application", ["create", "--name", " "], "--name"],
  ["application", ["create", "--name", "CRM", "--stage", "staging"], "--stage"],
  ["application", ["create", "--name", "CRM", "--tenant", "brk_1"], "--tenant"],
  [
    "application",
    ["create", "--name", "CRM", "--scopes", "clients:read,nothing:read"],
    '--scopes holds "nothing:read"',
  ],
  ["application", ["create", "--name", "CRM", "--local"], "npm start"],
])("npm run %s %j is refused in one sentence that names the argument", async (script, words, named) => {
  expectRefusal(await run(script, ...words), named);
});

it("npm run application takes the README's words and says what AWS lacks", async () => {
  const words = ["create", "--stage", "sandbox", "--tenant", "new", "--name", "CRM"];
  expectRefusal(await run("application", ...words), "AWS_REGION");
});
