import { commandBody } from "../../shared/domain/feed/command/command-body.ts";
import { refuseEnded } from "../../shared/domain/feed/source.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { isEnded } from "../../shared/domain/records/feed-source.ts";
import { decideTake } from "../../shared/feed/waiting-commands.ts";
import { command } from "../../shared/http/operations.ts";
import { takeCommands } from "../../shared/routes/commands.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/commands/take` */
export const handler = await command(
  takeCommands,
  async ({ path, body, load, context }) => {
    const { source } = await load({ source: tradingRef.feedSource(path.id) });
    if (source === undefined) return notFound();
    return isEnded(source) ? refuseEnded() : decideTake(source, body, context);
  },
  (taken) => ({ object: "list", data: taken.map(commandBody) }),
);
