import { expect } from "vitest";
import type { ApiClient } from "../../support/stack/api-client.ts";
import { someClient } from "../../support/stack/api-client.ts";
import { floorOf } from "../../support/stack/cloud-floor.ts";
import { eventually } from "../../support/wait.ts";
import { quoteSymbol, type StoryOptions, withPlacing } from "./stack.ts";

/** Members that are read of an answer. */
interface Answer {
  readonly id: string;
  readonly expected_next_seq: string;
  readonly data: readonly { readonly id: string; readonly kind: string }[];
}

/**
 * A platform whose books differ: in a balance, which the platform is asked for until it is another one that two
 * applications adopt, and in an account that only the platform has, which becomes one here.
 */
export async function tellOfDrift({ stack, saboteur }: StoryOptions): Promise<void> {
  const { api, tenant_id } = stack;
  let calls = 0;
  const call = async (method: string, path: string, body?: object, by: ApiClient = api) => {
    calls += 1;
    const headers: Record<string, string> = path.endsWith("/snapshots") ? {} : { "Idempotency-Key": `drift-${calls}` };
    const answer = await by.call<Answer>(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  await tellOfLoss(api, call);
  const source_id = (await call("POST", "/feed/sources", { name: "mt5:drift", platform: "mt5" })).id;
  const source = `/feed/sources/${source_id}`;
  const client = await call("POST", "/clients", someClient());
  const link = { platform: "mt5", source_id, type: "demo", leverage: 100 };
  const { id: account_id } = await call("POST", "/accounts", { client_id: client.id, platform_login: "7003", ...link });
  const money = { operation_id: "B-1", platform_login: "7003", amount: "1000.00", kind: "deposit" };
  const first = { seq: "1", type: "balance_operation", data: money };
  const sent = await api.call("POST", `${source}/batches`, { body: { first_seq: "1", items: [first] } });
  expect(sent.status, sent.text).toBe(200);
  await quoteSymbol(stack);
  const floor = await floorOf(stack);
  expect((await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" })).kind).toBe("done");
  const snapshot = (snapshot_id: string, balance: string, others: readonly object[] = []) => {
    const accounts = [{ platform_login: "7003", balance, credit: "0", positions: [] }, ...others];
    const whole = { snapshot_id, taken_at: new Date().toISOString(), as_of_seq: "1", part: 1, parts: 1 };
    return call("POST", `${source}/snapshots`, { ...whole, complete: true, accounts });
  };
  const find = (wanted: string) =>
    eventually(async () => (await call("GET", "/drift?status=open")).data.find(({ kind }) => kind === wanted));
  const resolve = (id: string, action: string, by: ApiClient = api, more: object = {}) =>
    call("POST", `/drift/${id}/resolve`, { action, reason: { code: "story" }, ...more }, by);
  await snapshot("S-1", "1010.00");
  const drift = await find("balance");
  await resolve(drift.id, "command_platform");
  const position = { position_id: "P-9", symbol: "EURUSD", side: "buy", lots: "0.01", open_price: "1.10010" };
  await snapshot("S-2", "1012.50", [
    { platform_login: "7004", balance: "5.00", credit: "1.00", positions: [position] },
  ]);
  await resolve(drift.id, "adopt_platform");
  const other = await stack.newApplication({ tenant_id });
  await withPlacing({ stack, saboteur, account_id }, "resolve-drift", () =>
    resolve(drift.id, "adopt_platform", other.api),
  );
  const own = { client_id: client.id, type: "demo", leverage: 100 };
  const { id: adopted } = await call("POST", "/accounts", own);
  const unknown = await find("account_unknown");
  for (const by of [api, other.api]) await resolve(unknown.id, "adopt_platform", by, { account_id: adopted });
}

/** A loss beyond the money of an account: the platform is asked to follow its correction, which no snapshot misses. */
async function tellOfLoss(api: ApiClient, call: (method: string, path: string, body?: object) => Promise<Answer>) {
  const named = { name: "mt5:loss", platform: "mt5", authoritative: "service" };
  const source_id = (await call("POST", "/feed/sources", named)).id;
  const source = `/feed/sources/${source_id}`;
  const client = await call("POST", "/clients", someClient());
  const protection = { negative_balance_protection: true, type: "demo", leverage: 100 };
  const link = { client_id: client.id, platform: "mt5", platform_login: "7005", source_id };
  await call("POST", "/accounts", { ...link, ...protection });
  const deal = { deal_id: "D-1", position_id: "P-5", price: "1.10010" };
  const opened = { action: "open", platform_login: "7005", ...deal, symbol: "EURUSD", side: "buy", lots: "0.01" };
  const closed = { action: "close", ...deal, deal_id: "D-2", profit: "-40.00" };
  const items = [opened, closed].map((data, place) => ({ seq: String(place + 1), type: "execution", data }));
  const sent = await api.call("POST", `${source}/batches`, { body: { first_seq: "1", items } });
  expect(sent.status, sent.text).toBe(200);
  const [command] = (await call("POST", `${source}/commands/take`, {})).data;
  const accounts = [{ platform_login: "7005", balance: "-40.00", credit: "0", positions: [] }];
  const whole = { snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: "2", part: 1, parts: 1 };
  await call("POST", `${source}/snapshots`, { ...whole, complete: true, accounts });
  await call("POST", `${source}/commands/${command?.id}/ack`, { attempt: 1, status: "failed" });
}
