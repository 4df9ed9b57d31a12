import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RawChange, RawItem } from "../support/emulator/raw-table.ts";
import { judgeItems } from "../support/oracles/oracle.ts";
import { judgeChanges } from "../support/oracles/oracle-changes.ts";
import { judgeEvents } from "../support/oracles/oracle-events.ts";

const tenant = "brk_01JD0000000000000000000000";
const number = (value: bigint | number) => ({ number: String(value) });

/** The books of one account after a deposit of 10.00 with a fee of 0.50 and a pending withdrawal of 3.00. */
function books(): Record<string, RawItem> {
  const own = { tenant_id: tenant, account_id: "acc_1", currency: "USD" };
  return {
    tenant: {
      pk: tenant,
      sk: "TENANT",
      et: "TENANT",
      id: tenant,
      require_verified_client: "none",
      four_eyes: false,
      currencies: ["USD"],
      default_leverage: number(100),
      transaction_expiry_days: number(7),
      version: number(1),
    },
    client: {
      pk: `${tenant}#cli_1`,
      sk: "CLIENT",
      et: "CLIENT",
      id: "cli_1",
      status: "active",
      account_count: number(1),
      open_accounts: number(1),
    },
    account: {
      pk: `${tenant}#acc_1`,
      sk: "ACCOUNT",
      et: "ACCOUNT",
      id: "acc_1",
      client_id: "cli_1",
      number: "12345678",
      status: "active",
      trading_mode: "full",
      currency: "USD",
      tenant_id: tenant,
    },
    marker: { pk: `${tenant}|UQ|account_number`, sk: sha256("12345678"), et: "UQ", owner_id: "acc_1" },
    balance: {
      ...own,
      pk: `${tenant}#acc_1`,
      sk: "BALANCE",
      et: "BALANCE",
      accepts: "all",
      balance_minor: number(950),
      held_minor: number(300),
      available_minor: number(650),
      pending: number(1),
      seq: number(1),
    },
    entry: {
      ...own,
      pk: `${tenant}#acc_1|LED`,
      sk: "000000000001",
      et: "LEDGER",
      id: "led_1",
      kind: "deposit",
      transaction_id: "txn_1",
      balance_version: number(1),
      amount_minor: number(950),
      balance_before_minor: number(0),
      balance_after_minor: number(950),
    },
    clearing: leg("clearing", -1000),
    income: leg("fee_income", 50),
    deposit: transaction("txn_1", "deposit", ["completed"], 1000, 50, 950),
    withdrawal: transaction("txn_2", "withdrawal", [], 300, 0),
  };
}

/** The same books after the withdrawal, with a fee of 0.20, went into processing and was then paid. */
function paidBooks(): Record<string, RawItem> {
  const { balance, entry, ...rest } = books();
  const own = { transaction_id: "txn_2", ledger_id: "led_2" };
  return {
    ...rest,
    entry: entry ?? {},
    balance: {
      ...balance,
      balance_minor: number(650),
      held_minor: number(0),
      available_minor: number(650),
      pending: number(0),
      seq: number(2),
    },
    debit: {
      ...entry,
      sk: "000000000002",
      id: "led_2",
      kind: "withdrawal",
      transaction_id: "txn_2",
      balance_version: number(2),
      amount_minor: number(-300),
      balance_before_minor: number(950),
      balance_after_minor: number(650),
    },
    into: { ...leg("payouts_in_transit", 300), ...own },
    outOf: { ...leg("payouts_in_transit", -300), ...own, ledger_id: null },
    paid: { ...leg("payouts", 280), ...own, ledger_id: null },
    kept: { ...leg("fee_income", 20), ...own, ledger_id: null },
    withdrawal: {
      ...transaction("txn_2", "withdrawal", ["processing", "completed"], 300, 20, 650),
      balance_before_minor: number(950),
    },
  };
}

function sha256(value: string): string {
  return createHash("sha256").update(value).digest("hex");
}

function leg(control: string, minor: number): RawItem {
  return {
    pk: `${tenant}|CTL|${control}`,
    sk: String(minor),
    et: "CONTRA",
    control_account: control,
    tenant_id: tenant,
    account_id: "acc_1",
    currency: "USD",
    transaction_id: "txn_1",
    ledger_id: "led_1",
    amount_minor: number(minor),
  };
}

function transaction(
  id: string,
  kind: string,
  moves: readonly string[],
  amount: number,
  fee: number,
  after?: number,
): RawItem {
  const states = ["pending", ...moves];
  const status = states.at(-1) ?? "";
  const end = "2026-11-28T06:30:00.000Z";
  return {
    pk: `${tenant}#${id}`,
    sk: "TXN",
    et: "TXN",
    id,
    kind,
    status,
    status_history: states.map((to, index) => ({ map: { from: states[index - 1] ?? null, to } })),
    account_id: "acc_1",
    currency: "USD",
    tenant_id: tenant,
    amount_minor: number(amount),
    fee_minor: number(fee),
    balance_before_minor: after === undefined ? null : number(0),
    balance_after_minor: after === undefined ? null : number(after),
    expires_at: status === "pending" ? end : null,
    ...(status === "pending" ? { due_pk: "DUE|TXN|01", due_sk: `${end}|${id}` } : {}),
    version: number(states.length),
  };
}

type Fault = readonly [item: string, change: Record<string, unknown>];

describe("the oracle", () => {
  it("finds nothing in books that are right", () => {
    expect(judgeItems(Object.values(books()))).toEqual([]);
    expect(judgeItems(Object.values(paidBooks()))).toEqual([]);
  });

  it.each<Fault>([
    ["balance", { balance_minor: number(951), available_minor: number(651) }],
    ["balance", { held_minor: number(299), available_minor: number(651) }],
    ["balance", { available_minor: number(651) }],
    ["balance", { pending: number(2) }],
    ["balance", { seq: number(2) }],
    ["balance", { balance_minor: number(10n ** 18n + 1n) }],
    ["balance", { balance_minor: { number: "950.5" } }],
    ["balance", { balance_minor: "950" }],
    ["balance", { currency: "EUR" }],
    ["balance", { pk: "GLOBAL|MONEY" }],
    ["balance", { pk: "brk_01JD0000000000000000000001#acc_1" }],
    ["balance", { note: "of brk_01JD0000000000000000000001" }],
    ["balance", { list_pk: "brk_01JD0000000000000000000001|ACC" }],
    ["balance", { due_pk: "DUE|TXN|08" }],
    ["balance", { accepts: "close_only" }],
    ["balance", { accepts: "none" }],
    ["account", { currency: "EUR" }],
    ["account", { status: "disabled" }],
    ["account", { trading_mode: "close_only" }],
    ["account", { client_id: "cli_2" }],
    ["account", { number: "12345679" }],
    ["account", { platform: "mt5", platform_login: "7" }],
    ["client", { account_count: number(2) }],
    ["client", { open_accounts: number(0) }],
    ["client", { status: "closed" }],
    ["client", { email: "ana@example.com" }],
    ["marker", { owner_id: "acc_2" }],
    ["marker", { sk: "0" }],
    ["tenant", { currencies: ["USD", "USD"] }],
    ["tenant", { currencies: [] }],
    ["tenant", { id: "brk_0" }],
    ["tenant", { four_eyes: "true" }],
    ["tenant", { require_verified_client: "always" }],
    ["tenant", { transaction_expiry_days: number(91) }],
    ["entry", { balance_version: number(2) }],
    ["entry", { amount_minor: number(949) }],
    ["entry", { balance_before_minor: number(1) }],
    ["entry", { currency: "EUR" }],
    ["entry", { transaction_id: "txn_9" }],
    ["clearing", { amount_minor: number(-999) }],
    ["clearing", { currency: "EUR" }],
    ["clearing", { account_id: "acc_2" }],
    ["income", { ledger_id: "led_9" }],
    ["deposit", { status: "rejected" }],
    ["deposit", { amount_minor: number(1001) }],
    ["deposit", { balance_after_minor: number(951) }],
    ["withdrawal", { status: "completed" }],
    ["withdrawal", { status: "cancelled" }],
    ["withdrawal", { status: "processing" }],
    ["withdrawal", { status: "approved" }],
    ["withdrawal", { fee_minor: number(300) }],
    ["withdrawal", { version: number(2) }],
    ["withdrawal", { expires_at: null }],
    ["withdrawal", { due_pk: undefined }],
    ["deposit", { due_pk: "DUE|TXN|01" }],
    ["deposit", { status: "returned" }],
  ])("finds a fault planted in the %s: %o", (name, change) => {
    const planted = books();
    planted[name] = { ...planted[name], ...change } as RawItem;
    expect(judgeItems(Object.values(planted))).not.toEqual([]);
  });

  it.each<Fault>([
    ["outOf", { amount_minor: number(-299) }],
    ["outOf", { ledger_id: "led_2" }],
    ["into", { control_account: "payouts" }],
    ["paid", { control_account: "clearing" }],
    ["kept", { transaction_id: "txn_1" }],
    ["kept", { ledger_id: "led_2" }],
    ["debit", { kind: "deposit" }],
    ["withdrawal", { status: "failed" }],
    ["withdrawal", { balance_before_minor: number(0) }],
  ])("finds a fault planted in the %s of a payout: %o", (name, change) => {
    const planted = paidBooks();
    planted[name] = { ...planted[name], ...change } as RawItem;
    expect(judgeItems(Object.values(planted))).not.toEqual([]);
  });

  it.each(["tenant", "client", "marker", "account", "balance", "entry", "clearing", "income", "withdrawal"])(
    "misses the %s when it is gone",
    (name) => {
      const { [name]: _gone, ...rest } = books();
      expect(judgeItems(Object.values(rest))).not.toEqual([]);
    },
  );
});

const born = { et: "CLIENT", pk: `${tenant}#cli_1`, sk: "CLIENT", id: "cli_1", status: "active", version: number(1) };
const reactivated = { status: "active", version: number(2) };
const verified = { ...born, verification_status: "verified", version: number(2) };

describe("the oracle of the stream", () => {
  it("finds nothing in a history that is right", () => {
    const history: RawChange[] = [
      { kind: "INSERT", before: undefined, after: born },
      { kind: "MODIFY", before: born, after: verified },
      { kind: "MODIFY", before: verified, after: { ...verified, account_count: number(1) } },
    ];
    expect(judgeChanges(history)).toEqual([]);
  });

  it.each<readonly [string, RawChange]>([
    ["a ledger entry that was changed", modified({ et: "LEDGER" }, {})],
    ["a ledger entry that was removed", { kind: "REMOVE", before: { et: "LEDGER" }, after: undefined }],
    ["an outbox item that was changed", modified({ et: "OUTBOX" }, {})],
    ["a version that jumped", modified(born, { version: number(3) })],
    ["a version that fell", modified(verified, { version: number(1) })],
    ["a move without a version", modified(born, { status: "suspended" })],
    ["a move that does not exist", modified({ ...born, status: "closed" }, { status: "active", version: number(2) })],
    ["a clock that went back", modified({ ...born, updated_at: "2" }, { updated_at: "1", version: number(2) })],
    ["another birth", modified({ ...born, created_at: "1" }, { created_at: "2", version: number(2) })],
    ["a birth at version 2", { kind: "INSERT", before: undefined, after: verified }],
    ["a way back that does not exist", modified({ ...born, et: "ACCOUNT", status: "closed" }, reactivated)],
    [
      "a debt on an account that accepts all",
      modified({ et: "BALANCE", ...money(0) }, { ...money(-1), accepts: "all", seq: number(2) }),
    ],
    [
      "a balance that was overdrawn for a moment",
      modified({ et: "BALANCE", ...money(1) }, { held_minor: number(2), available_minor: number(-1) }),
    ],
    [
      "a balance that did not add up for a moment",
      modified({ et: "BALANCE" }, { balance_minor: number(2), held_minor: number(0), available_minor: number(1) }),
    ],
  ])("finds %s", (_, change) => {
    expect(judgeChanges([change])).not.toEqual([]);
  });
});

function money(minor: number): Record<string, unknown> {
  return { balance_minor: number(minor), held_minor: number(0), available_minor: number(minor), seq: number(1) };
}

function created(item: Record<string, unknown>): RawChange {
  return { kind: "INSERT", before: undefined, after: { ...item, version: number(1) } as RawItem };
}

describe("the oracle of the order of things", () => {
  const account = { ...born, et: "ACCOUNT", id: "acc_1", client_id: "cli_1" };
  const disabled = modified(account, { status: "disabled", version: number(2) });
  const payment = created({ et: "TXN", id: "txn_1", account_id: "acc_1", status: "pending" });

  it("finds a transaction that was made after its account was disabled, and not one before", () => {
    expect(judgeChanges([created(account), payment, disabled])).toEqual([]);
    expect(judgeChanges([created(account), disabled, payment])).toHaveLength(1);
  });

  it("finds an account that was opened after its client was suspended", () => {
    const suspended = modified(born, { status: "suspended", version: number(2) });
    expect(judgeChanges([created(account), suspended])).toEqual([]);
    expect(judgeChanges([suspended, created(account)])).toHaveLength(1);
  });
});

function modified(before: Record<string, unknown>, change: Record<string, unknown>): RawChange {
  return { kind: "MODIFY", before: before as RawItem, after: { ...before, ...change } as RawItem };
}

function announced(type: string, version: number, shown = version): RawItem {
  const body = { type, resource: { id: "cli_1", version }, data: { object: { id: "cli_1", version: shown } } };
  return { pk: `${tenant}#cli_1`, et: "OUTBOX", events: [JSON.stringify({ body })] };
}

function published(sequence: number): RawItem {
  const body = {
    type: "client.created",
    resource: { id: "cli_1", version: 1 },
    data: { object: { id: "cli_1", version: 1 } },
  };
  return { pk: `${tenant}|EVT|0`, et: "EVENT", sequence: number(sequence), payload: JSON.stringify(body) };
}

function counter(n: number): RawItem {
  return { pk: `${tenant}|SEQ`, sk: "SEQ", et: "SEQ", last: number(n) };
}

describe("the oracle of the events", () => {
  const birth: RawChange = { kind: "INSERT", before: undefined, after: born };
  const verification: RawChange = { kind: "MODIFY", before: born, after: verified };
  const both = [announced("client.created", 1), announced("client.verified", 2), announced("client.updated", 2)];

  it("finds nothing when each change has its event, waiting or published", () => {
    expect(judgeEvents(both, [birth, verification])).toEqual([]);
    expect(judgeEvents([published(1), counter(1)], [birth])).toEqual([]);
  });

  it.each<readonly [string, readonly RawItem[], readonly RawChange[]]>([
    ["a change without its event", [announced("client.created", 1)], [birth, verification]],
    ["a change that only some receive", both.slice(0, 2), [birth, verification]],
    ["an event without its change", both, [birth]],
    ["an event told twice", [...both, announced("client.created", 1)], [birth, verification]],
    ["an event that waits and is published", [announced("client.created", 1), published(1), counter(1)], [birth]],
    ["an event that shows another version", [announced("client.created", 1, 2)], [birth]],
    ["a number that is left out", [published(2), counter(2)], [birth]],
    ["a counter that stands elsewhere", [published(1), counter(2)], [birth]],
  ])("finds %s", (_, items, changes) => {
    expect(judgeEvents(items, changes)).not.toEqual([]);
  });
});
