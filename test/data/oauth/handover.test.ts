import { afterAll, expect, it } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi();
const service = await startTokenService(api);
afterAll(async () => api.stop());

const { changeItem } = await import("../../../shared/table/items.ts");
const { tenants } = await import("../../../shared/table/entities.ts");
const terminal = newCaller();
const [leaver, owner, other] = ["Ana", "Max", "Eva"].map((name) => asOperator(terminal, name, "owner"));
if (leaver === undefined || owner === undefined || other === undefined) throw new Error("Three owners are needed.");
const path = `/operators/${leaver.operator?.id}`;
const handover = async () => (await api.call(owner, "GET", `${path}/handover`)).body;

it("an owner who is removed hands over what they made or saw, until it is rotated or revoked by others", async () => {
  const made = await service.application({ name: "Made", scopes: ["applications:write", "events:read"] }, leaver);
  const actsFor: TestCaller = {
    ...terminal,
    scopes: ["applications:write", "events:read"],
    application_id: made.id,
    operator_ids: [leaver.operator?.id ?? ""],
  };
  const child = await service.application({ name: "Made by it", scopes: ["events:read"] }, actsFor);
  const seen = await service.application({ name: "Seen" }, owner);
  await api.call(leaver, "POST", `/applications/${seen.id}/rotate_secret`, { body: {} });
  await service.application({ name: "Unknown to them" }, owner);
  const account = await brokerage(api, terminal).account();
  const deposit = await brokerage(api, leaver).deposit(account, "1.00");

  const before = await handover();
  expect(before).toMatchObject({
    object: "operator_handover",
    status: "active",
    proposals: [],
    transactions: [{ id: deposit.id, part: "made" }],
    more_transactions: false,
  });
  const names = ({ applications }: { applications: { name: string; knows: string }[] }) =>
    Object.fromEntries(applications.map(({ name, knows }) => [name, knows]));
  expect(names(before)).toEqual({
    Made: "current_secret",
    "Made by it": "current_secret",
    Seen: "current_secret",
  });

  await changeItem(tenants.key(terminal.tenant_id), { set: { active_owners: 3 } });
  for (const [by, deleted] of [[owner, false] as const, [other, true] as const]) {
    expect((await api.call(by, "DELETE", path)).body.deleted).toBe(deleted);
  }
  expect((await api.call(owner, "GET", path)).status).toBe(404);
  expect(await handover()).toMatchObject({ status: "removed", applications: before.applications });
  // The application stays: it acts, and is listed, until others end what was known of it.
  expect((await service.grant(made)).status).toBe(200);
  const ended = [
    ["POST", `/applications/${made.id}/rotate_secret`, { grace_seconds: 0 }],
    ["DELETE", `/applications/${child.id}`, undefined],
    ["POST", `/applications/${seen.id}/rotate_secret`, { grace_seconds: 0 }],
  ] as const;
  for (const [method, address, body] of ended) {
    expect((await api.call(other, method, address, body === undefined ? {} : { body })).status).toBe(200);
  }
  expect(names(await handover())).toEqual({});
  expect((await service.grant(made)).status).toBe(401);
});
