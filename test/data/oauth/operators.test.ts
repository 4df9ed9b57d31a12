import { afterAll, describe, expect, it } from "vitest";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import { atOnce, brokerage, statusCounts } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";

const api = await startApi("stream");
afterAll(async () => api.stop());

const { publishing } = await import("../../support/emulator/publishing.ts");
const { changeItem } = await import("../../../shared/table/items.ts");
const { operators, tenants } = await import("../../../shared/table/entities.ts");

interface Announced {
  readonly actor: { readonly id: string };
  readonly data: { readonly object: { readonly id: string; readonly agreed: boolean } };
}

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
    expect([status, body.status, body.scopes]).toEqual([201, "invited", scopesOf("finance", "sandbox")]);
    expect((await invite({ email: " ANA@example.com" })).body.code).toBe("operator_exists");
    const path = `/operators/${body.id}`;
    expect((await api.call(admin, "PATCH", path, { body: { role: "viewer" } })).body.role).toBe("viewer");
    expect((await api.call(admin, "GET", "/operators?status=invited")).body.data).toHaveLength(1);
    expect((await api.call(admin, "DELETE", path)).body).toEqual({ id: body.id, object: "operator", deleted: true });
    expect((await api.call(admin, "GET", "/operators")).body.data).toEqual([]);
    for (const method of ["GET", "DELETE"]) expect((await api.call(admin, method, path)).status).toBe(404);
    const removed = { ...admin, operator: { id: body.id, name: "Ana", role: "viewer" } } as const;
    expect((await api.call(removed, "GET", "/me")).body.code).toBe("not_found");
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
    const lesser = withScopes(admin, "operators:write", ...scopesOf("risk", "sandbox"));
    expect((await invite({ role: "owner" }, lesser)).body.code).toBe("insufficient_scope");
    expect((await invite({ role: "risk", email: "risk@example.com" }, lesser)).status).toBe(201);
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

describe("an owner among owners", () => {
  /** The owners of a brokerage with so many, each as the caller of their own operator. */
  async function ownersOf(count: number) {
    const { as, ids } = await owned(count);
    const owners = ids.map((id): TestCaller => ({ ...as, operator: { id, name: "Owner", role: "owner" } }));
    return { as, ids, owners };
  }
  const shownOf = async (as: TestCaller, id: string | undefined) =>
    (await api.call(as, "GET", `/operators/${id}`)).body;

  it.each([
    ["suspended", "PATCH", { status: "suspended" }, 200],
    ["given another role", "PATCH", { role: "viewer" }, 200],
    ["removed", "DELETE", undefined, 404],
  ] as const)(
    "is %s by two others only, however often one of them asks at the same time",
    async (_, method, body, end) => {
      const { as, ids, owners } = await ownersOf(3);
      const [max, mia] = owners;
      const path = `/operators/${ids[2]}`;
      const ask = (by: TestCaller = as) => api.call(by, method, path, body === undefined ? {} : { body });
      expect(statusCounts(await atOnce(5, () => ask(max)))).toEqual({ 200: 5 });
      const proposed = await shownOf(as, ids[2]);
      expect(proposed).toMatchObject({
        role: "owner",
        status: "active",
        version: 2,
        proposed_change: { by: { id: ids[0] } },
      });
      expect((await ask(mia)).status).toBe(200);
      const answer = await api.call(as, "GET", path);
      expect(answer.status).toBe(end);
      if (end === 200) expect(answer.body).toMatchObject({ ...body, proposed_change: null });
    },
  );

  it("loses the rights when two others ask at the same moment, and one of two only by their own will", async () => {
    const { ids, owners, as } = await ownersOf(3);
    const answers = await atOnce(2, (at) =>
      api.call(owners[at] ?? as, "PATCH", `/operators/${ids[2]}`, { body: { status: "suspended" } }),
    );
    expect(statusCounts(answers)).toEqual({ 200: 2 });
    expect((await shownOf(as, ids[2])).status).toBe("suspended");
    // Two are left: each proposes the removal of the other one at the same time, and no one agrees.
    const removals = await atOnce(2, (at) => api.call(owners[at] ?? as, "DELETE", `/operators/${ids[1 - at]}`));
    expect(removals.map(({ status, body: { deleted } }) => [status, deleted])).toEqual([
      [200, false],
      [200, false],
    ]);
    const [max] = owners;
    const own = { ...newCaller({ tenant_id: as.tenant_id }), operator_ids: [ids[0] ?? ""] };
    const byApplication = await api.call(own, "DELETE", `/operators/${ids[1]}`);
    expect([byApplication.status, byApplication.body.code]).toEqual([403, "four_eyes_required"]);
    expect((await shownOf(as, ids[1])).status).toBe("active");
    const stepsDown = await api.call(max ?? as, "PATCH", `/operators/${ids[0]}`, { body: { role: "finance" } });
    expect(stepsDown.body).toMatchObject({ role: "finance", proposed_change: null });
  });

  it("gives the rights to approve or to administer by two only, also to the invited", async () => {
    const { as, ids, owners } = await ownersOf(2);
    const [max, mia] = owners;
    const body = { email: "max+2@example.com", name: "Max", role: "owner" };
    const own = { ...newCaller({ tenant_id: as.tenant_id }), operator_ids: [ids[0] ?? ""] };
    const byApplication = await api.call(own, "POST", "/operators", { body });
    expect([byApplication.status, byApplication.body.code]).toEqual([403, "four_eyes_required"]);
    const invited = await api.call(max ?? as, "POST", "/operators", { body });
    expect(invited.status).toBe(201);
    expect(invited.body).toMatchObject({ role: "viewer", status: "invited", proposed_change: { role: "owner" } });
    const path = `/operators/${invited.body.id}`;
    const promoted = async (by: TestCaller | undefined, role: Role) =>
      (await api.call(by ?? as, "PATCH", path, { body: { role } })).body;
    expect(
      statusCounts(await atOnce(3, () => api.call(max ?? as, "PATCH", path, { body: { role: "owner" } }))),
    ).toEqual({
      200: 3,
    });
    expect(await shownOf(as, invited.body.id)).toMatchObject({ role: "viewer", version: 1 });
    expect(await promoted(mia, "finance")).toMatchObject({ role: "viewer", proposed_change: { role: "finance" } });
    expect(await promoted(max, "finance")).toMatchObject({ role: "finance", proposed_change: null });
  });

  it("is announced without their name: whom the only one added alone, and to whom two agreed", async () => {
    const { as, ids } = await owned(1);
    const [one = ""] = ids;
    const by = (id: string): TestCaller => ({ ...as, operator: { id, name: "Max", role: "owner" } });
    const added = (await invite({ email: "max+2@example.com", name: "Max Two", role: "owner" }, by(one))).body;
    expect(added.role).toBe("owner");
    await changeItem(operators.key(as.tenant_id, added.id), { set: { status: "active", last_seen_at: now } });
    await changeItem(tenants.key(as.tenant_id), { set: { active_owners: 2 } });
    const third = (await invite({ email: "eva@example.com", name: "Eva", role: "viewer" }, as)).body;
    for (const id of [one, added.id]) {
      await api.call(by(id), "PATCH", `/operators/${third.id}`, { body: { role: "owner" } });
    }
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) =>
        eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === as.tenant_id,
    );
    await publishing(api).publish(waiting);
    const events = (await api.call(as, "GET", "/events?type=owner.added&sort=sequence")).body.data;
    const shown = events.map(({ actor, data }: Announced) => [actor.id, data.object.id, data.object.agreed]);
    expect(shown).toEqual([
      [as.application_id, one, false],
      [one, added.id, false],
      [added.id, third.id, true],
    ]);
    expect(events.at(-1).data.previous).toMatchObject({ role: "viewer" });
    expect(JSON.stringify(events)).not.toMatch(/@example|Max Two|Eva/);
    const entries = (await api.call(as, "GET", `/audit_log?resource=${added.id}&action=create_operator`)).body.data;
    expect(entries).toMatchObject([{ actor: { id: one }, changes: [{ before: null, after: { role: "owner" } }] }]);
  });

  it("who was removed and is invited again under the same email address is the same person", async () => {
    const { as, ids } = await owned(1);
    const account = await brokerage(api, as).account("100.00");
    const operatorBy = async (id: string): Promise<TestCaller> => {
      const item = (await scanTable(api.emulator)).find((one) => one["id"] === id && one.et === "OPERATOR");
      const operator_ids = (item?.["former_ids"] ?? []) as string[];
      // They have signed in since.
      await changeItem(operators.key(as.tenant_id, id), { set: { status: "active", role: "finance" } });
      return {
        ...as,
        scopes: scopesOf("finance", "sandbox"),
        operator: { id, name: "Ana", role: "finance" },
        operator_ids,
      };
    };
    const back = async (): Promise<string> => (await invite({ email: "ana@example.com" }, as)).body.id;
    const first = await back();
    await api.call(as, "PATCH", "/settings", { body: { four_eyes: true } });
    const withdrawal = await brokerage(api, await operatorBy(first)).withdrawal(account, "5.00");
    const approve = async (by: TestCaller) =>
      (await api.call(by, "POST", `/transactions/${withdrawal.id}/approve`)).body;
    let id = first;
    for (let times = 0; times < 2; times += 1) {
      await api.call(as, "DELETE", `/operators/${id}`);
      const both = await atOnce(2, () => invite({ email: "ana@example.com" }, as));
      expect(statusCounts(both)).toEqual({ 201: 1, 409: 1 });
      id = both.find(({ status }) => status === 201)?.body.id;
      expect(await approve(await operatorBy(id))).toMatchObject({ code: "four_eyes_required" });
    }
    const other = { ...as, operator: { id: ids[0] ?? "", name: "Eva", role: "owner" as const } };
    expect(await approve(other)).toMatchObject({ status: "approved" });
  });

  it("changes four eyes and the rules by two only, and another one withdraws what is proposed", async () => {
    const { as, owners } = await ownersOf(2);
    const [max, mia] = owners;
    const settings = async (by: TestCaller | undefined, body: object) =>
      (await api.call(by ?? as, "PATCH", "/settings", { body })).body;
    const withdrawal = { kind: "withdrawal", over: {}, approvers: 1 };
    const both = { four_eyes: true, approval_rules: [withdrawal] };
    expect(await settings(as, { four_eyes: true })).toMatchObject({ code: "four_eyes_required" });
    expect(await settings(max, both)).toMatchObject({ four_eyes: false, approval_rules: [], version: 2 });
    expect(await settings(max, both)).toMatchObject({ four_eyes: false, approval_rules: [], version: 2 });
    const withdrawn = await settings(mia, { four_eyes: false });
    expect(withdrawn).toMatchObject({ proposed_four_eyes: null, proposed_approval_rules: { rules: [withdrawal] } });
    expect(await settings(max, both)).toMatchObject({ four_eyes: false, proposed_four_eyes: { four_eyes: true } });
    const held = await settings(mia, both);
    expect(held).toMatchObject({ ...both, proposed_four_eyes: null, proposed_approval_rules: null });
  });
});
