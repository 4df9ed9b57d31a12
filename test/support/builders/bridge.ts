import type { TestApi } from "../emulator/api.ts";
import type { TestCaller } from "../emulator/request.ts";
import { brokerage } from "./brokerage.ts";

/** An item as a bridge sends it, without its number. */
export interface BridgeItem {
  readonly type: string;
  readonly data: unknown;
  readonly at?: string;
}

/** A deal that opens one lot of EURUSD. */
export const opening = (login: string, deal: string, position: string, more: object = {}) => ({
  type: "execution",
  at: "2026-11-21T06:30:00.120Z",
  data: {
    ...{ action: "open", platform_login: login, deal_id: deal, position_id: position },
    ...{ symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10010", commission: "-3.50" },
    ...more,
  },
});

/** A deal that closes a position. */
export const closing = (deal: string, position: string, more: object = {}) => ({
  type: "execution",
  data: { action: "close", deal_id: deal, position_id: position, price: "1.10350", ...more },
});

/** A deal that a platform takes back. */
export const reversal = (platform_login: string, reversal_id: string, deal_id: string) => ({
  type: "deal_reversal",
  data: { reversal_id, platform_login, deal_id },
});

/** Money that a platform moved. */
export const moneyMoved = (login: string, operation_id: string, kind: string, amount: string, more: object = {}) => ({
  type: "balance_operation",
  data: { operation_id, platform_login: login, amount, kind, ...more },
});

/** Bridges of a tenant with the accounts that they tell of, through the API. */
export function bridge(api: TestApi, caller: TestCaller) {
  const broker = brokerage(api, caller);
  const call = (method: string, address: string, body?: unknown) =>
    api.call(caller, method, address, body === undefined ? {} : { body });
  let names = 0;
  let logins = 50_000_000;
  const unusedLogin = () => {
    logins += 1;
    return String(logins);
  };
  return {
    /** A login of the platform that no account has yet. */
    unusedLogin,
    /** A source of its own, with what it sends. */
    newSource: async (more: object = {}) => {
      names += 1;
      const answer = await call("POST", "/feed/sources", { name: `mt5:test-${names}`, platform: "mt5", ...more });
      if (answer.status !== 201) throw new Error(answer.text);
      const path = `/feed/sources/${answer.body.id}`;
      let next = BigInt(answer.body.expected_next_seq);
      return {
        path,
        id: answer.body.id as string,
        name: answer.body.name as string,
        get: async () => (await call("GET", path)).body,
        raw: (body: unknown) => call("POST", `${path}/batches`, body),
        /** Sends items with the next numbers; returns what became of them. */
        send: async (...items: BridgeItem[]) => {
          const first = next;
          const body = {
            first_seq: String(first),
            items: items.map((item, place) => ({ seq: String(first + BigInt(place)), ...item })),
          };
          const sent = await call("POST", `${path}/batches`, body);
          if (sent.status !== 200) throw new Error(sent.text);
          next = BigInt(sent.body.expected_next_seq);
          return sent.body.results;
        },
        rejects: async (query = "") => (await call("GET", `${path}/rejects${query}`)).body.data,
        retry: (seq: string, body?: object) => call("POST", `${path}/rejects/${seq}/retry`, body),
      };
    },
    /** An account that a platform knows by a login, with a completed deposit unless it is null. */
    trader: async (amount: string | null = "10000.00", more: object = {}) => {
      const login = unusedLogin();
      const terms = { type: "demo", leverage: 100, platform: "mt5", platform_login: login };
      const account = await broker.account(amount ?? undefined, { ...terms, ...more });
      return { ...account, login } as { id: string; client_id: string; login: string };
    },
  };
}
