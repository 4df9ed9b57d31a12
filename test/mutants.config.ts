import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";
import { clientFiles, deployedClients } from "./support/deployed-clients.ts";
import { fileOf, type Mutation, mutations, planted } from "./support/rules/mutations.ts";

/** The project that runs the tests of all mutations on the sources as they are; the short form leaves it out. */
const healthy = "healthy";
const withHealthy = process.env["MUTANTS_HEALTHY"] === "1";
const answersDir = mkdtempSync(join(tmpdir(), "brokerage-answers-"));

function plantedIn(mutation: Mutation | undefined) {
  return {
    name: "mutation",
    enforce: "pre" as const,
    transform(code: string, id: string) {
      return mutation === undefined || id !== fileOf(mutation) ? undefined : planted(mutation, code);
    },
  };
}

/** Runs test files on sources with one bug in them, or with none. */
function projectOf(name: string, files: readonly string[], mutation?: Mutation) {
  return {
    extends: true as const,
    plugins: [plantedIn(mutation)],
    test: { name, include: [...new Set(files)] },
  };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** One line of JSON: what became of each test, by project. */
const outcomes: Reporter = {
  onTestRunEnd(modules) {
    const told = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => {
        const { state, errors } = test.result();
        const messages = (errors ?? []).map(({ message, stack }) => `${message}\n${stack}`);
        return { project: module.project.name, test: test.fullName.replaceAll(" > ", " "), state, messages };
      }),
    );
    process.stdout.write(`\n${JSON.stringify({ outcomes: told })}\n`);
  },
};

/** Runs the test of each mutation on sources with the bug, each in its own project; the long form all without too. */
export default defineConfig({
  plugins: [await deployedClients()],
  test: {
    root: new URL("..", import.meta.url).pathname,
    server: { deps: { external: [clientFiles] } },
    // What is answered here is no proof that a promised answer is seen in a test.
    provide: { answersDir },
    // A bug that makes something never come about is found by waiting for it: long enough for what is healthy.
    env: { EVENTUALLY_MS: "8000" },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    testNamePattern: new RegExp(mutations.map(({ test }) => escaped(test.name)).join("|")),
    reporters: [outcomes],
    projects: [
      ...(withHealthy
        ? [
            projectOf(
              healthy,
              mutations.map(({ test }) => test.file),
            ),
          ]
        : []),
      ...mutations.map((mutation) => projectOf(mutation.name, [mutation.test.file], mutation)),
    ],
  },
});
