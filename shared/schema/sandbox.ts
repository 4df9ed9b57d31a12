import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { AccountBalance } from "./account.ts";
import { EventTypeSchema } from "./event.ts";
import { id, Percent, Timestamp, TimestampInput, text } from "./fields.ts";
import { Decimal, SymbolName } from "./symbol.ts";
import { Side } from "./trade.ts";

const PriceMode = z.enum(["frozen", "walk"]);

/**
 * The price that a symbol is to have: bid, ask or both; one alone keeps the spread, none of them the price. With `walk`
 * it walks from there on, after its seed.
 */
export const SandboxPriceChange = z.strictObject({
  symbol: SymbolName,
  bid: z.optional(Decimal),
  ask: z.optional(Decimal),
  mode: z.optional(PriceMode),
  seed: z.optional(text(64)),
});

/** `POST /sandbox/prices` */
export const SetSandboxPrices = z.strictObject({
  prices: z.array(SandboxPriceChange).check(z.minLength(1), z.maxLength(limits.sandbox.max_prices)),
});

/** The price of a symbol as the sandbox's market holds it. */
export const SandboxPrice = z.object({
  symbol: SymbolName,
  bid: Decimal,
  ask: Decimal,
  time: Timestamp,
  sequence: z.string(),
  mode: PriceMode,
  seed: z.nullable(z.string()),
});

/** What prices did within the request. */
export const SandboxEffects = z.object({
  orders_filled: z.array(z.string()),
  orders_ended: z.array(z.string()),
  trades_closed: z.array(z.string()),
  accounts_evaluated: z.array(z.string()),
  complete: z.boolean(),
});

/** What prices came to. */
export const SandboxPrices = z.object({
  object: z.literal("sandbox_prices"),
  data: z.array(SandboxPrice),
  effects: SandboxEffects,
});

/** `POST /sandbox/accounts/{id}/drive` */
export const DriveSandboxAccount = z.strictObject({ margin_level: Percent, symbol: z.optional(SymbolName) });

/** An event that was written, by its number. */
export const SandboxEvent = z.object({ id: z.string(), type: EventTypeSchema, sequence: z.string() });

/** What driving an account to a margin level came to. */
export const SandboxDrive = z.object({
  object: z.literal("sandbox_drive"),
  account_id: z.string(),
  reached_margin_level: z.nullable(z.string()),
  price: SandboxPrice,
  before: AccountBalance,
  after: AccountBalance,
  effects: SandboxEffects,
  events: z.array(SandboxEvent),
  events_complete: z.boolean(),
});

const stops = { stop_loss: z.optional(z.nullable(Decimal)), take_profit: z.optional(z.nullable(Decimal)) };

/** `POST /sandbox/trades` */
export const OpenSandboxTrade = z.strictObject({
  account_id: id("acc"),
  symbol: SymbolName,
  side: Side,
  lots: Decimal,
  ...stops,
});

/** `POST /sandbox/trades/{id}/close`: so many of its lots; without them all. */
export const CloseSandboxTrade = z.strictObject({ lots: z.optional(Decimal) });

/** `POST /sandbox/orders` */
export const PlaceSandboxOrder = z.strictObject({
  account_id: id("acc"),
  symbol: SymbolName,
  side: Side,
  type: z.enum(["limit", "stop", "stop_limit"]),
  lots: Decimal,
  price: z.optional(z.nullable(Decimal)),
  stop_price: z.optional(z.nullable(Decimal)),
  limit_price: z.optional(z.nullable(Decimal)),
  ...stops,
  time_in_force: z.optional(z.enum(["gtc", "gtd", "day"])),
  expires_at: z.optional(z.nullable(TimestampInput)),
});

/** A trade to open, on the wire. */
export type OpenSandboxTradeBody = z.infer<typeof OpenSandboxTrade>;
/** What is to be closed of a trade, on the wire. */
export type CloseSandboxTradeBody = z.infer<typeof CloseSandboxTrade>;
/** An order to place, on the wire. */
export type PlaceSandboxOrderBody = z.infer<typeof PlaceSandboxOrder>;
/** What prices did, on the wire. */
export type SandboxEffectsBody = z.infer<typeof SandboxEffects>;
/** A margin level to drive an account to, on the wire. */
export type DriveSandboxAccountBody = z.infer<typeof DriveSandboxAccount>;
/** What driving an account came to, on the wire. */
export type SandboxDriveBody = z.infer<typeof SandboxDrive>;
/** Prices to set, on the wire. */
export type SetSandboxPricesBody = z.infer<typeof SetSandboxPrices>;
/** A price of the sandbox's market, on the wire. */
export type SandboxPriceBody = z.infer<typeof SandboxPrice>;
