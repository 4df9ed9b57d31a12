import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import {
  Currency,
  createdRange,
  currencyText,
  id,
  Money,
  ownFields,
  pageParameters,
  setOf,
  Timestamp,
} from "../fields.ts";
import { Decimal } from "../symbol.ts";
import { StatusReason } from "../transaction.ts";
import { PlatformId } from "./members.ts";

/** Types of a command. */
export const CommandType = z.enum([
  "balance_operation",
  "credit_operation",
  "find_operation",
  "liquidate",
  "set_leverage",
  "set_group",
  "set_account_access",
]);

/** States of a command. */
export const CommandStatus = z.enum(["waiting", "taken", "done", "failed", "unknown", "cancelled", "expired"]);

const CommandError = z.object({
  code: described(z.string(), "Machine-readable error code."),
  message: described(z.nullable(z.string()), "Human-readable reason."),
});

const MoneyPayload = z.object({
  amount: described(Money, "Amount of the operation, signed as on the account: negative takes money from it."),
  currency: described(Currency, currencyText),
  comment: described(
    z.string(),
    "Text of at most 31 characters: the comment to give the operation, or with `find_operation` the comment to look " +
      "for. Report it as `reference` of the operation.",
  ),
});

const LiquidationPayload = z.object({
  position_id: described(z.string(), "Identifier of the position on the platform."),
  symbol: described(z.string(), "Symbol name."),
  side: described(z.enum(["buy", "sell"]), "Side of the position."),
  lots: described(Decimal, "Lots to close."),
  lots_before: described(
    Decimal,
    "Lots that the position must have: if it has others, close nothing and acknowledge `failed` with the error code " +
      "`lots_changed`.",
  ),
});

const TermsPayload = z.object({
  leverage: described(z.optional(z.int()), "Leverage to set; present with `set_leverage`."),
  group: described(z.optional(z.string()), "Group to move the account to; present with `set_group`."),
  access: described(
    z.optional(z.enum(["full", "close_only", "none"])),
    "Allowed trading to set; present with `set_account_access`.",
  ),
});

const CommandPayload = z.union([MoneyPayload, LiquidationPayload, TermsPayload]);

/** An instruction to a trading platform in responses. */
export const Command = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("command"), "Resource type; always this value."),
  source_id: described(z.string(), "Feed source identifier."),
  account_id: described(z.string(), "Account identifier."),
  platform_login: described(z.string(), "Login on the trading platform."),
  lane: described(
    z.nullable(z.enum(["money", "risk"])),
    "Only one command of an account and lane is taken at a time; null if the command changes nothing.",
  ),
  type: described(CommandType, "Command type. New types may be added within a version."),
  payload: described(CommandPayload, "What to do on the platform; its members depend on `type`."),
  status: described(CommandStatus, "Command status."),
  transaction_id: described(
    z.nullable(z.string()),
    "The transaction whose money the command moves or, with `leg` null, that booked what the platform is to follow; " +
      "null if there is none.",
  ),
  drift_id: described(
    z.nullable(z.string()),
    "The drift that the command corrects on the platform; null otherwise. Nothing is booked here for it.",
  ),
  leg: described(
    z.nullable(z.enum(["forward", "reverse"])),
    "`forward` moves the money of the transaction; `reverse` brings it back after a return or a failed payout. Null " +
      "if nothing is booked for the command.",
  ),
  attempt: described(z.int(), "Number of times that the command was taken."),
  issued_at: described(Timestamp, "Time at which the command was issued."),
  taken_at: described(z.nullable(Timestamp), "Time of the current attempt; null before the first."),
  start_before: described(
    z.nullable(Timestamp),
    "Time after which the current attempt must not be started, by the clock of the service (header `Date`).",
  ),
  lease_until: described(
    z.nullable(Timestamp),
    "Time at which the outcome becomes unknown if it is not acknowledged; null unless the command is taken or unknown.",
  ),
  not_after: described(z.nullable(Timestamp), "Time at which a waiting command expires; null if it does not expire."),
  done_at: described(z.nullable(Timestamp), "Time at which the command ended; null before."),
  operation_id: described(z.nullable(z.string()), "Identifier of the operation on the platform; null if unknown."),
  not_found_at: described(
    z.nullable(Timestamp),
    "Time at which the bridge did not find the operation of an unknown command; null otherwise.",
  ),
  error: described(z.nullable(CommandError), "Reason of a failure; null otherwise."),
  ...ownFields,
});

/** A command in its events: identifiers only, since what it does is handed out by a take alone. */
export const CommandNotice = z.object({
  id: Command.shape.id,
  object: Command.shape.object,
  source_id: Command.shape.source_id,
  account_id: Command.shape.account_id,
  transaction_id: Command.shape.transaction_id,
  drift_id: Command.shape.drift_id,
  version: Command.shape.version,
  _links: Command.shape._links,
});

/** `POST /feed/sources/{id}/commands/take` */
export const TakeCommandsRequest = z.strictObject({
  max: described(
    z.optional(z.int().check(z.minimum(1), z.maximum(limits.commands.max_taken))),
    `Maximum number of commands, up to ${limits.commands.max_taken}; 10 by default.`,
  ),
  lease_seconds: described(
    z.optional(
      z.int().check(z.minimum(limits.commands.min_lease_seconds), z.maximum(limits.commands.max_lease_seconds)),
    ),
    "Seconds in which the outcome must be acknowledged; 60 by default.",
  ),
});

/** `POST /feed/sources/{id}/commands/{command_id}/ack` */
export const AckCommandRequest = z.strictObject({
  attempt: described(z.int().check(z.minimum(1)), "Attempt that is acknowledged, as taken."),
  status: described(
    z.enum(["done", "failed", "unknown", "not_sent"]),
    "`done`, `failed` if the platform refused, `unknown` if the outcome cannot be told, or `not_sent` if nothing was " +
      "started.",
  ),
  operation_id: described(
    z.optional(z.nullable(PlatformId)),
    "Identifier of the operation on the platform. With `find_operation`, `done` without it means: not found.",
  ),
  error: described(z.optional(z.nullable(StatusReason)), "Reason of a failure."),
});

/** Commands that were handed out. */
export const TakenCommands = z.object({
  object: described(z.literal("list"), "Resource type; always this value."),
  data: described(z.array(Command), "The commands, in the order in which to start them."),
});

/** Query of `GET /feed/sources/{id}/commands`. */
export const ListCommandsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(CommandStatus.options)), "Command statuses, separated by commas."),
  account_id: described(z.optional(id("acc")), "Account identifier."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** A position to close, on the wire. */
export type LiquidationBody = z.infer<typeof LiquidationPayload>;
/** A term to set, on the wire. */
export type TermsBody = z.infer<typeof TermsPayload>;
/** A command on the wire. */
export type CommandBody = z.infer<typeof Command>;
/** A request for commands on the wire. */
export type TakeCommands = z.infer<typeof TakeCommandsRequest>;
/** An acknowledgement on the wire. */
export type AckCommand = z.infer<typeof AckCommandRequest>;
