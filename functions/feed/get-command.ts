import { commandBody } from "../../shared/domain/feed/command/command-body.ts";
import { read } from "../../shared/http/operations.ts";
import { getCommand } from "../../shared/routes/commands.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /feed/sources/{id}/commands/{command_id}` */
export const handler = await read(getCommand, async ({ path, load }) => {
  const { command } = await load({ command: tradingRef.command(path.command_id) });
  return command?.source_id === path.id ? commandBody(command) : undefined;
});
