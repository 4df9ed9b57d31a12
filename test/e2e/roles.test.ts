import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { synthesize } from "../../infra/app.ts";
import { placeholderDashboard } from "../support/assemblies.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

interface Statement {
  Sid?: string;
  Action: string | string[];
}

/** Takes one action from one function's role in the assembly in this folder. */
function takeAway(dir: string, functionName: string, action: string): void {
  let removed = 0;
  for (const file of readdirSync(dir).filter((name) => name.endsWith(".template.json"))) {
    const template = JSON.parse(readFileSync(join(dir, file), "utf8"));
    const resources = Object.values(
      template.Resources as Record<string, { Type: string; Properties: Record<string, unknown> }>,
    );
    const lambda = resources.find(({ Properties }) => Properties?.["FunctionName"] === functionName);
    if (lambda === undefined) continue;
    const [roleId] = (lambda.Properties["Role"] as { "Fn::GetAtt": [string, string] })["Fn::GetAtt"];
    for (const { PolicyDocument } of template.Resources[roleId].Properties.Policies) {
      for (const statement of PolicyDocument.Statement as Statement[]) {
        const actions = [statement.Action].flat();
        if (!actions.includes(action)) continue;
        removed += 1;
        statement.Action = actions.length === 1 ? "dynamodb:DescribeLimits" : actions.filter((one) => one !== action);
      }
    }
    writeFileSync(join(dir, file), JSON.stringify(template));
  }
  expect(removed, `${action} of ${functionName}`).toBeGreaterThan(0);
}

/** Actions that functions lose which the path of the money does not call. */
const lost = [
  ["brokerage-sandbox-create-webhook-endpoint", "dynamodb:PutItem", "POST", "/webhook_endpoints"],
  ["brokerage-sandbox-list-clients", "dynamodb:Query", "GET", "/clients"],
  ["brokerage-sandbox-get-me", "dynamodb:BatchGetItem", "GET", "/me"],
] as const;

const denied: string[] = [];
let assemblyDir: string;
let stack: Stack;

beforeAll(async () => {
  assemblyDir = mkdtempSync(join(tmpdir(), "brokerage-roles-"));
  // The rules have judged these templates in test/infra: here they are run. Every other test runs the form with them.
  const bundled = join(inject("assemblyDir"), "bundle");
  const made = { bundled, dashboard: placeholderDashboard };
  await synthesize({ stage: "sandbox", outdir: assemblyDir, validate: false, config: { leadingKeys: false }, ...made });
  for (const [functionName, action] of lost) takeAway(assemblyDir, functionName, action);
  stack = await startStack({
    assemblyDir,
    onDenied: ({ functionName: name, action: tried }) => denied.push(`${name} ${tried}`),
  });
});
afterAll(async () => {
  await stack?.stop();
  rmSync(assemblyDir, { recursive: true, force: true });
});

describe("roles without conditions on leading keys", () => {
  it("book, publish and pay out money", async () => {
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
});

describe("a function that lost one grant fails with AccessDenied", () => {
  it.each(lost)("%s without %s", async (functionName, action, method, path) => {
    const body = method === "POST" ? { url: "https://hooks.example.com/", event_types: ["*"] } : undefined;
    const reply = await stack.api.call(method, path, { body });
    expect([reply.status, reply.body["code"]]).toEqual([500, "internal_error"]);
    expect(reply.text).not.toMatch(/AccessDenied|arn:|dynamodb/i);
    expect(denied).toContain(`${functionName} ${action}`);
  });
});
