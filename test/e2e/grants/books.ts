import { newId } from "../../../shared/runtime/ids.ts";
import { ledgers } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { needed, put, type StoryOptions } from "./stack.ts";

/** A reconciliation that misses the event of an entry, a change of the days' rule, and the erasure of a client. */
export async function tellOfBooks({ stack }: Pick<StoryOptions, "stack">): Promise<void> {
  const { api, tenant_id } = await stack.newApplication();
  const { account_id } = await fundedAccount(api, "10.00");
  const created_at = new Date(Date.now() - 3_600_000).toISOString();
  const entry = { id: newId("led", Date.parse(created_at)), tenant_id, account_id, created_at };
  const money = { amount_minor: 1, currency: "USD", balance_before_minor: 1000, balance_after_minor: 1001 };
  await put(
    stack,
    "main",
    itemOf(ledgers, { ...entry, ...money, kind: "deposit", balance_version: 2, transaction_id: null } as never),
  );
  await stack.cloud.invoke("brokerage-sandbox-reconcile-books", { action: "start" });
  // A change of the rule stores the days that have begun.
  await api.call("PATCH", "/settings", { body: { day_end: { time: "17:00", zone: "America/New_York" } } });
  // The erasure of a closed client reads its reviews.
  const { body } = await api.call<{ id: string }>("POST", "/clients", { body: someClient() });
  await api.call("PATCH", `/clients/${body.id}`, { body: { status: "closed" } });
  const erasure = { action: "erase_client", tenant_id, client_id: body.id };
  await stack.cloud.invoke("brokerage-sandbox-provision", erasure);
  await needed(stack, "reconcile-books QueryDue", "update-settings Query", "provision Query");
}
