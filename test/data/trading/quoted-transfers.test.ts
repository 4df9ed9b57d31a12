import { afterEach, describe, expect, it, vi } from "vitest";
import { bridge } from "../../support/builders/bridge.ts";
import { examplePrices } from "../../support/builders/trading.ts";
import { putQuote, putQuotes } from "../../support/builders/trading-data.ts";
import { lambdaContext } from "../../support/emulator/request.ts";
import { api, broker, caller, floor, tenant, trader } from "./trading-cases.ts";

const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");

const { newSource, unusedLogin } = bridge(api, caller);
const start = Date.now() + 1000;

afterEach(() => {
  api.watched.interfere = () => undefined;
  vi.useRealTimers();
});

const call = (address: string, body: object) => api.call(caller, "POST", address, { body });

/**
 * A transfer at a firm quote to an account of a platform, 59 s after the price of a position of the first account. That
 * price is too old once the amount is held, so the debit waits.
 */
async function waiting() {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await putQuotes(api, tenant, examplePrices);
  const own = await trader("2000.00");
  const { id: source_id, path } = await newSource();
  const linked = { client_id: own.client_id, type: "demo", currency: "EUR", platform: "mt5", source_id };
  const to = await broker.account(undefined, { ...linked, platform_login: unusedLogin() });
  await floor.open(own.id, { symbol: "GBPUSD", side: "buy", lots: "0.10" });
  vi.setSystemTime(start + 59_000);
  await putQuote(api, tenant, "EURUSD", ["1.10000", "1.10010"]);
  const sides = { from_account_id: own.id, to_account_id: to.id, amount: "1000.00" };
  const quote_id = (await call("/transfer_quotes", sides)).body.id;
  api.watched.interfere = ({ operation }) => {
    if (operation === "TransactWriteItems") vi.setSystemTime(start + 60_500);
    return undefined;
  };
  const { body } = await call("/transactions/transfer", { ...sides, quote_id });
  api.watched.interfere = () => undefined;
  expect(body).toMatchObject({ status: "approved", transfer: { amount: "904.46" } });
  return { id: body.id as string, own, commands: `${path}/commands` };
}

/** The transfer after the sweep at a moment, with prices of then and another rate than the quote has. */
async function sweptAt(id: string, ms: number) {
  vi.setSystemTime(ms);
  await putQuotes(api, tenant, examplePrices);
  await putQuote(api, tenant, "EURUSD", ["1.30000", "1.30010"]);
  await sweepEvents({}, lambdaContext());
  return broker.get(`/transactions/${id}`);
}

describe("a transfer at a firm quote whose debit waits", () => {
  it("is debited at the rate of the quote within 30 seconds after it was asked for", async () => {
    const { id, own, commands } = await waiting();
    expect(await sweptAt(id, start + 89_000)).toMatchObject({ status: "processing", transfer: { amount: "904.46" } });
    expect(await broker.get(`/accounts/${own.id}/balance`)).toMatchObject({ balance: "1000.00", held: "0.00" });
    const [credit] = (await call(`${commands}/take`, {})).body.data;
    expect(credit.payload.amount).toBe("904.46");
    const ack = { attempt: 1, status: "done", operation_id: "B-1" };
    expect((await call(`${commands}/${credit.id}/ack`, ack)).status).toBe(200);
    expect(await broker.get(`/transactions/${id}`)).toMatchObject({ status: "completed" });
  });

  it("fails after that and frees what it held, so that no rate of days ago is paid", async () => {
    const { id, own } = await waiting();
    expect(await sweptAt(id, start + 2 * 86_400_000)).toMatchObject({
      status: "failed",
      status_reason: { code: "transfer_quote_invalid" },
      transfer: { status: "failed" },
    });
    expect(await broker.get(`/accounts/${own.id}/balance`)).toMatchObject({ balance: "2000.00", held: "0.00" });
    const { data } = await broker.get(`/accounts/${own.id}/ledger`);
    expect((data as { kind: string }[]).map(({ kind }) => kind)).toEqual(["deposit"]);
  });
});
