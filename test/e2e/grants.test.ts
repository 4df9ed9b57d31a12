import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { fundedAccount } from "../support/api-client.ts";
import { startStack } from "../support/stack.ts";

interface Statement {
  Sid?: string;
  Action: string | string[];
}

/** A copy of the assembly in which one function's role has lost one action. */
function without(functionName: string, action: string): { dir: string; remove: () => void } {
  const dir = mkdtempSync(join(tmpdir(), "brokerage-assembly-"));
  cpSync(inject("assemblyDir"), dir, { recursive: true });
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
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

describe("a function that lost one grant fails with AccessDenied", () => {
  it.each([
    ["brokerage-sandbox-create-client", "dynamodb:PutItem", "POST", "/clients"],
    ["brokerage-sandbox-list-clients", "dynamodb:Query", "GET", "/clients"],
    ["brokerage-sandbox-get-me", "dynamodb:BatchGetItem", "GET", "/me"],
  ])("%s without %s", async (functionName, action, method, path) => {
    const assembly = without(functionName, action);
    const denied: string[] = [];
    const stack = await startStack({
      assemblyDir: assembly.dir,
      onDenied: ({ functionName: name, action: tried }) => denied.push(`${name} ${tried}`),
    });
    try {
      const body = method === "POST" ? { email: "a@example.com", first_name: "A", last_name: "B" } : undefined;
      const reply = await stack.api.call(method, path, { body });
      expect([reply.status, reply.body["code"]]).toEqual([500, "internal_error"]);
      expect(reply.text).not.toMatch(/AccessDenied|arn:|dynamodb/i);
      expect(denied).toContain(`${functionName} ${action}`);
    } finally {
      await stack.stop();
      assembly.remove();
    }
  });
});

describe("the grants of the endpoints", () => {
  it("are each needed: a story over all of them uses every one", async () => {
    const stack = await startStack();
    try {
      const { api } = stack;
      const { client_id, account_id } = await fundedAccount(api, "100.00");
      await api.call("PATCH", `/clients/${client_id}`, { body: { email: "moved@example.com", external_id: "x-1" } });
      await api.call("PATCH", `/clients/${client_id}`, { body: { external_id: null } });
      const withdrawal = await api.call<{ id: string }>("POST", "/transactions/withdrawal", {
        body: { account_id, amount: "1.00" },
      });
      const paths = [
        "/me",
        "/clients",
        `/clients/${client_id}`,
        "/accounts",
        `/accounts/${account_id}`,
        `/accounts/${account_id}/ledger`,
        `/transactions/${withdrawal.body.id}`,
        "/events",
        "/events/evt_01JD0000000000000000000001",
      ];
      for (const path of paths) await api.call("GET", path);
      expect(stack.cloud.unusedGrants().filter((grant) => !grant.reason)).toEqual([]);
    } finally {
      await stack.stop();
    }
  });
});
