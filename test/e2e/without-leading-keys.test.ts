import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { synthesize } from "../../infra/app.ts";
import { placeholderDashboard } from "../support/assemblies.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let assemblyDir: string;
let stack: Stack;

beforeAll(async () => {
  assemblyDir = mkdtempSync(join(tmpdir(), "brokerage-without-leading-keys-"));
  // The rules have judged these templates in test/infra: here they are run. Every other test runs the form with them.
  const bundled = join(inject("assemblyDir"), "bundle");
  const made = { bundled, dashboard: placeholderDashboard };
  await synthesize({ stage: "sandbox", outdir: assemblyDir, validate: false, config: { leadingKeys: false }, ...made });
  stack = await startStack({ assemblyDir });
});
afterAll(async () => {
  await stack?.stop();
  rmSync(assemblyDir, { recursive: true, force: true });
});

it("money is booked, published and paid out by roles without conditions on leading keys", async () => {
  const templates = readdirSync(assemblyDir).filter((name) => name.endsWith(".template.json"));
  const text = templates.map((name) => readFileSync(join(assemblyDir, name), "utf8")).join("");
  expect(text).toContain("dynamodb:UpdateItem");
  expect(text).not.toContain("dynamodb:LeadingKeys");

  const { account_id } = await fundedAccount(stack.api, "100.00");
  const body = { account_id, amount: "30.00" };
  const made = await stack.api.call<{ id: string }>("POST", "/transactions/withdrawal", { body });
  expect(made.status).toBe(201);
  const paid = await stack.api.call("PATCH", `/transactions/${made.body.id}`, { body: { status: "completed" } });
  expect([paid.status, paid.body["status"]]).toEqual([200, "completed"]);
  const account = await stack.api.call("GET", `/accounts/${account_id}`);
  expect(account.body["balance"]).toBe("70.00");
  const ledger = await stack.api.call<{ data: { amount: string }[] }>("GET", `/accounts/${account_id}/ledger`);
  expect(ledger.body.data.map(({ amount }) => amount).sort()).toEqual(["-30.00", "100.00"]);
  const completed = await eventually(async () => {
    const events = await stack.api.call<{ data: { type: string }[] }>("GET", "/events?limit=100");
    const found = events.body.data.filter(({ type }) => type === "transaction.completed");
    return found.length === 2 ? found : undefined;
  });
  expect(completed).toHaveLength(2);
});
