import { describe, expect, it } from "vitest";
import { isAdjustment } from "../../../../shared/domain/accounts/balance.ts";
import { adoptMoney } from "../../../../shared/domain/feed/drift/adopt-money.ts";
import { registerSource } from "../../../../shared/domain/feed/source.ts";
import type { Drift } from "../../../../shared/domain/records/drift.ts";
import type { Contra, Ledger } from "../../../../shared/domain/records/ledger.ts";
import { accepted, createdItems, decisionContext, someAccount } from "../../../support/builders/decisions.ts";

const context = decisionContext();
const lots = [
  { transaction_id: "txn_1", amount: "40.00", expires_at: "2026-12-01T00:00:00.000Z" },
  { transaction_id: "txn_2", amount: "60.00", expires_at: null },
];

/** Writes of the adoption of the platform's credit on an account with 100.00 of it in two lots. */
function adopted(theirs: string) {
  const request = { name: "mt5:live-1", platform: "mt5" } as const;
  const made = registerSource(request, 0, context);
  if (!made.ok) throw new Error(made.refusal.detail);
  const { account, balance, tenant } = someAccount({}, { credit_minor: 10_000n, credit_lots: lots });
  const drift = { id: "drf_1", kind: "credit", ours: "100.00", theirs, as_of_seq: "7", taken_at: context.now };
  const by = { type: "application", id: "app_1" } as const;
  const books = { state: { account, balance } } as never;
  const about = { drift: drift as Drift, source: made.result, tenant, books, by };
  return { source: made.result, decision: adoptMoney(about, { code: "checked", message: null }, context) };
}

describe("credit of a platform that is adopted", () => {
  it.each([
    ["150.00", "credit_in", 5000n, ["txn_1 40.00", "txn_2 60.00"]],
    ["70.00", "credit_out", -3000n, ["txn_1 10.00", "txn_2 60.00"]],
    ["50.00", "credit_out", -5000n, ["txn_2 50.00"]],
    ["0.00", "credit_out", -10_000n, []],
  ] as const)("of %s is %s with the number of the snapshot, and sums to zero", (theirs, kind, minor, left) => {
    const { source, decision } = adopted(theirs);
    const { result, changes } = accepted(decision);
    expect(result).toMatchObject({ kind, status: "completed", created_by: { id: "app_1" } });
    const money = changes.find(isAdjustment)?.set;
    expect(money).toMatchObject({ credit_minor: 10_000n + minor });
    const stored = money?.["credit_lots"] as typeof lots;
    expect(stored.map(({ transaction_id, amount }) => `${transaction_id} ${amount}`)).toEqual(left);
    const entries = createdItems<Ledger>(changes, "ledger");
    expect(entries).toMatchObject([
      { moves: "credit", amount_minor: minor, source_id: source.id, feed_seq: "7", transaction_id: result.id },
    ]);
    const contras = createdItems<Contra>(changes, "contra");
    expect(contras.reduce<bigint>((sum, { amount_minor }) => sum + amount_minor, minor)).toBe(0n);
  });

  it("cannot be below zero", () => {
    expect(adopted("-1.00").decision).toMatchObject({ ok: false, refusal: { code: "insufficient_credit" } });
  });
});
