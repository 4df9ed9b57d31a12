import { commandBody } from "../../shared/domain/feed/command/command-body.ts";
import { acknowledgeTerms } from "../../shared/domain/feed/command/terms.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import type { PlatformCommand } from "../../shared/domain/records/command.ts";
import { acknowledgeLiquidation } from "../../shared/domain/trading/liquidation/settle.ts";
import { decideAck } from "../../shared/feed/acknowledged-operation.ts";
import { decideLiquidation, decideTerms } from "../../shared/feed/commands.ts";
import { command } from "../../shared/http/operations.ts";
import { noteRef } from "../../shared/money/move.ts";
import { continueTransfer } from "../../shared/money/transfer-steps.ts";
import { ackCommand } from "../../shared/routes/commands.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/commands/{command_id}/ack` */
export const handler = await command(
  ackCommand,
  async ({ path, body, load, context }) => {
    const { known, note } = await load({ known: tradingRef.command(path.command_id), ...noteRef(path.id, body) });
    if (known === undefined || known.source_id !== path.id) return notFound();
    if (known.purpose === "liquidation") {
      return decideLiquidation(load, context, known, (...read) => acknowledgeLiquidation(...read, body, context));
    }
    if (known.purpose === "terms") {
      return decideTerms(load, context, known, (...read) => acknowledgeTerms(...read, body, context));
    }
    return decideAck(load, context, known, body, note);
  },
  commandBody,
  {
    afterCommit: async (command: PlatformCommand, remainingMs) => {
      if (command.purpose !== "transaction" || command.transfer !== true) return;
      const { tenant_id, transaction_id: id } = command;
      await continueTransfer({ tenant_id, id }, remainingMs);
    },
  },
);
