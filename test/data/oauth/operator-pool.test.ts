import { afterAll, describe, expect, it } from "vitest";
import { draftOperator, type Operator } from "../../../shared/domain/people/operator.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";

const api = await startApi();
afterAll(async () => api.stop());

const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { changeItem, putItem } = await import("../../../shared/table/items.ts");
const { operators } = await import("../../../shared/table/entities.ts");

const tenant_id = newId("brk");

async function invited(): Promise<Operator> {
  const request = { email: "ana@example.com", name: "Ana", role: "owner" } as const;
  const operator = draftOperator(request, { id: newId("opr"), tenant_id, now: new Date().toISOString() });
  await putItem(operators, operator);
  return operator;
}

const stored = async (id: string) => (await scanTable(api.emulator)).find((item) => item["id"] === id);
const identities = async () => (await scanTable(api.emulator)).filter(({ et }) => et === "OPRIDENTITY");

describe("an operator who waits for the user of the pool", () => {
  it("is bound to it once, leaves the due index, and keeps the version", async () => {
    const operator = await invited();
    let asked = 0;
    const ensureUser = async ({ email }: Operator) => {
      asked += 1;
      return { issuer: "https://pool.example", subject: email };
    };
    await settleOperator(operators.keyOf(operator), ensureUser);
    await settleOperator(operators.keyOf(operator), ensureUser);
    expect(asked).toBe(1);
    const item = await stored(operator.id);
    expect(item).toMatchObject({ pool_state: "ready", wake_at: null, version: { number: "1" }, status: "invited" });
    expect(item).not.toHaveProperty("due_pk");
    expect(await identities()).toMatchObject([
      { places: [{ map: { operator_id: operator.id, place_tenant_id: tenant_id } }] },
    ]);
  });

  it("who is changed meanwhile keeps the change, and one who comes after takes the identity over", async () => {
    const operator = await invited();
    let asked = 0;
    await settleOperator(operators.keyOf(operator), async ({ email }) => {
      asked += 1;
      if (asked === 1) await changeItem(operators.keyOf(operator), { set: { name: "Eva", version: 2 } });
      return { issuer: "https://pool.example", subject: email };
    });
    expect(asked).toBe(2);
    expect(await stored(operator.id)).toMatchObject({ pool_state: "ready", name: "Eva", version: { number: "2" } });
    expect(await identities()).toMatchObject([{ places: [{ map: { operator_id: operator.id } }] }]);
  });

  it("waits on where the pool fails", async () => {
    const operator = await invited();
    const failing = settleOperator(operators.keyOf(operator), () => Promise.reject(new Error("pool")));
    await expect(failing).rejects.toThrow("pool");
    expect(await stored(operator.id)).toMatchObject({ pool_state: "pending", wake_at: operator.wake_at });
  });
});
