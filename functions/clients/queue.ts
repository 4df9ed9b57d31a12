import { clientBody } from "../../shared/domain/accounts/client.ts";
import { pageOfClientQueue } from "../../shared/http/clients/queue.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClientQueue } from "../../shared/routes/clients.ts";
import { nowIso } from "../../shared/runtime/clock.ts";

/** `GET /clients/queue` */
export const handler = await list(listClientQueue, async ({ caller, place }) =>
  pageReply(place, await pageOfClientQueue(caller.tenant_id, place, nowIso()), clientBody),
);
