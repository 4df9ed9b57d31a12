import { seedQuotes, seedSymbols } from "../../shared/domain/sandbox/seed.ts";
import { quotes, symbols } from "../../shared/table/entities.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { putItem } from "../support/builders/trading-data.ts";
import type { TestApi } from "../support/emulator/api.ts";
import { newCaller } from "../support/emulator/request.ts";
import type { Asked } from "./workload.ts";

const order = { symbol: "EURUSD", side: "buy", type: "limit", lots: "0.10", price: "1.00000" };
const trade = { symbol: "EURUSD", side: "buy", lots: "0.10" };
const endpoint = { url: "https://hooks.example.com/broker", event_types: ["*"] };

/** A brokerage of its own for each request, as a new user of the sandbox has it: a market, a client, an account. */
async function newBrokerage(api: TestApi) {
  const as = newCaller();
  const { tenant_id } = as;
  const now = new Date().toISOString();
  for (const symbol of seedSymbols(tenant_id, now)) await putItem(api, symbols, symbol);
  for (const quote of seedQuotes(now)) await putItem(api, quotes, { ...quote, tenant_id });
  const broker = brokerage(api, as);
  const account = await broker.account("1000.00");
  const post = async (address: string, body?: object) => {
    const { status, text, body: made } = await api.call(as, "POST", address, body === undefined ? {} : { body });
    if (status >= 300) throw new Error(`${address}: ${status} ${text}`);
    return made;
  };
  return { as, broker, account, post };
}

/**
 * Requests of the sandbox, and of what else needs its market or a source, by the id of the row. The answer of a drive
 * waits for the publisher of events, which the bench does not run, so its reads are the most that it can have.
 */
export function sandboxWork(api: TestApi): Readonly<Record<string, () => Promise<Asked>>> {
  const own = () => newBrokerage(api);
  const transaction = (action: string, moved?: string) => async () => {
    const { as, broker, account } = await own();
    const { id } = await broker.deposit(account, "1.00");
    if (moved !== undefined) await broker.move({ id }, moved);
    return { as, address: `/sandbox/transactions/${id}/${action}` };
  };
  const inAccount = (path: string, terms: object) => async () => {
    const { as, account } = await own();
    return { as, address: `/sandbox/${path}`, parts: { body: { account_id: account.id, ...terms } } };
  };
  const rejected = async () => {
    const { as, post } = await own();
    const { id } = await post("/feed/sources", { name: "mt5:bench", platform: "mt5", authoritative: "platform" });
    const data = { position_id: "P-41", amount: "-6.20", for_date: "2026-11-20" };
    await post(`/feed/sources/${id}/batches`, { first_seq: "1", items: [{ seq: "1", type: "swap", data }] });
    return { as, reject: `/feed/sources/${id}/rejects/1` };
  };
  return {
    sandbox_verify_client: async () => {
      const { as, broker } = await own();
      return { as, address: `/sandbox/clients/${(await broker.client()).id}/verify` };
    },
    sandbox_reject_client: async () => {
      const { as, broker, post } = await own();
      const { id } = await broker.client();
      await post(`/sandbox/clients/${id}/verify`);
      return { as, address: `/sandbox/clients/${id}/reject` };
    },
    sandbox_settle_transaction: transaction("settle"),
    sandbox_fail_transaction: transaction("fail"),
    sandbox_return_transaction: transaction("return", "completed"),
    sandbox_trigger_event: async () => {
      const { as, post } = await own();
      const { id } = await post("/webhook_endpoints", endpoint);
      return { as, address: "/sandbox/events/trigger", parts: { body: { type: "stop.out", endpoint_id: id } } };
    },
    reset_sandbox: async () => ({ as: (await own()).as, address: "/sandbox/reset" }),
    get_sandbox_reset: async () => {
      const { as, post } = await own();
      await post("/sandbox/reset");
      return { as, address: "/sandbox/reset" };
    },
    set_sandbox_prices: async () => {
      const { as } = await own();
      return { as, address: "/sandbox/prices", parts: { body: { prices: [{ symbol: "EURUSD", bid: "1.08500" }] } } };
    },
    open_sandbox_trade: inAccount("trades", trade),
    close_sandbox_trade: async () => {
      const { as, account, post } = await own();
      const { id } = await post("/sandbox/trades", { account_id: account.id, ...trade });
      return { as, address: `/sandbox/trades/${id}/close`, parts: { body: { lots: "0.05" } } };
    },
    place_sandbox_order: inAccount("orders", order),
    cancel_sandbox_order: async () => {
      const { as, account, post } = await own();
      const { id } = await post("/sandbox/orders", { account_id: account.id, ...order });
      return { as, address: `/sandbox/orders/${id}/cancel` };
    },
    drive_sandbox_account: async () => {
      const { as, account, post } = await own();
      await post("/sandbox/trades", { account_id: account.id, ...trade, lots: "0.20" });
      const body = { margin_level: "80.00", symbol: "EURUSD" };
      return { as, address: `/sandbox/accounts/${account.id}/drive`, parts: { body } };
    },
    get_order: async () => {
      const { as, account, post } = await own();
      return { as, address: `/orders/${(await post("/sandbox/orders", { account_id: account.id, ...order })).id}` };
    },
    send_feed_quotes: async () => {
      const { as, post } = await own();
      const { id } = await post("/feed/sources", { name: "mt5:bench", platform: "mt5", authoritative: "platform" });
      const quote = { symbol: "EURUSD", bid: "1.10000", ask: "1.10010", time: new Date().toISOString(), seq: "1" };
      return { as, address: `/feed/sources/${id}/quotes`, parts: { body: { quotes: [quote] } } };
    },
    begin_feed_epoch: async () => {
      const { as, post } = await own();
      const { id } = await post("/feed/sources", { name: "mt5:bench", platform: "mt5", authoritative: "platform" });
      return { as, address: `/feed/sources/${id}/epochs` };
    },
    retry_feed_reject: async () => {
      const { as, reject } = await rejected();
      return { as, address: `${reject}/retry` };
    },
    dismiss_feed_reject: async () => {
      const { as, reject } = await rejected();
      return { as, address: `${reject}/dismiss`, parts: { body: { reason: { code: "wrong_price" } } } };
    },
  };
}
