import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { draftOperator } from "../../../shared/domain/access/operator.ts";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { drawPersonKey } from "../../../shared/runtime/person-key.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startUserPool } from "../../support/emulator/user-pool.ts";

const api = await startApi();
const pool = await startUserPool();
Object.assign(process.env, pool.environment);
afterAll(async () => {
  await api.stop();
  await pool.stop();
});

const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { changeItem, putItem } = await import("../../../shared/table/items.ts");
const { operators, personKeys } = await import("../../../shared/table/entities.ts");
const { readKeys } = await import("../../../shared/table/store.ts");

const [first, second] = [newId("brk"), newId("brk")];
const keys = drawPersonKey();
let email = "";
let count = 0;
beforeEach(() => {
  count += 1;
  email = `ana.${count}@example.com`;
  pool.meanwhile = undefined;
  pool.asked.length = 0;
});

/** An operator of a brokerage with the e-mail of this test, who waits for the pool. */
async function invited(tenant_id = first): Promise<Operator> {
  const request = { email, name: "Ana", role: "owner" } as const;
  const operator = draftOperator(request, {
    ...{ id: newId("opr"), tenant_id, audit_key: keys.public_key },
    now: new Date().toISOString(),
  });
  await putItem(operators, operator);
  await putItem(personKeys, { tenant_id, person_id: operator.id, private_key: keys.private_key });
  return operator;
}

const settle = (operator: Operator) => settleOperator(operators.keyOf(operator));

/** Changes an operator as a request does, and then provisions. */
async function becomes(operator: Operator, status: Operator["status"]): Promise<void> {
  const set = { status, wake_at: new Date().toISOString() };
  await changeItem(operators.keyOf(operator), { set, add: { version: 1 } });
  await settle(operator);
}

async function stored({ id }: Operator): Promise<Record<string, unknown> | undefined> {
  return (await scanTable(api.emulator)).find((item) => item["id"] === id);
}

/** The notes of identities that name an operator. */
async function identitiesOf({ id }: Operator): Promise<Record<string, unknown>[]> {
  const items = await scanTable(api.emulator);
  return items.filter((item) => item["et"] === "OPRIDENTITY" && JSON.stringify(item["places"]).includes(id));
}

/** Does something once, in the middle of an operation of the pool. */
function once(phase: "before" | "after", operation: string, work: () => Promise<void>): void {
  pool.meanwhile = async (at, name) => {
    if (at !== phase || name !== operation) return;
    pool.meanwhile = undefined;
    await work();
  };
}

describe("an operator who waits for the user of the pool", () => {
  it("gets it with an invitation, is bound to it once, leaves the due index, and keeps the version", async () => {
    const operator = await invited();
    await settle(operator);
    const asked = [...pool.asked];
    await settle(operator);
    expect(pool.asked).toEqual(asked);
    expect(pool.users.find(email)).toMatchObject({ status: "FORCE_CHANGE_PASSWORD", email_verified: true });
    expect(pool.mailed.filter((one) => one === email)).toHaveLength(1);
    const item = await stored(operator);
    expect(item).toMatchObject({ pool_state: "ready", wake_at: null, version: { number: "1" }, status: "invited" });
    expect(item).not.toHaveProperty("due_pk");
    expect(await identitiesOf(operator)).toMatchObject([
      { places: [{ map: { operator_id: operator.id, place_tenant_id: first } }] },
    ]);
  });

  it("is invited again with another password, once for each settled request, and never after the sign-in", async () => {
    const operator = await invited();
    const admin = newCaller({ tenant_id: operator.tenant_id });
    const again = () => api.call(admin, "POST", `/operators/${operator.id}/invite`);
    const mails = () => pool.mailed.filter((one) => one === email).length;
    expect([(await again()).body.version, mails()]).toEqual([1, 0]);
    await settle(operator);
    const { sub } = pool.users.find(email) ?? {};
    for (const expected of [2, 2]) expect([(await again()).body.version, mails()]).toEqual([expected, 1]);
    await settle(operator);
    await settle(operator);
    expect(mails()).toBe(2);
    expect(pool.users.find(email)).toMatchObject({ sub, status: "FORCE_CHANGE_PASSWORD" });
    expect(await stored(operator)).toMatchObject({ pool_state: "ready", wake_at: null, status: "invited" });
    pool.users.remove(pool.users.find(email) as never);
    await again();
    await settle(operator);
    expect([mails(), pool.users.find(email)?.sub === sub]).toEqual([3, false]);
    for (const status of ["active", "suspended"] as const) {
      await changeItem(operators.keyOf(operator), { set: { status } });
      const refused = await again();
      expect([refused.status, refused.body.code]).toEqual([409, "illegal_transition"]);
    }
    await changeItem(operators.keyOf(operator), { set: { status: "removed" } });
    expect((await again()).status).toBe(404);
  });

  it.each(["suspended", "removed"] as const)("who has another email there is shut out when %s", async (status) => {
    const operator = await invited();
    await settle(operator);
    const user = pool.users.find(email);
    const { sub = "" } = user ?? {};
    Object.assign(user ?? {}, { email: `other.${email}` });
    expect(pool.users.find(email)).toBeUndefined();
    await becomes(operator, status);
    expect(pool.users.find(sub)?.enabled).toBe(status === "suspended" ? false : undefined);
    expect(pool.signedOut).toContain(sub);
  });

  it("who has a password at another brokerage is let in without another email", async () => {
    const operator = await invited();
    await settle(operator);
    Object.assign(pool.users.find(email) ?? {}, { status: "CONFIRMED" });
    const admin = newCaller({ tenant_id: operator.tenant_id });
    expect((await api.call(admin, "POST", `/operators/${operator.id}/invite`)).status).toBe(200);
    await settle(operator);
    expect(pool.mailed.filter((one) => one === email)).toHaveLength(1);
    expect(await stored(operator)).toMatchObject({ pool_state: "ready", wake_at: null });
  });

  it("who is changed meanwhile keeps the change, and one who comes after takes the identity over", async () => {
    const former = await invited();
    await settle(former);
    const operator = await invited();
    once("after", "AdminCreateUser", async () => {
      await changeItem(operators.keyOf(operator), { set: { name: "Eva", version: 2 } });
    });
    await settle(operator);
    expect(await stored(operator)).toMatchObject({ pool_state: "ready", name: "Eva", version: { number: "2" } });
    expect(await identitiesOf(former)).toEqual([]);
    expect(await identitiesOf(operator)).toHaveLength(1);
  });

  it("who was removed while the user was made leaves it to the operator who was invited in its place", async () => {
    const former = await invited();
    let operator: Operator | undefined;
    once("after", "AdminCreateUser", async () => {
      const set = { status: "removed", wake_at: new Date().toISOString() };
      await changeItem(operators.keyOf(former), { set, add: { version: 1 } });
      operator = await invited();
      await settle(operator);
    });
    await settle(former);
    if (operator === undefined) throw new Error("The user was not made.");
    expect(pool.users.find(email)).toMatchObject({ enabled: true });
    expect(await identitiesOf(former)).toEqual([]);
    expect(await identitiesOf(operator)).toHaveLength(1);
    expect(await stored(operator)).toMatchObject({ pool_state: "ready", wake_at: null });
  });

  it("waits on where the pool fails", async () => {
    const operator = await invited();
    pool.failing = true;
    await expect(settle(operator)).rejects.toThrow();
    pool.failing = false;
    expect(await stored(operator)).toMatchObject({ pool_state: "pending", wake_at: operator.wake_at });
    await settle(operator);
    expect(pool.users.find(email)).toBeDefined();
  });
});

describe("the user of the pool", () => {
  it("is shut out with the operator, let in again, and removed", async () => {
    const operator = await invited();
    await settle(operator);
    const { sub = "" } = pool.users.find(email) ?? {};
    await becomes(operator, "suspended");
    expect(pool.users.find(email)).toMatchObject({ sub, enabled: false });
    expect(pool.signedOut).toContain(sub);
    await becomes(operator, "active");
    expect(pool.users.find(email)).toMatchObject({ sub, enabled: true });
    await becomes(operator, "removed");
    expect(pool.users.find(email)).toBeUndefined();
    expect(await stored(operator)).toMatchObject({ status: "removed", wake_at: null });
  });

  it("who works for two brokerages keeps access until both have ended it", async () => {
    const [one, other] = [await invited(first), await invited(second)];
    await settle(one);
    await settle(other);
    expect(pool.mailed.filter((address) => address === email)).toHaveLength(1);
    await changeItem(operators.keyOf(other), { set: { status: "active" } });
    await becomes(one, "removed");
    expect(pool.users.find(email)).toMatchObject({ enabled: true });
    await becomes(other, "suspended");
    expect(pool.users.find(email)).toMatchObject({ enabled: false });
    await becomes(other, "removed");
    expect(pool.users.find(email)).toBeUndefined();
  });

  it("who was removed loses their password, also while another brokerage invites them", async () => {
    const [one, other] = [await invited(first), await invited(second)];
    await settle(one);
    await settle(other);
    const user = pool.users.find(email);
    Object.assign(user ?? {}, { status: "CONFIRMED" });
    await changeItem(operators.keyOf(one), { set: { status: "active" } });
    await becomes(one, "removed");
    expect(pool.users.find(email)).toBeUndefined();
    await settle(other);
    expect(pool.users.find(email)).toMatchObject({ enabled: true, status: "FORCE_CHANGE_PASSWORD" });
    expect(pool.mailed.filter((address) => address === email)).toHaveLength(2);
  });

  it("is made again for an operator who was bound to it in the moment of its removal", async () => {
    const one = await invited(first);
    await settle(one);
    const other = await invited(second);
    once("before", "AdminDeleteUser", () => settle(other));
    await becomes(one, "removed");
    expect(pool.users.find(email)).toBeUndefined();
    expect(await stored(other)).toMatchObject({ pool_state: "pending", wake_at: expect.any(String) });
    await settle(other);
    expect(pool.users.find(email)).toMatchObject({ enabled: true });
    const [operator] = (await readKeys([operators.keyOf(other)])) as Operator[];
    expect(operator).toMatchObject({ pool_state: "ready", wake_at: null });
  });

  it("is made again for an operator who saw it for the last time just before its removal", async () => {
    const one = await invited(first);
    await settle(one);
    const other = await invited(second);
    let removal = Promise.resolve();
    let settled = Promise.resolve();
    const removeAfterLastLook = (goOn: () => void) => {
      let looks = 0;
      pool.meanwhile = async (at, name) => {
        looks += Number(at === "after" && name === "AdminGetUser");
        if (looks < 2) return;
        pool.meanwhile = undefined;
        goOn();
        await removal;
      };
      settled = settle(other);
    };
    once("before", "AdminDeleteUser", () => new Promise(removeAfterLastLook));
    removal = becomes(one, "removed");
    await removal;
    await settled;
    expect(pool.users.find(email)).toMatchObject({ enabled: true });
    expect(await stored(other)).toMatchObject({ pool_state: "ready", wake_at: null });
  });

  it("is made again by the operator who found it in the moment before its removal", async () => {
    const one = await invited(first);
    await settle(one);
    const former = pool.users.find(email)?.sub;
    const other = await invited(second);
    once("after", "AdminGetUser", () => becomes(one, "removed"));
    await settle(other);
    const made = pool.users.find(email);
    expect(made).toMatchObject({ enabled: true });
    expect(made?.sub).not.toBe(former);
    expect(await stored(other)).toMatchObject({ pool_state: "ready", wake_at: null });
    expect((await identitiesOf(one)).length).toBe(1);
  });

  it("stays let in where a suspension elsewhere did not see the new operator", async () => {
    const one = await invited(first);
    await settle(one);
    const other = await invited(second);
    once("before", "AdminDisableUser", () => settle(other));
    await becomes(one, "suspended");
    expect(pool.users.find(email)).toMatchObject({ enabled: true });
  });
});
