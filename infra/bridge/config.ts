import { existsSync, readFileSync } from "node:fs";
import * as z from "zod/mini";
import { UsageError } from "../../shared/runtime/command-line.ts";

const name = z.string().check(z.minLength(1));
const decimal = z.string().check(z.regex(/^[1-9]\d*(?:\.\d+)?$/, "must be a decimal above 0 as text"));
const number = z.int().check(z.minimum(1));

const Fix = z.strictObject({
  host: name,
  port: number.check(z.maximum(65_535)),
  begin_string: z.optional(z.enum(["FIX.4.2", "FIX.4.4"])),
  sender_comp_id: name,
  target_comp_id: name,
  username: z.optional(name),
  heartbeat_seconds: z.optional(number),
  sending_time_seconds: z.optional(number),
  symbols: z.optional(z.array(name)),
  tls: z.optional(z.strictObject({ ca: z.optional(z.array(name)), key: z.optional(name), cert: z.optional(name) })),
  lot_size: z.optional(z.record(z.string(), decimal)),
  account: z.optional(name),
  tags: z.optional(
    z.strictObject({
      position_id: z.optional(number),
      profit: z.optional(number),
      commission: z.optional(number),
    }),
  ),
  by_hand: z.optional(z.array(name)),
  complete_ledger: z.optional(z.boolean()),
});

/** `bridge.json` */
const BridgeConfig = z.strictObject({
  base_url: z.optional(name),
  source: z
    .string()
    .check(z.regex(/^[a-z][a-z0-9]{1,15}:[A-Za-z0-9._-]{1,47}$/, "must be a platform and a name such as mt5:live-1")),
  data: z.optional(name),
  money: z.optional(
    z.union([z.strictObject({ command: z.array(name).check(z.minLength(1)) }), z.strictObject({ module: name })]),
  ),
  fix: Fix,
});

/** Content of `bridge.json`. Credentials come from the environment. */
export type BridgeConfigBody = z.infer<typeof BridgeConfig>;

/**
 * Reads the configuration of a bridge.
 * @throws UsageError the first member that is wrong, and why
 */
export function readConfig(path: string): BridgeConfigBody {
  if (!existsSync(path)) throw new UsageError(`--config names ${path}, which does not exist.`);
  let given: unknown;
  try {
    given = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const checked = BridgeConfig.safeParse(given, { error: z.locales.en().localeError });
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new UsageError(`${path}, ${issue?.path.join(".") || "the file"}: ${issue?.message}.`);
}
