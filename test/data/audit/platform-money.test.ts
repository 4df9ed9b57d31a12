import { afterAll, describe, expect, it } from "vitest";
import { bridge, closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { asOperator, newCaller } from "../../support/emulator/request.ts";

const api = await startApi("stream");
afterAll(api.stop);
const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);

/** A brokerage with a rule of one approver above 100.00, and an account of its bridge. */
async function guarded() {
  const owner = newCaller();
  await putMarket(api, owner.tenant_id);
  const over = { USD: "100.00" };
  const rules = (["withdrawal", "deposit"] as const).map((kind) => ({ kind, over, approvers: 1 }));
  await api.call(owner, "PATCH", "/settings", { body: { approval_rules: rules } });
  const { newSource, unusedLogin } = bridge(api, owner);
  const source = await newSource({ authoritative: "service" });
  const login = unusedLogin();
  const link = { platform: "mt5", platform_login: login, source_id: source.id };
  const account = await brokerage(api, owner).account(undefined, { type: "demo", ...link });
  await source.send(moneyMoved(login, "B-0", "deposit", "90.00"));
  let published = 0;
  const entries = async (action = "send_feed_batch") => {
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) => eventName === "INSERT" && image?.["et"]?.S === "OUTBOX",
    );
    await work.publish(waiting.slice(published));
    published = waiting.length;
    const { body } = await api.call(owner, "GET", `/audit_log?action=${action}&sort=sequence&limit=100`);
    return body.data.map(({ resource, actor }: { resource: { id: string }; actor: { id: string } }) => {
      expect(actor.id).toBe(owner.application_id);
      return resource.id;
    });
  };
  return { owner, source, login, account, entries, as: brokerage(api, owner) };
}

describe("money that a platform moved", () => {
  it("leaves an entry for each item of a batch that is booked, set aside or joined; deals leave none", async () => {
    const { owner, source, login, account, entries, as } = await guarded();
    const [deposited] = await entries();
    const named = await as.withdrawal(account, "40.00");
    const guardedOne = await as.deposit(account, "150.00");
    const batch = [
      opening(login, "D-1", "P-1"),
      moneyMoved(login, "B-1", "withdrawal", "40.00", { reference: named.id }),
      moneyMoved(login, "B-2", "deposit", "150.00", { reference: guardedOne.id }),
      moneyMoved(login, "B-3", "withdrawal", "170.00"),
      moneyMoved(login, "B-4", "fee", "-1.00"),
      closing("D-2", "P-1"),
    ];
    const results = await source.send(...batch);
    const statuses = results.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual(["applied", "applied", "rejected", "rejected", "applied", "applied"]);
    const [, , , made, fee] = results;
    const seen = [deposited, named.id, guardedOne.id, made.candidates[0], fee.transaction_id];
    expect((await entries()).toSorted()).toEqual(seen.toSorted());
    // A batch that is sent again changes nothing.
    await source.send(...batch);
    expect(await entries()).toHaveLength(5);

    // The rule is loosened, and the item that comes again joins its transaction.
    await api.call(owner, "PATCH", "/settings", { body: { approval_rules: [] } });
    const [joined] = await source.send(batch[2] as (typeof batch)[2]);
    expect(joined).toMatchObject({ status: "applied", transaction_id: guardedOne.id });
    expect((await entries()).toSorted()).toEqual([...seen, guardedOne.id].toSorted());
  });

  it("leaves the entry of the person who ends what is set aside", async () => {
    const { owner, source, login, account, entries, as } = await guarded();
    const withdrawal = await as.withdrawal(account, "80.00");
    await api.call(owner, "PATCH", "/settings", { body: { four_eyes: true } });
    const item = moneyMoved(login, "B-1", "withdrawal", "80.00", { reference: withdrawal.id });
    const [result] = await source.send(item);
    expect(result).toMatchObject({ status: "rejected", code: "approval_required" });
    const { seq } = result;
    await as.move(withdrawal, "cancelled");
    const eva = asOperator(owner, "Eva", "finance");
    const retried = await api.call(eva, "POST", `${source.path}/rejects/${seq}/retry`, { body: { take_back: true } });
    expect(retried.body).toMatchObject({ status: "applied", command_id: expect.any(String) });
    await entries();
    const { body } = await api.call(owner, "GET", `/audit_log?resource=${withdrawal.id}&sort=sequence`);
    expect(body.data.map(({ action, actor }: { action: string; actor: { id: string } }) => [action, actor.id])).toEqual(
      [
        ["create_withdrawal", owner.application_id],
        ["send_feed_batch", owner.application_id],
        ["update_transaction", owner.application_id],
        ["retry_feed_reject", eva.operator?.id],
      ],
    );
  });
});
