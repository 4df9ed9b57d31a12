import { afterAll, describe, expect, it } from "vitest";
import { type Role, roleScopes } from "../../../shared/roles.ts";
import { atOnce, statusCounts } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";

const api = await startApi();
afterAll(async () => api.stop());

const { changeItem } = await import("../../../shared/table/items.ts");
const { operators, tenants } = await import("../../../shared/table/entities.ts");

const admin = newCaller();
const now = new Date().toISOString();
const invite = (more: object = {}, as: TestCaller = admin) =>
  api.call(as, "POST", "/operators", { body: { email: "ana@example.com", name: "Ana", role: "finance", ...more } });

/** A brokerage with so many active owners. */
async function owned(owners: number): Promise<{ as: TestCaller; ids: string[] }> {
  const as = newCaller();
  const ids: string[] = [];
  for (let at = 0; at < owners; at += 1) {
    const { id } = (await invite({ email: `${at}@example.com`, role: "owner" }, as)).body;
    await changeItem(operators.key(as.tenant_id, id), { set: { status: "active", last_seen_at: now } });
    ids.push(id);
  }
  await changeItem(tenants.key(as.tenant_id), { set: { active_owners: owners } });
  return { as, ids };
}

describe("operators", () => {
  it("are invited, listed, changed and removed, and their email address is free again", async () => {
    const { status, body } = await invite();
    expect([status, body.status, body.scopes]).toEqual([201, "invited", roleScopes.finance]);
    expect((await invite({ email: " ANA@example.com" })).body.code).toBe("operator_exists");
    const path = `/operators/${body.id}`;
    expect((await api.call(admin, "PATCH", path, { body: { role: "viewer" } })).body.role).toBe("viewer");
    expect((await api.call(admin, "GET", "/operators?status=invited")).body.data).toHaveLength(1);
    expect((await api.call(admin, "DELETE", path)).body).toEqual({ id: body.id, object: "operator", deleted: true });
    expect((await api.call(admin, "GET", "/operators")).body.data).toEqual([]);
    for (const method of ["GET", "DELETE"]) expect((await api.call(admin, method, path)).status).toBe(404);
    expect((await invite()).status).toBe(201);
  });

  it("of a brokerage share one API key, also when the first two are invited at the same time", async () => {
    const as = newCaller();
    const made = await atOnce(2, (at) => invite({ email: `${at}@example.com` }, as));
    expect(statusCounts(made)).toEqual({ 201: 2 });
    const items = (await scanTable(api.emulator)).filter(({ pk }) => String(pk).startsWith(as.tenant_id));
    expect(items.filter(({ et }) => et === "OPRKEY")).toMatchObject([{ api_key_id: null }]);
    expect(items.find(({ et }) => et === "TENANT")).toMatchObject({ operators: { number: "2" } });
  });

  it("are given no role that holds more than the caller's token", async () => {
    const lesser = (role: Role) => withScopes(admin, ...roleScopes[role]);
    expect((await invite({ role: "owner" }, lesser("developer"))).body.code).toBe("insufficient_scope");
    expect((await invite({ role: "developer", email: "dev@example.com" }, lesser("developer"))).status).toBe(201);
  });

  it.each([
    ["suspended", "PATCH", { status: "suspended" }],
    ["given another role", "PATCH", { role: "viewer" }],
    ["removed", "DELETE", undefined],
  ])("leave one active owner when all owners are %s at the same time", async (_, method, body) => {
    const { as, ids } = await owned(3);
    const answers = await atOnce(3, (at) =>
      api.call(as, method, `/operators/${ids[at]}`, body === undefined ? {} : { body }),
    );
    expect(statusCounts(answers)).toEqual({ 200: 2, 409: 1 });
    expect(answers.filter(({ status }) => status === 409).map((answer) => answer.body.code)).toEqual(["last_owner"]);
  });
});
