import { expect, it } from "vitest";
import type { FeedSource } from "../../../shared/domain/records/feed-source.ts";
import { decisionContext } from "../../support/builders/decisions.ts";
import { broker, call, caller, newSource, unusedLogin } from "./feed-cases.ts";

const { decideTake } = await import("../../../shared/feed/waiting-commands.ts");
const done = { status: "completed" };

it("a command is taken however many pages of older ones wait for the lanes of other accounts", async () => {
  const source = await newSource();
  const linked = async () => {
    const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
    return (await broker.account(undefined, { type: "demo", ...link })) as { id: string };
  };
  const [account, other] = [await linked(), await linked()];
  const first = await broker.deposit(account, "1.00", done);
  for (let left = 12; left > 0; left -= 1) await broker.deposit(account, "1.00", done);
  const last = await broker.deposit(other, "2.00", done);
  const stored = { id: source.id, tenant_id: caller.tenant_id } as FeedSource;
  const found = async () => {
    const decision = await decideTake(stored, { max: 2 }, decisionContext({ now: new Date().toISOString() }), 1);
    return decision.ok ? decision.result.map(({ id }) => id) : decision.refusal;
  };
  expect(await found()).toEqual([first.command_id, last.command_id]);
  const taken = await call("POST", `${source.path}/commands/take`, { max: 1 });
  expect(taken.body.data).toMatchObject([{ id: first.command_id }]);
  expect(await found()).toEqual([last.command_id]);
});
