import {
  AckCommandRequest,
  Command,
  ListCommandsQuery,
  TakeCommandsRequest,
  TakenCommands,
} from "../schema/feed/command.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** Events that the end of a command may write. */
const commandEvents = [
  "transaction.completed",
  "transaction.updated",
  "account.updated",
  "command.issued",
  "command.settled",
  "margin.call",
  "margin.recovered",
] as const;

/** `GET /feed/sources/{id}/commands` */
export const listCommands = route({
  id: "list_commands",
  method: "GET",
  path: "/feed/sources/{id}/commands",
  tag: "Feed",
  summary: "List commands",
  description:
    "Commands to the trading platform, newest first. Reading does not hand them out: the bridge takes them with " +
    "`POST /feed/sources/{id}/commands/take`.",
  file: "feed/list-commands",
  scope: "feed:read",
  grants: ["read", "query:list"],
  query: ListCommandsQuery,
  reply: page(Command),
  refusals: ["invalid_cursor"],
});

/** `GET /feed/sources/{id}/commands/{command_id}` */
export const getCommand = route({
  id: "get_command",
  method: "GET",
  path: "/feed/sources/{id}/commands/{command_id}",
  tag: "Feed",
  summary: "Get a command",
  description: "Returns the command with its status and the outcome of its last attempt.",
  file: "feed/get-command",
  scope: "feed:read",
  grants: ["read"],
  reply: Command,
});

/** `POST /feed/sources/{id}/commands/take` */
export const takeCommands = route({
  id: "take_commands",
  method: "POST",
  path: "/feed/sources/{id}/commands/take",
  tag: "Feed",
  summary: "Take commands",
  description: `Hands out waiting commands, at most one per account and \`lane\` at a time; \`find_operation\` has no
lane. An \`Idempotency-Key\` is required: a repeated request returns the same commands, so that a lost response loses
none.

Start each command before its \`start_before\` (compare it with the header \`Date\`), never later, and give the
operation the \`comment\` of the command. Then acknowledge it before \`lease_until\`; otherwise its outcome is
\`unknown\` and nothing more is sent. Only a command that was acknowledged as \`not_sent\`, or that a person requeues,
is handed out again, as another \`attempt\`. Types of commands:

- \`balance_operation\`: book \`amount\` on the account of \`platform_login\`; a negative amount takes money from it.
- \`credit_operation\`: grant \`amount\` as credit; a negative amount takes credit back. Report it as \`credit_in\` or
  \`credit_out\`.
- \`find_operation\`: look for an operation with this \`comment\`. Acknowledge \`done\` with its \`operation_id\`, or
  without one if there is none.
- \`liquidate\`: close \`lots\` of the position, if it has \`lots_before\`.
- \`set_leverage\`, \`set_group\`, \`set_account_access\`: set this term of the account, and report it as an
  \`account_update\`. To set it twice is the same as to set it once.`,
  file: "feed/take-commands",
  scope: "feed:write",
  rate: "feed",
  keyed: true,
  grants: ["read", "query:state", "put", "update"],
  body: TakeCommandsRequest,
  reply: TakenCommands,
  example: { max: 10, lease_seconds: 60 },
  refusals: ["source_ended"],
});

/** `POST /feed/sources/{id}/commands/{command_id}/ack` */
export const ackCommand = route({
  id: "ack_command",
  method: "POST",
  path: "/feed/sources/{id}/commands/{command_id}/ack",
  tag: "Feed",
  summary: "Acknowledge a command",
  description:
    "Reports the outcome of an attempt. `done` books the money of the transaction, once: the operation that the " +
    "source reports later, with the `comment` as `reference`, is joined with it. `failed` ends the transaction as " +
    "`failed`. A money command whose `leg` is null books nothing: it brings the platform to what is booked here. " +
    "A command that sets a term of an account changes it here with `done`, and `failed` leaves it as it was. " +
    "`done` of an earlier attempt counts; `failed` and `not_sent` of " +
    "an earlier attempt change nothing. Returns the command.",
  file: "feed/ack-command",
  scope: "feed:write",
  rate: "feed",
  grants: ["read", "query", "put", "update", "delete", "read:quotes"],
  body: AckCommandRequest,
  cleaned: true,
  reply: Command,
  example: { attempt: 1, status: "done", operation_id: "B-77" },
  refusals: ["operation_known", "amount_too_large"],
  emits: commandEvents,
});

/** `POST /feed/sources/{id}/commands/{command_id}/requeue` */
export const requeueCommand = route({
  id: "requeue_command",
  method: "POST",
  path: "/feed/sources/{id}/commands/{command_id}/requeue",
  tag: "Feed",
  summary: "Requeue a command",
  description:
    "Hands a command whose outcome is `unknown` out again. Allowed once the bridge has not found its operation " +
    "(`not_found_at`) and 10 minutes after its lease ended; if the brokerage requires four eyes, by an application " +
    "or operator other than the creator of the transaction, or the one that asked for the correction of a drift. A " +
    "command that sets a term of an account needs none of this, since it may be repeated.",
  file: "feed/requeue-command",
  scope: "transactions:settle",
  standing: "read",
  grants: ["read", "query", "put", "update", "delete", "read:quotes"],
  reply: Command,
  refusals: ["illegal_transition", "four_eyes_required"],
  emits: ["transaction.updated", "margin.call", "margin.recovered"],
});

/** Rows of the commands to trading platforms. */
export const commandRoutes = [listCommands, getCommand, takeCommands, ackCommand, requeueCommand] as const;
