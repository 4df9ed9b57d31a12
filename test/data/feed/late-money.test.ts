import { afterAll, beforeAll, expect, it } from "vitest";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Ledger } from "../../../shared/domain/records/ledger.ts";
import { ledgers } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putItems, writeOf } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

const { sinceDebit, sinceMoment } = await import("../../../shared/money/since-debit.ts");

const caller = newCaller();
const { tenant_id } = caller;
const count = 1000;

/** When the entry of this number was booked. */
const timeOf = (seq: number) => new Date(Date.UTC(2026, 0, 1) + seq * 60_000).toISOString();

let balance: Balance;

/** An account with so many entries whose loss was corrected by this one. */
const corrected = (below_zero_seq: number): Balance => ({ ...balance, seq: count, below_zero_seq });

beforeAll(async () => {
  const { id: account_id } = await brokerage(api, caller).account();
  const entries = Array.from({ length: count }, (_, place): Ledger => {
    const seq = place + 1;
    return {
      ...{ id: `led_${String(seq).padStart(26, "0")}`, tenant_id, account_id, transaction_id: null },
      ...{ kind: "swap", amount_minor: 1n, currency: "USD", created_at: timeOf(seq), balance_version: seq },
      ...{ balance_before_minor: BigInt(place), balance_after_minor: BigInt(seq) },
    };
  });
  await putItems(
    api,
    entries.map((entry) => writeOf(api, ledgers, entry)),
  );
  balance = { tenant_id, account_id } as Balance;
});

async function unitsFor<T>(read: () => Promise<T>) {
  api.watched.takeCalls();
  const found = await read();
  return { found, units: unitsOf(api.watched.takeCalls()) };
}

it("money that a platform moved after the last correction costs one entry of the ledger", async () => {
  const { found, units } = await unitsFor(() => sinceMoment(corrected(20), timeOf(count - 1)));
  expect([found, units]).toEqual([undefined, 1]);
});

it("money from before any entry costs the ledger a few times, and has its place before the first one", async () => {
  const { found, units } = await unitsFor(() => sinceMoment(corrected(count - 10), timeOf(0)));
  expect([found?.seq, found?.entries.length]).toEqual([1, count]);
  const debit = { status: "processing", debited_seq: 1 } as Parameters<typeof sinceDebit>[0];
  const whole = await unitsFor(() => sinceDebit(debit, corrected(count - 10)));
  expect(whole.found.since_debit).toHaveLength(count);
  expect(units).toBeLessThan(3 * whole.units);
});

it.each([1, 90, 99, 100, 101, 110])(
  "money from before %i entries has its place before the first of them",
  async (left) => {
    const found = await sinceMoment(corrected(count), timeOf(count - left));
    expect([found?.seq, found?.entries.length]).toEqual([count - left + 1, left]);
  },
);
