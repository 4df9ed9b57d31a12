import { expect, it } from "vitest";
import { moneyMoved } from "../../support/builders/bridge.ts";
import { api, broker, call, caller, newSource, unusedLogin } from "./feed-cases.ts";

it("credit of a linked account is granted and taken back by its platform, and its books stay equal", async () => {
  const source = await newSource();
  const login = unusedLogin();
  const account = await broker.account(undefined, { platform: "mt5", platform_login: login, source_id: source.id });
  await source.send(moneyMoved(login, "B-1", "deposit", "100.00"));
  const credit = async (direction: "in" | "out", amount: string) => {
    const body = { account_id: account.id, direction, amount, reason: { code: "bonus" } };
    const made = await api.call(caller, "POST", "/transactions/credit", { body });
    expect(made.status, made.text).toBe(201);
    const asked = await broker.move(made.body, "completed");
    expect(asked.body).toMatchObject({ status: "processing", outcome: null });
    const [command] = (await call("POST", `${source.path}/commands/take`, {})).body.data;
    expect(command).toMatchObject({ id: asked.body.command_id, type: "credit_operation", lane: "money" });
    return command;
  };
  const granted = await credit("in", "50.00");
  expect(granted.payload).toMatchObject({ amount: "50.00", comment: granted.id });
  const reported = moneyMoved(login, "B-2", "credit_in", "50.00", { reference: granted.id });
  expect(await source.send(reported)).toMatchObject([{ status: "applied", transaction_id: granted.transaction_id }]);
  const taken = await credit("out", "20.00");
  expect(taken.payload.amount).toBe("-20.00");
  const ack = { attempt: 1, status: "done", operation_id: "B-3" };
  expect((await call("POST", `${source.path}/commands/${taken.id}/ack`, ack)).body.status).toBe("done");
  const returned = moneyMoved(login, "B-3", "credit_out", "20.00", { reference: taken.id });
  expect(await source.send(returned)).toMatchObject([{ status: "applied", transaction_id: taken.transaction_id }]);
  expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({
    ...{ balance: "100.00", credit: "30.00", held: "0.00" },
    credit_lots: [{ transaction_id: granted.transaction_id, amount: "30.00", expires_at: null }],
  });
  const accounts = [{ platform_login: login, balance: "100.00", credit: "30.00", positions: [] }];
  const whole = { snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: "3", part: 1, parts: 1 };
  const sent = await call("POST", `${source.path}/snapshots`, { ...whole, complete: true, accounts });
  expect(sent.status, sent.text).toBe(200);
  expect((await call("GET", `/drift?source_id=${source.id}`)).body.data).toEqual([]);
});
