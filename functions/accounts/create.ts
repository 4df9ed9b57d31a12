import { ref } from "../../shared/data/store.ts";
import { accountBody, openAccount } from "../../shared/domain/account.ts";
import { refuseField } from "../../shared/domain/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { createAccount } from "../../shared/routes/accounts.ts";

/** `POST /accounts` */
export const handler = command(
  createAccount,
  async ({ body, load, context }) => {
    const { client } = await load({ client: ref.client(body.client_id) });
    if (client === undefined) return refuseField("client_not_found", "client_id", "The client does not exist.");
    return openAccount(client, body, context);
  },
  ({ account, balance }) => accountBody(account, balance),
);
