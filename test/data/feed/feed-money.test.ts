import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it, vi } from "vitest";
import { bridge, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startJudgedApi();
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

const caller = newCaller();
const broker = brokerage(api, caller);
const floor = tradingFloor(caller.tenant_id);
const { newSource, trader } = bridge(api, caller);
await putMarket(api, caller.tenant_id);

const balanceOf = async ({ id }: { id: string }) => (await broker.get(`/accounts/${id}/balance`)).balance;
const moneyOf = ({ id }: { id: string }) => broker.get(`/accounts/${id}/balance`);
const done = { status: "completed" };
/** Codes of refused results, else their status. */
const said = (results: readonly { status: string; code?: string }[]) =>
  results.map(({ status, code }) => code ?? status);
const items = async (et: string) => (await scanTable(api.emulator)).filter((item) => item["et"] === et);

describe("a commission that a platform charges after its deal", () => {
  it("is booked, and shows the deal that it names", async () => {
    const account = await trader("100.00");
    const source = await newSource();
    const late = moneyMoved(account.login, "C-1", "commission", "-3.50", { deal_id: "D-7" });
    const [booked] = await source.send(late);
    expect(booked).toMatchObject({ status: "applied" });
    expect(await balanceOf(account)).toBe("96.50");
    expect(await broker.get(`/transactions/${booked.transaction_id}`)).toMatchObject({
      ...{ kind: "commission", amount: "-3.50" },
      platform_operations: [{ operation_id: "C-1", deal_id: "D-7" }],
    });
    expect(said(await source.send(late))).toEqual(["duplicate"]);
  });
});

describe("a deposit that is completed here and then reported by the bridge", () => {
  it("is booked once when the operation names it: 100.00 stays 100.00", async () => {
    const account = await trader(null);
    const deposit = await broker.deposit(account, "100.00", done);
    const source = await newSource();
    const operation = moneyMoved(account.login, "B-1", "deposit", "100.00", { reference: deposit.id });
    const [joined] = await source.send(operation);
    expect(joined).toMatchObject({ status: "applied", transaction_id: deposit.id });
    expect(await balanceOf(account)).toBe("100.00");
    expect(await broker.get(`/transactions/${deposit.id}`)).toMatchObject({
      status: "completed",
      version: deposit.version + 1,
      related_to: null,
      platform_operations: [{ source_id: source.id, operation_id: "B-1", leg: "forward" }],
    });
    expect(said(await source.send(operation))).toEqual(["duplicate"]);
    expect(await balanceOf(account)).toBe("100.00");
  });

  it("is put aside when the operation names nothing, until a person says which transaction it is", async () => {
    const account = await trader(null);
    const deposit = await broker.deposit(account, "100.00", done);
    const source = await newSource();
    const [aside] = await source.send(moneyMoved(account.login, "B-1", "deposit", "100.00"));
    expect(aside).toMatchObject({ status: "rejected", code: "possible_duplicate", candidates: [deposit.id] });
    expect(await source.rejects()).toMatchObject([{ code: "possible_duplicate", candidates: [deposit.id] }]);
    expect((await source.retry("1")).body).toMatchObject({ code: "possible_duplicate", candidates: [deposit.id] });
    const wrong = await broker.deposit(await trader(null), "100.00", done);
    expect((await source.retry("1", { transaction_id: wrong.id })).body).toMatchObject({
      status: "rejected",
      code: "transaction_mismatch",
    });
    const answers = await atOnce(3, () => source.retry("1", { transaction_id: deposit.id }));
    expect(answers.map(({ body }) => body.status).toSorted()).toEqual(["applied", "duplicate", "duplicate"]);
    expect(await balanceOf(account)).toBe("100.00");
    expect(await source.rejects()).toEqual([]);
  });

  it("and is new money when a person says so, or once the transaction is joined", async () => {
    const account = await trader(null);
    const deposit = await broker.deposit(account, "100.00", done);
    const source = await newSource();
    const operation = (name: string, more: object = {}) => moneyMoved(account.login, name, "deposit", "100.00", more);
    expect(said(await source.send(operation("B-1"), operation("B-2")))).toEqual([
      "possible_duplicate",
      "possible_duplicate",
    ]);
    expect((await source.retry("1", { confirm_new: true })).body.status).toBe("applied");
    expect(await balanceOf(account)).toBe("200.00");
    expect(said(await source.send(operation("B-3", { reference: deposit.id })))).toEqual(["applied"]);
    expect((await source.retry("2")).body.status).toBe("applied");
    expect(await balanceOf(account)).toBe("300.00");
  });

  it.each([
    [{ transaction_id: "txn_01JD0000000000000000000001", confirm_new: true }, "#"],
    [{ transaction_id: "acc_01JD0000000000000000000001" }, "#/transaction_id"],
    [{ confirm_new: false }, "#/confirm_new"],
    [{ confirm: true }, "#/confirm"],
  ])("of which a person cannot say %j", async (body, pointer) => {
    const source = await newSource();
    await source.send(moneyMoved("0000", "B-1", "deposit", "1.00"));
    expect(await source.retry("1", body)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  });
});

describe("an operation that names a transaction", () => {
  it("completes a deposit that still waits for four eyes, and debits a withdrawal that is held", async () => {
    const account = await trader("500.00");
    const source = await newSource();
    const deposit = await broker.deposit(account, "100.00", { fee: "3.00" });
    const withdrawal = await broker.withdrawal(account, "40.00", { fee: "1.00" });
    expect(await moneyOf(account)).toMatchObject({ balance: "500.00", held: "40.00" });
    const results = await source.send(
      moneyMoved(account.login, "B-1", "deposit", "97.00", { reference: deposit.id }),
      moneyMoved(account.login, "B-2", "withdrawal", "40.00", { reference: withdrawal.id }),
    );
    expect(said(results)).toEqual(["applied", "applied"]);
    expect(await moneyOf(account)).toMatchObject({ balance: "557.00", held: "0.00", available_balance: "557.00" });
    expect(await broker.get(`/transactions/${deposit.id}`)).toMatchObject({ status: "completed" });
    expect(await broker.get(`/transactions/${withdrawal.id}`)).toMatchObject({ status: "processing" });
    const failed = await broker.move(withdrawal, "failed");
    expect(failed.status).toBe(200);
    const [back] = await source.send(
      moneyMoved(account.login, "B-3", "adjustment", "40.00", { reference: withdrawal.id }),
    );
    expect(back).toMatchObject({ status: "applied", transaction_id: withdrawal.id });
    expect(await balanceOf(account)).toBe("597.00");
  });

  it("and is not its money is booked beside it, with a metric that calls an alarm", async () => {
    const account = await trader("500.00");
    const other = await trader("70.00");
    const deposit = await broker.deposit(account, "100.00", done);
    const source = await newSource();
    const written: string[] = [];
    const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    const reference = { reference: deposit.id };
    const results = await source.send(
      moneyMoved(account.login, "B-1", "deposit", "99.00", reference),
      moneyMoved(other.login, "B-2", "deposit", "100.00", reference),
      moneyMoved(account.login, "B-3", "deposit", "100.00", reference),
      moneyMoved(account.login, "B-4", "deposit", "100.00", reference),
      moneyMoved(account.login, "B-5", "deposit", "1.23", { reference: "txn_01JD0000000000000000000009" }),
    );
    output.mockRestore();
    expect(said(results)).toEqual(["applied", "applied", "applied", "applied", "applied"]);
    expect(results.map(({ related_to }: { related_to?: string }) => related_to)).toEqual([
      deposit.id,
      deposit.id,
      undefined,
      deposit.id,
      undefined,
    ]);
    expect(await balanceOf(account)).toBe("800.23");
    expect(await balanceOf(other)).toBe("170.00");
    const made = await broker.get(`/transactions/${results[0].transaction_id}`);
    expect(made).toMatchObject({ related_to: deposit.id, amount: "99.00", status: "completed" });
    const counted = written.filter(
      (line) => line.includes("CloudWatchMetrics") && line.includes("UnexpectedOperation"),
    );
    expect(counted).toHaveLength(4);
  });

  it("joins once, whatever repeats, races or dies", async () => {
    const account = await trader(null);
    const [first, second] = [await newSource(), await newSource()];
    const deposit = await broker.deposit(account, "100.00");
    const operation = moneyMoved(account.login, "B-1", "deposit", "100.00", { reference: deposit.id });
    const body = { first_seq: "1", items: [{ seq: "1", ...operation }] };
    let commits = 0;
    api.watched.interfere = ({ operation: name }) => {
      if (name !== "TransactWriteItems") return undefined;
      commits += 1;
      return commits === 1 ? failure("ResourceNotFoundException") : undefined;
    };
    expect((await first.raw(body)).body.results).toMatchObject([{ status: "deferred" }]);
    expect(await balanceOf(account)).toBe("0.00");
    const answers = await atOnce(4, () => first.raw(body));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await balanceOf(account)).toBe("100.00");
    const [other] = await second.send(operation);
    expect(other).toMatchObject({ status: "applied", related_to: deposit.id });
    expect(await balanceOf(account)).toBe("200.00");
  });

  it("at the same time as another one of the same money: one joins, one is booked beside it", async () => {
    const account = await trader(null);
    const deposit = await broker.deposit(account, "100.00", done);
    const sources = [await newSource(), await newSource()];
    const results = await Promise.all(
      sources.map((source) =>
        source.send(moneyMoved(account.login, "B-1", "deposit", "100.00", { reference: deposit.id })),
      ),
    );
    const related = results.map(([{ related_to }]) => related_to ?? null);
    expect(related.toSorted()).toEqual([deposit.id, null].toSorted());
    expect(await balanceOf(account)).toBe("200.00");
  });
});

describe("an operation of a platform", () => {
  it("is known by its own name for good: not by a provider's reference, nor only while its note is kept", async () => {
    const account = await trader(null);
    const source = await newSource();
    await broker.deposit(account, "5.00", { ...done, provider: source.name, provider_reference: "B-1" });
    const operation = moneyMoved(account.login, "B-1", "deposit", "50.00");
    const [made] = await source.send(operation);
    expect(made).toMatchObject({ status: "applied" });
    for (const { pk, sk } of await items("DEDUP")) {
      const Key = { pk: { S: String(pk) }, sk: { S: String(sk) } };
      await api.emulator.client.send(new DeleteItemCommand({ TableName: api.emulator.tableName, Key }));
    }
    expect(await source.send(operation)).toMatchObject([{ status: "duplicate", transaction_id: made.transaction_id }]);
    expect(await balanceOf(account)).toBe("55.00");
  });

  it("finds money that is booked while it is decided", async () => {
    const account = await trader("1.00");
    const source = await newSource();
    let booked = false;
    api.watched.interfere = async ({ operation, input }) => {
      if (booked || operation !== "TransactWriteItems" || !JSON.stringify(input).includes("source_operation")) {
        return undefined;
      }
      booked = true;
      await broker.deposit(account, "100.00", done);
      return undefined;
    };
    const [aside] = await source.send(moneyMoved(account.login, "B-1", "deposit", "100.00"));
    expect(booked).toBe(true);
    expect(aside).toMatchObject({ status: "rejected", code: "possible_duplicate" });
    expect(await balanceOf(account)).toBe("101.00");
  });

  it("is booked as it happened whatever the account and its client may do here", async () => {
    const account = await trader("100.00");
    const source = await newSource();
    await broker.withdrawal(account, "80.00");
    const patch = (address: string, body: object) => api.call(caller, "PATCH", address, { body });
    expect((await patch(`/clients/${account.client_id}`, { status: "suspended" })).status).toBe(200);
    const results = [
      ...(await source.send(moneyMoved(account.login, "B-1", "withdrawal", "30.00"))),
      ...(await patch(`/accounts/${account.id}`, { trading_mode: "close_only" }).then(() =>
        source.send(moneyMoved(account.login, "B-2", "withdrawal", "90.00")),
      )),
    ];
    expect((await api.call(caller, "DELETE", `/accounts/${account.id}`)).status).toBe(200);
    results.push(
      ...(await source.send(
        moneyMoved(account.login, "B-3", "deposit", "5.00"),
        moneyMoved(account.login, "B-4", "withdrawal", "7.00"),
        moneyMoved(account.login, "B-5", "fee", "-0.50"),
        moneyMoved(account.login, "B-6", "adjustment", "0.25"),
        moneyMoved(account.login, "B-7", "dividend", "2.00"),
        moneyMoved(account.login, "B-8", "deposit", "-1.00"),
        moneyMoved(account.login, "B-9", "credit_in", "1.00"),
        moneyMoved(account.login, "B-10", "credit_out", "0.40"),
        moneyMoved(account.login, "B-11", "credit_out", "5.00"),
        moneyMoved(account.login, "B-12", "credit_in", "-1.00"),
      )),
    );
    expect(said(results)).toEqual([
      ...Array.from({ length: 7 }, () => "applied"),
      "sign_mismatch",
      "applied",
      "applied",
      "insufficient_credit",
      "sign_mismatch",
    ]);
    expect(await moneyOf(account)).toMatchObject({
      balance: "-20.25",
      credit: "0.60",
      held: "80.00",
      available_balance: "-100.25",
    });
    const fee = await broker.get(`/transactions/${results[4].transaction_id}`);
    expect(fee).toMatchObject({ kind: "fee", amount: "-0.50", net_amount: "-0.50", balance_after: "-22.50" });
    const listed = await broker.get("/transactions?kind=fee&status=completed");
    expect(listed.data.map(({ id }: { id: string }) => id)).toContain(fee.id);
  });

  it("and a deal are booked while this service liquidates the account", async () => {
    const account = await trader("2000.00");
    const source = await newSource({ authoritative: "service" });
    const deals = Array.from({ length: 12 }, (_, place) =>
      opening(account.login, `D-${place}`, `P-${place}`, { lots: "0.10", commission: "0" }),
    );
    expect(new Set(said(await source.send(...deals)))).toEqual(new Set(["applied"]));
    await putQuote(api, caller.tenant_id, "EURUSD", ["1.08410", "1.08420"]);
    let commits = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      commits += 1;
      return commits > 1 ? failure("ResourceNotFoundException") : undefined;
    };
    await expect(floor.evaluate(account.id)).rejects.toThrow();
    api.watched.interfere = () => undefined;
    const results = await source.send(
      moneyMoved(account.login, "B-1", "withdrawal", "0.50"),
      opening(account.login, "D-13", "P-13", { lots: "0.01", commission: "0" }),
    );
    expect(said(results)).toEqual(["applied", "applied"]);
    await putQuote(api, caller.tenant_id, "EURUSD", ["1.10000", "1.10010"]);
  });
});

describe("money that the platform moved before a loss and reports after it", () => {
  it("repays the correction that its absence caused, joined or not, where this service decides", async () => {
    const ends = [];
    for (const [authoritative, named, before] of [
      ["service", false, true],
      ["service", true, true],
      ["service", false, false],
      ["platform", false, true],
    ] as const) {
      const account = await trader("100.00");
      const source = await newSource({ authoritative });
      const deposit = named ? await broker.deposit(account, "80.00") : undefined;
      const at = new Date(Date.now() - 60_000).toISOString();
      await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.05" });
      await putQuote(api, caller.tenant_id, "EURUSD", ["1.07000", "1.07010"]);
      await floor.evaluate(account.id);
      await putQuote(api, caller.tenant_id, "EURUSD", ["1.10000", "1.10010"]);
      expect(await balanceOf(account)).toBe("0.00");
      const reference = deposit === undefined ? {} : { reference: deposit.id };
      const operation = moneyMoved(account.login, "B-1", "deposit", "80.00", reference);

      const [result] = await source.send({ ...operation, ...(before ? { at } : {}) });
      expect(result?.status).toBe("applied");
      ends.push(await balanceOf(account));
    }
    // 100.00 and 80.00 less a loss of 150.50.
    expect(ends).toEqual(["29.50", "29.50", "80.00", "80.00"]);
  });
});

describe("an account that is linked to a login while its money moves", () => {
  const unlinked = () => broker.account(undefined, { type: "demo", leverage: 100, platform: "mt5" });
  let logins = 70_000_000;
  const link = (id: string, platform_login: string | null) =>
    api.call(caller, "PATCH", `/accounts/${id}`, { body: { platform_login } });
  const login = () => {
    logins += 1;
    return String(logins);
  };

  it("is not linked, nor unlinked, while a transaction is pending", async () => {
    const account = await unlinked();
    const pending = await broker.deposit(account, "100.00");
    const name = login();
    const refused = await link(account.id, name);
    expect([refused.status, refused.body.code, refused.body.left]).toEqual([
      409,
      "account_not_empty",
      ["pending transactions"],
    ]);
    await broker.move(pending, "completed");
    expect((await link(account.id, name)).status).toBe(200);
    const next = await broker.deposit(account, "50.00");
    expect((await link(account.id, null)).body.code).toBe("account_not_empty");
    await broker.move(next, "cancelled");
    expect((await link(account.id, null)).status).toBe(200);
  });

  it.each(["pending", "completed"])(
    "marks a %s deposit that is decided before the link and committed after it",
    async (status) => {
      const account = await unlinked();
      const name = login();
      let came = false;
      api.watched.interfere = async ({ operation }) => {
        if (operation === "TransactWriteItems" && !came) {
          came = true;
          expect((await link(account.id, name)).status).toBe(200);
        }
        return undefined;
      };
      const deposit = await broker.deposit(account, "100.00", status === "completed" ? done : {});
      api.watched.interfere = () => undefined;
      if (status === "pending") await broker.move(deposit, "completed");
      const source = await newSource();
      const [aside] = await source.send(moneyMoved(name, "B-1", "deposit", "100.00"));
      expect(aside).toMatchObject({ status: "rejected", code: "possible_duplicate", candidates: [deposit.id] });
      expect(await balanceOf(account)).toBe("100.00");
    },
  );
});
