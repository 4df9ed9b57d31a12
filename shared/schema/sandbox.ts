import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { Timestamp } from "./fields.ts";
import { Decimal, SymbolName } from "./symbol.ts";

/** The price that a symbol is to have: bid, ask or both; one alone keeps the spread. */
export const SandboxPriceChange = z.strictObject({
  symbol: SymbolName,
  bid: z.optional(Decimal),
  ask: z.optional(Decimal),
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
});

/** What prices came to. */
export const SandboxPrices = z.object({
  object: z.literal("sandbox_prices"),
  data: z.array(SandboxPrice),
});

/** Prices to set, on the wire. */
export type SetSandboxPricesBody = z.infer<typeof SetSandboxPrices>;
/** What prices came to, on the wire. */
export type SandboxPricesBody = z.infer<typeof SandboxPrices>;
