import { clientBody } from "../../shared/domain/accounts/client.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { verifyClient as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { verifyClient } from "../../shared/routes/sandbox.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /sandbox/clients/{id}/verify` */
export const handler = await command(
  verifyClient,
  async ({ path, load, context }) => {
    const { client } = await load({ client: ref.client(path.id) });
    if (client === undefined) return notFound();
    return decide(client, context);
  },
  clientBody,
);
