import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import { quotes, symbols } from "../../../shared/table/entities.ts";
import { bridge, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import type { TestApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";
import type { RowCost } from "../workload.ts";

/** Cost of a commit of trading or a batch; `per` is how many items it has. */
export interface TradingCost {
  readonly name: string;
  readonly kind: "commit" | "batch";
  readonly cost: RowCost;
  readonly per: number;
}

/**
 * Opens the first, fifth and twentieth symbol of an account, completes a deposit on it, and sends batches. The account
 * has so little money that a price of each symbol alone can bring it to its margin call.
 */
export async function tradingCosts(api: TestApi): Promise<readonly TradingCost[]> {
  const as = newCaller();
  const names = await putManySymbols(api, as, 20);
  const broker = brokerage(api, as);
  const account = await broker.account("1000.00");
  const found: TradingCost[] = [];
  const measured = async (name: string, kind: TradingCost["kind"], per: number, work: () => Promise<unknown>) => {
    found.push({ name, kind, per, cost: await costOf(api, work) });
  };
  for (const [at, symbol] of names.entries()) {
    const body = { account_id: account.id, symbol, side: "buy", lots: "0.01" };
    const open = () => posted(api, as, "/sandbox/trades", body);
    if ([0, 4, 19].includes(at)) await measured(`open a trade in symbol ${at + 1} of an account`, "commit", 1, open);
    else await open();
    if (![0, 4, 19].includes(at)) continue;
    const { id } = await broker.deposit(account, "1.00");
    const complete = () => broker.move({ id }, "completed");
    await measured(`complete a deposit on an account with ${at + 1} symbols`, "commit", 1, complete);
  }
  const items = 20;
  for (const accounts of [20, 1]) {
    const { source, batch } = await feed(api, accounts, items);
    const where = accounts === 1 ? "one account" : `${accounts} accounts`;
    const name = `an item of a batch of ${items} executions on ${where}`;
    await measured(name, "batch", items, () => source.send(...batch));
  }
  return found;
}

/** A source whose batch opens positions on so many accounts in turn. */
async function feed(api: TestApi, accounts: number, items: number) {
  const as = newCaller();
  await putMarket(api, as.tenant_id);
  const platform = bridge(api, as);
  const logins: string[] = [];
  while (logins.length < accounts) logins.push((await platform.trader("1000.00")).login);
  const source = await platform.newSource({ authoritative: "platform" });
  const more = { lots: "0.01" };
  const batch = Array.from({ length: items }, (_, at) =>
    opening(logins[at % logins.length] ?? "", `D-${at}`, `P-${at}`, more),
  );
  // The first request loads the handler.
  await source.send(opening(logins[0] ?? "", "D-first", "P-first", more));
  return { source, batch };
}

/** So many symbols of one currency pair, each with its own terms and price. */
export async function putManySymbols(
  api: TestApi,
  { tenant_id }: TestCaller,
  count: number,
): Promise<readonly string[]> {
  const now = new Date().toISOString();
  const [terms] = seedSymbols(tenant_id, now).filter(({ symbol }) => symbol === "EURUSD");
  const [quote] = seedQuotes(now).filter(({ symbol }) => symbol === "EURUSD");
  if (terms === undefined || quote === undefined) throw new Error("The sandbox has no EURUSD.");
  const names = Array.from({ length: count }, (_, at) => (at === 0 ? "EURUSD" : `EURUSD.${at}`));
  for (const symbol of names) {
    await putItem(api, symbols, { ...terms, symbol });
    await putItem(api, quotes, { ...quote, symbol, tenant_id });
  }
  return names;
}

async function posted(api: TestApi, as: TestCaller, address: string, body: object): Promise<void> {
  const { status, text } = await api.call(as, "POST", address, { body });
  if (status >= 300) throw new Error(`${address}: ${status} ${text}`);
}

async function costOf(api: TestApi, work: () => Promise<unknown>): Promise<RowCost> {
  api.watched.takeCalls();
  await work();
  const calls = api.watched.takeCalls();
  const reads = calls.filter(({ operation }) => /^(?:BatchGetItem|Query|GetItem)$/.test(operation));
  const writes = calls.filter((each) => !reads.includes(each));
  return { calls: calls.length, read_units: unitsOf(reads), write_units: unitsOf(writes) };
}
