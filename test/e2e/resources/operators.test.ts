import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

/** Waits until the user of the pool is enabled or not, or is none. */
async function poolHas(email: string, wanted: boolean | undefined): Promise<void> {
  const { admin, settings } = stack.cloud.pool ?? {};
  await eventually(() => {
    try {
      const { Enabled } = admin?.call("AdminGetUser", { UserPoolId: settings?.id, Username: email }) ?? {};
      return Enabled === wanted || undefined;
    } catch {
      return wanted === undefined || undefined;
    }
  });
}

describe("an operator", () => {
  it("has a user of the pool that is made, disabled, enabled and deleted with what the API says", async () => {
    const call = async (method: string, path: string, body?: object) => {
      const answer = await stack.api.call<{ id: string }>(method, path, body === undefined ? {} : { body });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    const email = `removed-${stack.tenant_id.toLowerCase()}@example.com`;
    const { id } = await call("POST", "/operators", { email, name: "Removed", role: "viewer" });
    await poolHas(email, true);
    await call("PATCH", `/operators/${id}`, { status: "suspended" });
    await poolHas(email, false);
    await call("PATCH", `/operators/${id}`, { status: "active" });
    await poolHas(email, true);
    await call("DELETE", `/operators/${id}`);
    await poolHas(email, undefined);
  });

  it("is the owner of a new brokerage from its beginning", async () => {
    const owner = `owner-${stack.tenant_id.toLowerCase()}@example.com`;
    const { api } = await stack.newApplication({ owner });
    const { body } = await api.call<{ data: object[] }>("GET", "/operators");
    expect(body.data).toEqual([expect.objectContaining({ email: owner, role: "owner" })]);
    await poolHas(owner, true);
  });
});
