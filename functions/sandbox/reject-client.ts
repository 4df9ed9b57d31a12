import { clientBody } from "../../shared/domain/accounts/client.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { rejectClient as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { rejectClient } from "../../shared/routes/sandbox.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /sandbox/clients/{id}/reject` */
export const handler = await command(
  rejectClient,
  async ({ path, load, context }) => {
    const { client } = await load({ client: ref.client(path.id) });
    if (client === undefined) return notFound();
    return decide(client, context);
  },
  clientBody,
);
