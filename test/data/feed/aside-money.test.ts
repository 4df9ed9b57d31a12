import { expect, it } from "vitest";
import { moneyMoved, opening } from "../../support/builders/bridge.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { api, broker, caller, newSource, trader, unusedLogin } from "./feed-cases.ts";

const done = { status: "completed" };

const moneyOf = ({ id }: { id: string }) => broker.get(`/accounts/${id}/balance`);

/** Credits of operations that are put aside for an account. */
const asideOf = async ({ id }: { id: string }) =>
  (await scanTable(api.emulator)).find((item) => item["et"] === "BALANCE" && item["account_id"] === id)?.[
    "aside_minor"
  ];

/** Codes of refused results, else their status. */
const said = (results: readonly { status: string; code?: string }[]) =>
  results.map(({ status, code }) => code ?? status);

it("an operation that is put aside holds what it takes and counts what it adds, until it is decided", async () => {
  const account = await trader("500.00", { leverage: 500 });
  const source = await newSource();
  await source.send(opening(account.login, "D-1", "P-1", { price: "1.10010" }));
  const deposit = await broker.deposit(account, "300.00", done);
  const withdrawal = await broker.withdrawal(account, "40.00", { fee: "1.00" });
  const before = await moneyOf(account);
  const [money, taken] = [
    moneyMoved(account.login, "B-1", "deposit", "300.00"),
    moneyMoved(account.login, "B-2", "withdrawal", "40.00"),
  ];
  expect(said(await source.send(money, taken, money))).toEqual(Array(3).fill("possible_duplicate"));
  const { balance, equity, withdrawable } = before;
  expect([withdrawable, balance, equity]).toEqual(["526.48", "796.50", "786.50"]);
  expect(await moneyOf(account)).toMatchObject({ balance, equity, held: "80.00", withdrawable: "486.48" });
  expect(await asideOf(account)).toEqual({ number: "30000" });
  expect((await source.retry("4", { transaction_id: withdrawal.id })).body.code).toBe("transaction_mismatch");
  expect((await source.retry("4", { transaction_id: deposit.id })).body.status).toBe("applied");
  expect(await asideOf(account)).toEqual({ number: "0" });
  expect((await source.retry("2", { confirm_new: true })).body.status).toBe("duplicate");
  expect(await moneyOf(account)).toMatchObject({ held: "80.00" });
  expect((await source.retry("3", { transaction_id: withdrawal.id })).body.status).toBe("applied");
  expect(await moneyOf(account)).toMatchObject({ held: "0.00", balance: "756.50" });
});

it("and holds it once where its batch is sent again, because an item before it was deferred", async () => {
  const [first, account] = [await trader("1.00"), await trader("100.00")];
  const source = await newSource();
  const withdrawal = await broker.withdrawal(account, "40.00", done);
  const items = [
    moneyMoved(first.login, "B-1", "deposit", "2.00"),
    moneyMoved(account.login, "B-2", "withdrawal", "40"),
  ];
  const batch = { first_seq: "1", items: items.map((item, at) => ({ seq: String(at + 1), ...item })) };
  api.watched.interfere = ({ operation, input }) => {
    const fails = operation === "TransactWriteItems" && JSON.stringify(input).includes(first.id);
    if (fails) throw new Error("The connection was lost.");
    return undefined;
  };
  for (const status of ["service_unavailable", "applied"]) {
    expect(said((await source.raw(batch)).body.results)).toEqual([status, "possible_duplicate"]);
    expect(await moneyOf(account)).toMatchObject({ balance: "60.00", held: "40.00" });
    api.watched.interfere = () => undefined;
  }
  expect((await source.retry("2", { transaction_id: withdrawal.id })).body.status).toBe("applied");
  expect(await moneyOf(account)).toMatchObject({ balance: "60.00", held: "0.00" });
});

it("and is neither held nor counted once the acknowledgement of its command has booked it", async () => {
  const source = await newSource();
  const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
  const account = await broker.account(undefined, { type: "demo", ...link });
  const login = link.platform_login;
  await source.send(moneyMoved(login, "B-0", "deposit", "100.00"));
  const commands = `${source.path}/commands`;
  const moved = [
    ["deposit", await broker.deposit(account, "30.00", done), "B-1", "130.00"],
    ["withdrawal", await broker.withdrawal(account, "40.00", done), "B-2", "90.00"],
  ] as const;
  for (const [kind, { id, command_id, amount }, operation_id, balance] of moved) {
    expect(said(await source.send(moneyMoved(login, operation_id, kind, amount)))).toEqual(["possible_duplicate"]);
    expect((await api.call(caller, "POST", `${commands}/take`, { body: {} })).body.data).toHaveLength(1);
    expect(await moneyOf(account)).toMatchObject({ held: kind === "deposit" ? "40.00" : "80.00" });
    const ack = { attempt: 1, status: "done", operation_id };
    expect((await api.call(caller, "POST", `${commands}/${command_id}/ack`, { body: ack })).body.status).toBe("done");
    expect(await moneyOf(account)).toMatchObject({ balance });
    expect((await broker.get(`/transactions/${id}`)).platform_operations).toMatchObject([{ confirmed: false }]);
  }
  expect(await moneyOf(account)).toMatchObject({ balance: "90.00", held: "0.00" });
  expect(await asideOf(account)).toEqual({ number: "0" });
  for (const seq of ["2", "3"]) expect((await source.retry(seq)).body).toMatchObject({ status: "applied" });
  expect(await moneyOf(account)).toMatchObject({ balance: "90.00", held: "0.00" });
});

it("and once a person has settled with it", async () => {
  const source = await newSource();
  const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
  const account = await broker.account(undefined, { type: "demo", ...link });
  const login = link.platform_login;
  await source.send(moneyMoved(login, "B-0", "deposit", "100.00"));
  const moved = [
    ["deposit", await broker.deposit(account, "30.00", done), "130.00"],
    ["withdrawal", await broker.withdrawal(account, "40.00", done), "90.00"],
  ] as const;
  for (const [kind, transaction, balance] of moved) {
    const operation_id = `of a ${kind}`;
    expect(said(await source.send(moneyMoved(login, operation_id, kind, transaction.amount)))).toEqual([
      "possible_duplicate",
    ]);
    expect((await broker.move(transaction, "completed", { operation_id })).status).toBe(200);
    expect([await asideOf(account), (await moneyOf(account)).balance]).toEqual([{ number: "0" }, balance]);
  }
  expect((await moneyOf(account)).held).toBe("0.00");
  for (const seq of ["2", "3"]) expect((await source.retry(seq)).body).toMatchObject({ status: "applied" });
  expect(await moneyOf(account)).toMatchObject({ balance: "90.00", held: "0.00" });
});

it("and is confirmed where the acknowledgement comes while it is put aside", async () => {
  const source = await newSource();
  const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
  const account = await broker.account(undefined, { type: "demo", ...link });
  const { command_id } = await broker.deposit(account, "30.00", done);
  const commands = `${source.path}/commands`;
  expect((await api.call(caller, "POST", `${commands}/take`, { body: {} })).body.data).toHaveLength(1);
  api.watched.interfere = async ({ operation, input }) => {
    if (operation !== "TransactWriteItems" || !JSON.stringify(input).includes("possible_duplicate")) return undefined;
    api.watched.interfere = () => undefined;
    const ack = { attempt: 1, status: "done", operation_id: "B-1" };
    expect((await api.call(caller, "POST", `${commands}/${command_id}/ack`, { body: ack })).body.status).toBe("done");
    return undefined;
  };
  const [result] = await source.send(moneyMoved(link.platform_login, "B-1", "deposit", "30.00"));
  expect(result.status).toBe("applied");
  expect(await moneyOf(account)).toMatchObject({ balance: "30.00", held: "0.00" });
  expect(await asideOf(account)).toBeUndefined();
});

/** A disabled account that was paid in and out, and whose deposit a platform reports without a reference. */
async function emptied() {
  const account = await trader("1.00");
  const source = await newSource();
  const { id } = await broker.deposit(account, "40.00", done);
  await broker.withdrawal(account, "41.00", done);
  const amend = (status: string) => api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { status } });
  expect((await amend("disabled")).status).toBe(200);
  const report = () => source.send(moneyMoved(account.login, "B-1", "deposit", "40.00"));
  return { account, source, id, report, close: () => amend("closed") };
}

it("and keeps its account from being closed until it is decided", async () => {
  const { account, source, id, report, close } = await emptied();
  expect(said(await report())).toEqual(["possible_duplicate"]);
  const refused = await close();
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { code: "account_not_empty", left: ["items that were set aside"] },
  ]);
  expect((await source.retry("1", { transaction_id: id })).body.status).toBe("applied");
  expect([await asideOf(account), (await close()).body.status]).toEqual([{ number: "0" }, "closed"]);
});

it("and changes no money of an account that is closed in between", async () => {
  const { account, source, report, close } = await emptied();
  api.watched.interfere = async ({ operation, input }) => {
    if (operation !== "TransactWriteItems" || !JSON.stringify(input).includes("possible_duplicate")) return undefined;
    api.watched.interfere = () => undefined;
    expect((await close()).status).toBe(200);
    return undefined;
  };
  expect(said(await report())).toEqual(["account_closed"]);
  expect((await source.retry("1")).body.code).toBe("account_closed");
  expect(await asideOf(account)).toBeUndefined();
});
