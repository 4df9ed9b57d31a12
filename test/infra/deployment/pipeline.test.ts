import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withDeployCommand } from "./deploy-command.ts";

const root = new URL("../../../", import.meta.url);
const workflow = readFileSync(new URL(".github/workflows/deploy.yml", root), "utf8");
const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { scripts: object };
const commands = [...workflow.matchAll(/^ +- run: (.+)$/gm)].map(([, line = ""]) => line);
const jobs = workflow
  .slice(workflow.indexOf("\njobs:"))
  .split(/\n(?= {2}\w+:\n)/)
  .slice(1);
const command = withDeployCommand();

test("every command of the pipeline is a script of the package or installs it", () => {
  expect(commands.length).toBeGreaterThan(5);
  for (const line of commands) {
    const name = /^npm run ([a-z:]+)(?: -- .+)?$/.exec(line)?.[1];
    expect([line, line === "npm ci" || Object.hasOwn(scripts, name ?? "")]).toEqual([line, true]);
  }
  // No command is hidden in another form.
  expect(workflow.match(/\brun:/g)).toHaveLength(commands.length);
});

test("it tests, deploys the sandbox, shows production and deploys that after approval, one after the other", () => {
  const named = [/^ {2}(\w+):/, /needs: (\w+)/, /environment: ([\w-]+)/];
  const order = jobs.map((job) => named.map((one) => one.exec(job)?.[1]));
  expect(order).toEqual([
    ["test", undefined, undefined],
    ["sandbox", "test", "sandbox"],
    ["preview", "sandbox", "production-preview"],
    ["production", "preview", "production"],
  ]);
  for (const job of jobs.slice(1)) {
    expect(job).toContain("id-token: write");
    // The deployed assembly is the tested one.
    expect(job).toMatch(/download-artifact@v\d+\n {8}with:\n {10}name: assemblies\n {10}path: cdk\.out\n/);
    expect(job).toMatch(/npm run deploy -- --stage (\w+) --assembly cdk\.out\/\1/);
  }
  expect(workflow).not.toMatch(/AKIA|aws-secret-access-key/);
});

/** The words of each deployment, with the assembly of the simulated account. */
function deployments(): { readonly stage: string; readonly more: readonly string[] }[] {
  return commands.flatMap((line) => {
    const [, stage = "", folder, rest = ""] = /^npm run deploy -- --stage (\w+) --assembly (\S+)(.*)$/.exec(line) ?? [];
    return folder === undefined ? [] : [{ stage, more: rest.split(" ").filter((word) => word !== "") }];
  });
}

test("each of its deployments runs against an account, and the dry run asks the CDK for nothing", async () => {
  expect(deployments().map(({ stage }) => stage)).toEqual(["sandbox", "production", "production"]);
  for (const { stage, more } of deployments()) {
    if (more.includes("--dry-run")) {
      const { code, text } = await command().dryRun(["--stage", stage, ...more]);
      expect([code, text]).toEqual([0, expect.stringContaining("Nothing was deployed")]);
    } else {
      const [foundation, deployed] = await command().deployed(stage, ...more);
      expect(foundation?.words).toContain("foundation=true");
      expect([stage, deployed?.folder]).toEqual([stage, command().folder]);
    }
  }
});
