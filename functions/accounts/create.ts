import { accountBody } from "../../shared/domain/accounts/account.ts";
import { openAccount } from "../../shared/domain/accounts/open-account.ts";
import { refuseField } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { createAccount } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /accounts` */
export const handler = await command(
  createAccount,
  async ({ body, load, context }) => {
    const { client, tenant, source } = await load({
      client: ref.client(body.client_id),
      tenant: ref.tenant(),
      ...(body.source_id ? { source: tradingRef.feedSource(body.source_id) } : {}),
    });
    if (!client || !tenant) return refuseField("client_not_found", "client_id", "The client does not exist.");
    return openAccount(client, tenant, body, context, source);
  },
  ({ account, balance }) => accountBody(account, balance),
);
