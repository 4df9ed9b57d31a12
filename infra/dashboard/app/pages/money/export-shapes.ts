/** Types of exports. */
export const exportTypes = ["transactions", "trades", "clients", "accounts", "ledger", "balances", "events"] as const;

/** One of them. */
export type ExportName = (typeof exportTypes)[number];

/** How a type is asked for: its range of days, if it has one, and what else its rows are chosen by. */
interface Shape {
  readonly days?: readonly [from: string, to: string];
  readonly filters: readonly string[];
  readonly names?: true;
}

/** How each type is asked for. */
export const exportShapes: Readonly<Record<ExportName, Shape>> = {
  transactions: {
    days: ["created_from", "created_to"],
    filters: ["status", "kind", "method", "account_id", "client_id"],
    names: true,
  },
  trades: {
    days: ["open_from", "open_to"],
    filters: ["status", "symbol", "side", "close_reason", "account_id"],
    names: true,
  },
  clients: { days: ["created_from", "created_to"], filters: ["status", "verification_status", "country", "tag"] },
  accounts: { days: ["created_from", "created_to"], filters: ["status", "type", "currency", "group_id"], names: true },
  ledger: { days: ["from", "to"], filters: ["account_id", "client_id"] },
  balances: { days: ["", "at"], filters: ["account_id", "client_id"] },
  events: { filters: ["after_sequence", "to_sequence"] },
};

/** Whether a text names a type. */
export function isExport(text: string | undefined): text is ExportName {
  return exportTypes.some((type) => type === text);
}
