import { accountBalance } from "./accounts.ts";
import { account_id, completed_at, created_at, event_id, links } from "./identifiers.ts";

const sandboxPrice = {
  symbol: "EURUSD",
  bid: "1.08500",
  ask: "1.08510",
  time: completed_at,
  sequence: "7",
  mode: "frozen",
  seed: null,
};

const sandboxEffects = {
  orders_filled: [],
  orders_ended: [],
  trades_closed: [],
  accounts_evaluated: [account_id],
  complete: true,
};

/** Examples of the replies about the sandbox, by component. */
export const sandboxReplies: Readonly<Record<string, unknown>> = {
  SandboxDrive: {
    object: "sandbox_drive",
    account_id,
    reached_margin_level: "79.97",
    price: sandboxPrice,
    before: accountBalance,
    after: accountBalance,
    effects: sandboxEffects,
    events: [{ id: event_id, type: "margin.call", sequence: "43" }],
    events_complete: true,
  },
  SandboxPrices: { object: "sandbox_prices", data: [sandboxPrice], effects: sandboxEffects },
  SandboxReset: {
    id: "rst_01JD000000000000000000000D",
    object: "sandbox_reset",
    status: "completed",
    removed: {
      clients: 12,
      accounts: 19,
      transactions: 64,
      trades: 230,
      orders: 8,
      feed_sources: 1,
      other_items: 1874,
    },
    created_at,
    updated_at: completed_at,
    completed_at,
    version: 4,
    _links: links({ self: "/sandbox/reset" }),
  },
};
