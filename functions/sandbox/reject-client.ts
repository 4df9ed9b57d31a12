import { clientBody } from "../../shared/domain/client.ts";
import { refuse } from "../../shared/domain/decision.ts";
import { rejectClient as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { rejectClient } from "../../shared/routes/sandbox.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /sandbox/clients/{id}/reject` */
export const handler = await command(
  rejectClient,
  async ({ path, load, context }) => {
    const { client } = await load({ client: ref.client(path["id"] ?? "") });
    if (client === undefined) return refuse("not_found", "There is nothing here.");
    return decide(client, context);
  },
  clientBody,
);
