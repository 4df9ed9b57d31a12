import { expect } from "vitest";
import type { TestApi } from "../emulator/api.ts";
import type { TestCaller } from "../emulator/request.ts";
import { bridge, moneyMoved } from "./bridge.ts";
import { brokerage } from "./brokerage.ts";

interface Theirs {
  readonly platform_login: string;
  readonly balance: string;
  readonly credit: string;
  readonly positions: readonly object[];
}

/** How many accounts of a part came to what. */
export const counts = (equal: number, moved_on: number, drifting: number) => ({
  ...{ compared: equal + moved_on + drifting, equal, moved_on, drifting },
});
/** A position of a snapshot. */
export const position = (position_id: string, fields: object = {}) => ({
  ...{ position_id, symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" },
  ...fields,
});

/** The reason of every resolution. */
export const reason = { code: "checked" };

/** Sends snapshots of sources of a tenant, and resolves the drifts that they find. */
export function snapshots(api: TestApi, caller: TestCaller) {
  const broker = brokerage(api, caller);
  const { newSource, unusedLogin } = bridge(api, caller);
  type By = typeof caller;
  const call = (method: string, address: string, body?: object, by: By = caller) =>
    api.call(by, method, address, body === undefined ? {} : { body });

  /** A source with an account that has 1000.00 on both sides, and what its bridge says of it. */
  async function linked(more: object = {}) {
    const source = await newSource();
    const login = unusedLogin();
    const link = { platform: "mt5", platform_login: login, source_id: source.id };
    const account = (await broker.account(undefined, { type: "demo", leverage: 100, ...link, ...more })) as {
      id: string;
    };
    await source.send(moneyMoved(login, "B-0", "deposit", "1000.00"));
    const theirs = (fields: Partial<Theirs> = {}): Theirs => ({
      ...{ platform_login: login, balance: "1000.00", credit: "0.00", positions: [] },
      ...fields,
    });
    let taken = 0;
    const post = async (fields: object, by: By = caller) => {
      taken += 1;
      const seq = String(BigInt((await source.get()).expected_next_seq) - 1n);
      const whole = { snapshot_id: `S-${taken}`, taken_at: new Date().toISOString(), as_of_seq: seq };
      const body = { ...whole, part: 1, parts: 1, complete: false, accounts: [theirs()], ...fields };
      return { body, answer: await call("POST", `${source.path}/snapshots`, body, by) };
    };
    return {
      ...{ source, login, account, theirs, post },
      /** Sends a snapshot of one part as of now; returns its result. */
      snapshot: async (fields: object = {}) => {
        const { answer } = await post(fields);
        expect(answer.status, answer.text).toBe(200);
        return answer.body;
      },
      drifts: async (query = "") => (await call("GET", `/drift?source_id=${source.id}${query}`)).body.data,
      balance: async () => (await broker.get(`/accounts/${account.id}/balance`)).balance,
    };
  }

  const resolve = (id: string, action: string, by: By = caller) =>
    call("POST", `/drift/${id}/resolve`, { action, reason }, by);

  return { call, linked, resolve, unusedLogin };
}
