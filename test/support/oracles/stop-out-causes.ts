import { randomUUID } from "node:crypto";
import type { tradingFloor } from "../builders/trading-floor.ts";

/** Where a cause is played: the handlers inside the test process, or the running service. */
export interface CauseGround {
  /** Calls the API and returns the parsed body; throws unless the answer is 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the assertions, not by the compiler.
  readonly call: (method: string, path: string, body?: object) => Promise<any>;
  /** Writes a price of this moment that does not age; the stream of prices reports it. */
  readonly price: (symbol: string, price: readonly [bid: string, ask: string]) => Promise<void>;
  /** Lets a source have sent its last batch so many seconds ago. */
  readonly silence: (source: string, seconds: number) => Promise<void>;
  readonly floor: ReturnType<typeof tradingFloor>;
}

/** An account above its stop-out level, and what puts it below. */
interface Prepared {
  readonly account_id: string;
  readonly act: () => Promise<unknown>;
}

/** Something that puts an account below its stop-out level. */
export interface StopOutCause {
  readonly name: string;
  readonly prepare: (ground: CauseGround) => Promise<Prepared>;
}

async function newAccount({ call }: CauseGround, amounts: readonly string[], more: object = {}) {
  const email = `${randomUUID()}@example.com`;
  const client = await call("POST", "/clients", { email, first_name: "Ana", last_name: "Silva" });
  const body = { client_id: client.id, type: "demo", leverage: 100, ...more };
  const account = await call("POST", "/accounts", body);
  const deposits: string[] = [];
  for (const amount of amounts) {
    const deposit = { account_id: account.id, amount, status: "completed" };
    deposits.push((await call("POST", "/transactions/deposit", deposit)).id);
  }
  return { id: account.id as string, client_id: client.id as string, deposits };
}

async function opened({ floor }: CauseGround, id: string, symbol: string, side: "buy" | "sell" = "buy") {
  const outcome = await floor.open(id, { symbol, side, lots: "1.00" });
  if (outcome.kind !== "done") throw new Error(`The trade was not opened: ${JSON.stringify(outcome)}`);
}

/** An account of a platform whose positions this service closes at the stop-out level, and its feed. */
async function platformAccount(ground: CauseGround, amount: string) {
  const name = `mt5:${randomUUID().slice(0, 8)}`;
  const login = randomUUID();
  const source = await ground.call("POST", "/feed/sources", { name, platform: "mt5", authoritative: "service" });
  const account = await newAccount(ground, [amount], { platform: "mt5", platform_login: login });
  let next = 1;
  const send = async (...items: { readonly type: string; readonly data: object }[]) => {
    const numbered = items.map((item, place) => ({ seq: String(next + place), ...item }));
    const path = `/feed/sources/${source.id}/batches`;
    const receipt = await ground.call("POST", path, { first_seq: String(next), items: numbered });
    for (const result of receipt.results) if (result.status !== "applied") throw new Error(JSON.stringify(result));
    next += items.length;
  };
  const deal = (data: object) => ({ type: "execution", data: { deal_id: randomUUID(), ...data } });
  const position = randomUUID();
  const buy = (symbol: string, price: string, more: object = {}) =>
    deal({
      ...{ action: "open", platform_login: login, position_id: position },
      ...{ symbol, side: "buy", lots: "1.00", price },
      ...more,
    });
  const close = (data: object) => deal({ action: "close", position_id: position, ...data });
  return { id: account.id, name, login, position, send, buy, close };
}

/**
 * Everything that puts an account below its stop-out level. The tests are made from this list: a new cause is one row.
 * An account with 1,650.00 that buys one lot of EURUSD at 1.10010 stands at 149 %, and at 50 % with 550.05.
 */
export const stopOutCauses: readonly StopOutCause[] = [
  {
    name: "a leverage that is lowered with force",
    prepare: async (ground) => {
      const { id } = await newAccount(ground, ["1650.00"]);
      await opened(ground, id, "EURUSD");
      return {
        account_id: id,
        act: () => ground.call("PATCH", `/accounts/${id}`, { leverage: 20, force: true }),
      };
    },
  },
  {
    name: "a stop-out level that is raised",
    prepare: async (ground) => {
      const { id } = await newAccount(ground, ["1650.00"]);
      await opened(ground, id, "EURUSD");
      const levels = { stop_out_level: "150.00", margin_call_level: "160.00", margin_rearm_level: "170.00" };
      return { account_id: id, act: () => ground.call("PATCH", `/accounts/${id}`, levels) };
    },
  },
  {
    name: "a deposit that is returned with force",
    prepare: async (ground) => {
      const { id, deposits } = await newAccount(ground, ["500.00", "1200.00"]);
      await opened(ground, id, "EURUSD");
      const body = { status: "returned", force: true, reason: { code: "by_test" } };
      return { account_id: id, act: () => ground.call("PATCH", `/transactions/${deposits[1]}`, body) };
    },
  },
  {
    name: "a withdrawal that is paid out",
    prepare: async (ground) => {
      const levels = { stop_out_level: "120.00", margin_call_level: "130.00", margin_rearm_level: "140.00" };
      const { id } = await newAccount(ground, ["1650.00"], levels);
      await opened(ground, id, "EURUSD");
      const held = await ground.call("POST", "/transactions/withdrawal", { account_id: id, amount: "500.00" });
      const body = { status: "completed", reason: { code: "by_test" } };
      return { account_id: id, act: () => ground.call("PATCH", `/transactions/${held.id}`, body) };
    },
  },
  {
    name: "the closing of one leg of a hedge",
    prepare: async (ground) => {
      const { id } = await newAccount(ground, ["2500.00"], { margin_calculation: "net" });
      await opened(ground, id, "EURUSD", "buy");
      await opened(ground, id, "EURUSD", "sell");
      const held = await ground.call("POST", "/transactions/withdrawal", { account_id: id, amount: "2100.00" });
      await ground.call("PATCH", `/transactions/${held.id}`, { status: "completed", reason: { code: "by_test" } });
      return { account_id: id, act: () => ground.floor.close(id, 1) };
    },
  },
  {
    name: "an opening deal of a platform",
    prepare: async (ground) => {
      const { id, send, buy } = await platformAccount(ground, "700.00");
      // A source that is heard of for the first time would wake the account too.
      await send();
      return { account_id: id, act: () => send(buy("EURUSD", "1.10010", { commission: "-200.00" })) };
    },
  },
  {
    name: "a closing deal of a platform that loses",
    prepare: async (ground) => {
      const { id, send, buy, close } = await platformAccount(ground, "1650.00");
      await send(buy("EURUSD", "1.10010"));
      return {
        account_id: id,
        act: () => send(close({ lots: "0.50", price: "1.07210", profit: "-1400.00", commission: "0", swap: "0" })),
      };
    },
  },
  {
    name: "a swap of a platform",
    prepare: async (ground) => {
      const { id, send, buy, position } = await platformAccount(ground, "1650.00");
      await send(buy("EURUSD", "1.10010"));
      const data = { position_id: position, amount: "-1200.00", for_date: "2026-11-20" };
      return { account_id: id, act: () => send({ type: "swap", data }) };
    },
  },
  {
    name: "a withdrawal of a platform",
    prepare: async (ground) => {
      const { id, login, send, buy } = await platformAccount(ground, "1650.00");
      await send(buy("EURUSD", "1.10010"));
      const data = { operation_id: randomUUID(), platform_login: login, amount: "1200.00", kind: "withdrawal" };
      return { account_id: id, act: () => send({ type: "balance_operation", data }) };
    },
  },
  {
    name: "a deal on the account of a suspended client",
    prepare: async (ground) => {
      const { id, send, buy, close } = await platformAccount(ground, "1650.00");
      await send(buy("EURUSD", "1.10010"));
      const { client_id } = await ground.call("GET", `/accounts/${id}`);
      await ground.call("PATCH", `/clients/${client_id}`, { status: "suspended" });
      return {
        account_id: id,
        act: () => send(close({ lots: "0.50", price: "1.07210", profit: "-1400.00", commission: "0", swap: "0" })),
      };
    },
  },
  {
    name: "a price",
    prepare: async (ground) => {
      const { id } = await newAccount(ground, ["1000.00"]);
      await ground.price("NZDUSD", ["0.60490", "0.60510"]);
      await opened(ground, id, "NZDUSD");
      return { account_id: id, act: () => ground.price("NZDUSD", ["0.59600", "0.59620"]) };
    },
  },
  {
    name: "a price that converts",
    prepare: async (ground) => {
      const { id } = await newAccount(ground, ["2300.00"]);
      await ground.price("USDJPY", ["149.990", "150.010"]);
      await ground.price("GBPJPY", ["191.230", "191.270"]);
      await opened(ground, id, "GBPJPY");
      await ground.price("GBPJPY", ["189.330", "189.370"]);
      await ground.floor.evaluate(id);
      return { account_id: id, act: () => ground.price("USDJPY", ["100.000", "100.020"]) };
    },
  },
  {
    name: "a source that is heard of again",
    prepare: async (ground) => {
      const { id, name, send, buy } = await platformAccount(ground, "1650.00");
      await ground.price("EURGBP", ["0.86250", "0.86270"]);
      await send(buy("EURGBP", "0.86270"));
      await ground.silence(name, 90);
      await ground.price("EURGBP", ["0.84900", "0.84920"]);
      await ground.floor.evaluate(id);
      return { account_id: id, act: () => send() };
    },
  },
];
