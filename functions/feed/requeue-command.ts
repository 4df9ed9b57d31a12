import { commandBody } from "../../shared/domain/feed/command/command-body.ts";
import { requeueCommand } from "../../shared/domain/feed/command/settle.ts";
import { requeueTerms } from "../../shared/domain/feed/command/terms.ts";
import { notFound, refuse } from "../../shared/domain/kernel/decision.ts";
import type { PlatformCommand } from "../../shared/domain/records/command.ts";
import { decideCommand } from "../../shared/feed/commands.ts";
import { command } from "../../shared/http/operations.ts";
import { requeueCommand as row } from "../../shared/routes/commands.ts";
import type { Committable } from "../../shared/table/store.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/commands/{command_id}/requeue` */
export const handler = await command(
  row,
  async ({ path, load, context }): Promise<Committable<PlatformCommand>> => {
    const { known } = await load({ known: tradingRef.command(path.command_id) });
    if (known === undefined || known.source_id !== path.id) return notFound();
    if (known.purpose === "liquidation") {
      return refuse("illegal_transition", "A liquidation is decided again at the newest prices, not requeued.");
    }
    if (known.purpose === "terms") return requeueTerms(known, context);
    return decideCommand(load, context, known, (state) => requeueCommand(state, context));
  },
  commandBody,
);
