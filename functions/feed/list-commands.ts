import { commandBody } from "../../shared/domain/feed/command/command-body.ts";
import type { PlatformCommand } from "../../shared/domain/records/command.ts";
import { resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listCommands } from "../../shared/routes/commands.ts";
import { commands } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /feed/sources/{id}/commands` */
export const handler = await list(listCommands, async ({ path, caller: { tenant_id: tenant }, place, load }) => {
  const [{ source }, page] = await Promise.all([
    load({ source: tradingRef.feedSource(path.id) }),
    pageOfIndex<PlatformCommand>(
      "list",
      [commands.ofSource(tenant, path.id)],
      resourcePage(place, ["status", "account_id"]),
    ),
  ]);
  return source && pageReply(place, page, commandBody);
});
