import { amendClient, clientBody } from "../../shared/domain/accounts/client.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateClient } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /clients/{id}` */
export const handler = await command(
  updateClient,
  async ({ path, body, load, context, expectVersion }) => {
    const { client } = await load({ client: ref.client(path.id) });
    if (client === undefined) return notFound();
    expectVersion(client.version);
    return amendClient(client, body, context);
  },
  clientBody,
);
