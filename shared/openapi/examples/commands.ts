import {
  account_id,
  completed_at,
  created_at,
  exampleIds,
  exampleNames,
  links,
  transaction_id,
} from "./identifiers.ts";

const { feed: source_id, trades: trade_id } = exampleIds;
const { command_id: id } = exampleNames;
const liquidation_id = "cmd_01JD000000000000000000000H";

const waiting = {
  id,
  object: "command",
  source_id,
  account_id,
  platform_login: "50012345",
  lane: "money",
  type: "balance_operation",
  payload: { amount: "1000.00", currency: "USD", comment: id },
  transaction_id,
  drift_id: null,
  leg: "forward",
  issued_at: created_at,
  not_after: null,
  not_found_at: null,
  error: null,
  created_at,
  _links: links({
    self: `/feed/sources/${source_id}/commands/${id}`,
    source: `/feed/sources/${source_id}`,
    account: `/accounts/${account_id}`,
    transaction: `/transactions/${transaction_id}`,
  }),
};

/** A command to close a position of an account that is at its stop-out level. */
const liquidation = {
  ...waiting,
  id: liquidation_id,
  lane: "risk",
  type: "liquidate",
  payload: { position_id: "70012", symbol: "EURUSD", side: "buy", lots: "1.00", lots_before: "1.00" },
  transaction_id: null,
  leg: null,
  status: "taken",
  attempt: 1,
  taken_at: "2026-11-21T06:31:00.000Z",
  start_before: "2026-11-21T06:31:30.000Z",
  lease_until: "2026-11-21T06:32:00.000Z",
  not_after: "2026-11-21T06:31:40.000Z",
  done_at: null,
  operation_id: null,
  updated_at: "2026-11-21T06:31:00.000Z",
  version: 2,
  _links: links({
    self: `/feed/sources/${source_id}/commands/${liquidation_id}`,
    source: `/feed/sources/${source_id}`,
    account: `/accounts/${account_id}`,
    trade: `/trades/${trade_id}`,
  }),
};

/** A command in its events: once it was issued, and once it has ended. */
export const commandNotice = {
  id,
  object: "command",
  source_id,
  account_id,
  transaction_id,
  drift_id: null,
  version: 1,
  _links: links({ self: `/feed/sources/${source_id}/commands/${id}` }),
};

/** Examples of the replies about commands, by component. */
export const commandReplies: Readonly<Record<string, unknown>> = {
  CommandNotice: commandNotice,
  Command: {
    ...waiting,
    status: "done",
    attempt: 1,
    taken_at: "2026-11-21T06:31:00.000Z",
    start_before: "2026-11-21T06:31:30.000Z",
    lease_until: null,
    done_at: completed_at,
    operation_id: "B-77",
    updated_at: completed_at,
    version: 3,
  },
  TakenCommands: {
    object: "list",
    data: [
      {
        ...waiting,
        status: "taken",
        attempt: 1,
        taken_at: "2026-11-21T06:31:00.000Z",
        start_before: "2026-11-21T06:31:30.000Z",
        lease_until: "2026-11-21T06:32:00.000Z",
        done_at: null,
        operation_id: null,
        updated_at: "2026-11-21T06:31:00.000Z",
        version: 2,
      },
      liquidation,
    ],
  },
};
