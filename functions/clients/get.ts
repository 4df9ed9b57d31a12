import { clientBody } from "../../shared/domain/accounts/client.ts";
import { read } from "../../shared/http/operations.ts";
import { getClient } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /clients/{id}` */
export const handler = await read(getClient, async ({ path, load }) => {
  const { client } = await load({ client: ref.client(path.id) });
  return client && clientBody(client);
});
