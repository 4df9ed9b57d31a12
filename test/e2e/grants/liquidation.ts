import { expect } from "vitest";
import { pulses } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { someClient } from "../../support/stack/api-client.ts";
import { eventually } from "../../support/wait.ts";
import { put, quote, quoteSymbol, type StoryOptions } from "./stack.ts";

/** What is read of an answer. */
interface Answer {
  readonly id: string;
  readonly expected_next_seq: string;
  readonly data: readonly { readonly id: string; readonly payload: { readonly position_id: string } }[];
}

/** A linked account that falls to its stop-out level: its platform is asked to close, and its deals book the end. */
export async function tellOfLiquidation({ stack }: StoryOptions): Promise<void> {
  const { api } = stack;
  let calls = 0;
  const call = async (method: string, path: string, body?: object) => {
    calls += 1;
    const headers = { "Idempotency-Key": `liquidation-${calls}` };
    const answer = await api.call<Answer>(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  await quoteSymbol(stack);
  const named = { name: "mt5:liquidation", platform: "mt5", authoritative: "service" } as const;
  const source_id = (await call("POST", "/feed/sources", named)).id;
  const source = `/feed/sources/${source_id}`;
  const client = await call("POST", "/clients", someClient());
  const link = { platform: "mt5", platform_login: "7004", source_id, type: "demo", leverage: 100 };
  const { id: account_id } = await call("POST", "/accounts", { client_id: client.id, ...link });
  const send = async (...items: readonly object[]) => {
    const { expected_next_seq: first_seq } = await call("GET", source);
    const numbered = items.map((item, place) => ({ seq: String(BigInt(first_seq) + BigInt(place)), ...item }));
    await api.call("POST", `${source}/batches`, { body: { first_seq, items: numbered } });
  };
  const { platform_login } = link;
  const deal = { action: "open", platform_login, symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10010" };
  await send(
    { type: "balance_operation", data: { operation_id: "B-1", platform_login, amount: "2600.00", kind: "deposit" } },
    { type: "execution", data: { ...deal, deal_id: "D-1", position_id: "P-1" } },
    { type: "execution", data: { ...deal, deal_id: "D-2", position_id: "P-2" } },
  );
  const closed = new Set<string>();
  // Nothing is decided on a quote, or a platform, that was heard of more than a minute ago: on this clock, 100 ms.
  let falling = true;
  const { tenant_id } = stack;
  const feed = (async () => {
    while (falling) {
      await quote(stack, ["1.09100", "1.09110"]);
      const pulse = {
        tenant_id,
        name: named.name,
        authoritative: named.authoritative,
        heartbeat_at: new Date().toISOString(),
      };
      await put(stack, "volatile", itemOf(pulses, pulse));
    }
  })();
  const liquidation = async () => {
    const { data } = await call("POST", `${source}/commands/take`, {});
    for (const { id, payload } of data) {
      const { position_id } = payload;
      await call("POST", `${source}/commands/${id}/ack`, { attempt: 1, status: "done" });
      if (closed.has(position_id)) continue;
      closed.add(position_id);
      const close = { action: "close", deal_id: `C-${position_id}`, position_id, price: "1.09000", reason: "stop_out" };
      await send({ type: "execution", data: close });
    }
    const { text } = await api.call("GET", `/events?account_id=${account_id}`);
    return (closed.size > 0 && text.includes("stop.out")) || undefined;
  };
  try {
    await eventually(liquidation, 60_000);
  } finally {
    falling = false;
    await feed;
  }
}
