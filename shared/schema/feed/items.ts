import * as z from "zod/mini";
import { SignedDecimal } from "../symbol.ts";
import { PlatformId, SignedMoney } from "./members.ts";

const nullable = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema));

/**
 * Change of an open position by a platform: its stops, where null removes one, and the swap so far where the source
 * reports that (`swap_reporting: accrued`).
 */
export const FeedPositionUpdate = z
  .strictObject({
    position_id: PlatformId,
    stop_loss: nullable(SignedDecimal),
    take_profit: nullable(SignedDecimal),
    swap: z.optional(SignedMoney),
  })
  .check(
    z.refine(
      ({ stop_loss, take_profit, swap }) => [stop_loss, take_profit, swap].some((each) => each !== undefined),
      "must hold stop_loss, take_profit or swap",
    ),
  );

/** A deal that a platform took back. */
export const FeedDealReversal = z.strictObject({
  reversal_id: PlatformId,
  platform_login: PlatformId,
  deal_id: PlatformId,
});

/** Change of an account by a platform: its group, its leverage, and its access to trading. */
export const FeedAccountUpdate = z
  .strictObject({
    platform_login: PlatformId,
    group: z.optional(PlatformId),
    leverage: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
    access: z.optional(z.enum(["full", "close_only", "none"])),
  })
  .check(
    z.refine(
      ({ group, leverage, access }) => [group, leverage, access].some((each) => each !== undefined),
      "must hold group, leverage or access",
    ),
  );
