import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { productionAssembly } from "../support/assemblies.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";

let assemblyDir: string;
let stack: Stack;

beforeAll(async () => {
  assemblyDir = await productionAssembly(inject("assemblyDir"));
  // The whole document knows the paths of both stages: what is answered to one that is not there is not in it.
  stack = await startStack({ assemblyDir, onAnswer: () => undefined }, "production");
});
afterAll(() => stack?.stop());

const only = routes.filter(({ stages }) => !stages.includes("production"));

describe("production", () => {
  it("has no path, function, role or schedule of the sandbox in any template", () => {
    const templates = readdirSync(assemblyDir).filter((name) => name.endsWith(".template.json"));
    expect(templates.length).toBeGreaterThan(5);
    for (const name of templates) {
      const { Resources } = JSON.parse(readFileSync(join(assemblyDir, name), "utf8")) as { Resources: object };
      const named = Object.entries(Resources).filter((entry) => /sandbox/i.test(JSON.stringify(entry)));
      expect([name, named.map(([id]) => id)]).toEqual([name, []]);
    }
    expect(only.length).toBeGreaterThan(10);
    expect(only.every(({ path }) => path.startsWith("/sandbox/"))).toBe(true);
    expect(routes.filter(({ path }) => path.startsWith("/sandbox/"))).toEqual(only);
  });

  it.each(only.map((row) => [`${row.method} ${row.path}`, row] as const))("answers 404 to %s", async (_, row) => {
    const path = row.path.replace("{id}", newId("acc"));
    const reply = await stack.api.call(row.method, path, row.body === undefined ? {} : { body: row.example });
    expect([reply.status, reply.body["code"]]).toEqual([404, "not_found"]);
  });

  it("gives a brokerage no market, and lets no cents decide about money", async () => {
    const symbols = await stack.api.call("GET", "/symbols");
    expect([symbols.status, symbols.body["data"]]).toEqual([200, []]);
    const { account_id } = await fundedAccount(stack.api, "100.00");
    const body = { account_id, amount: "1.13", provider: "sandbox" };
    const made = await stack.api.call("POST", "/transactions/deposit", { body });
    expect([made.status, made.body["status"]]).toEqual([201, "pending"]);
  });

  it("describes no path of the sandbox", async () => {
    const { body } = await stack.api.call<{ paths: object; tags: { name: string }[] }>("GET", "/openapi.json");
    expect(Object.keys(body.paths).filter((path) => path.includes("sandbox"))).toEqual([]);
    expect(body.tags.map(({ name }) => name)).not.toContain("Sandbox");
  });
});
