import * as z from "zod/mini";
import { described } from "../described.ts";

const pendingCommand = described(z.string(), "The command that asks the platform for it.");

const Terms = z.object({
  leverage: described(
    z.optional(z.object({ value: described(z.int(), "Requested leverage."), command_id: pendingCommand })),
    "Requested leverage; absent if none is pending.",
  ),
  group_id: described(
    z.optional(z.object({ value: described(z.string(), "Requested group."), command_id: pendingCommand })),
    "Requested group; absent if none is pending.",
  ),
  trading_mode: described(
    z.optional(
      z.object({
        value: described(z.enum(["full", "close_only", "none"]), "Requested trading mode."),
        command_id: pendingCommand,
      }),
    ),
    "Requested trading mode; absent if none is pending.",
  ),
});

/** Terms that the trading platform of an account was asked for, each with its command. */
export const PendingTerms = described(
  z.optional(z.nullable(Terms)),
  "Values that the trading platform of a linked account was asked for and has not confirmed; null if there are none.",
);
