import { routes } from "../../../shared/routes/index.ts";
import { UsageError } from "../../../shared/runtime/command-line.ts";

/**
 * The mix of requests that average latency and cost are stated for: how many of a hundred requests each operation has.
 * It is that of a brokerage whose back office shows accounts and prices far more often than it changes anything.
 */
export const mix: Readonly<Record<string, number>> = {
  get_account: 12,
  get_balance: 8,
  get_account_metrics: 6,
  get_client: 6,
  get_transaction: 6,
  get_quote: 7,
  list_quotes: 6,
  get_symbol: 2,
  list_transactions: 5,
  list_account_transactions: 4,
  list_positions: 4,
  list_accounts: 3,
  list_clients: 3,
  list_trades: 3,
  list_events: 2,
  get_event: 2,
  get_me: 1,
  create_token: 2,
  create_client: 3,
  create_account: 3,
  create_deposit: 4,
  create_withdrawal: 2,
  update_transaction: 4,
  update_client: 1,
  update_account: 1,
};

/** The traffic of a month. */
export interface MonthlyTraffic {
  readonly requests: number;
  /** Parts of the requests by the id of the route; only their proportions matter. */
  readonly mix: Readonly<Record<string, number>>;
  /** Events for each request; without it, one for each request of a route that can cause one. */
  readonly events_per_request?: number;
  /** Webhook endpoints that each event goes to, on average. */
  readonly endpoints_per_event: number;
  /** Prices of symbols that trading platforms send, all hours of the month. */
  readonly prices_per_second: number;
  /** Connections of the stream that are open at a time, on average of all hours of the month. */
  readonly stream_connections: number;
  /** Messages of each of them in a minute, of either side; one above 32 KB counts for each 32 KB. */
  readonly stream_messages_per_minute: number;
  /**
   * Sets of up to fifty connections that are served all the time, on average of all hours: those that follow a price
   * which moves each second, or more events than one in half a second.
   */
  readonly hot_stream_sets: number;
  /** Content of the table when the month begins. */
  readonly stored_gigabytes: number;
  /** Months of this traffic that the audit's bucket holds, with this one. */
  readonly audit_months: number;
  /** People who sign in to the dashboard. */
  readonly operators: number;
  /** Requests of the dashboard's browsers, and the files and answers that they receive. */
  readonly dashboard_requests: number;
  readonly dashboard_gigabytes: number;
}

/** A brokerage with some ten thousand clients. */
export const usualMonth: MonthlyTraffic = {
  requests: 10_000_000,
  mix,
  endpoints_per_event: 2,
  prices_per_second: 10,
  stream_connections: 10,
  stream_messages_per_minute: 6,
  hot_stream_sets: 1,
  stored_gigabytes: 20,
  audit_months: 12,
  operators: 20,
  dashboard_requests: 200_000,
  dashboard_gigabytes: 2,
};

/**
 * Reads a traffic from the text of a file: the members of `MonthlyTraffic`, each of which may be left out.
 * @throws UsageError one sentence that names the member at fault
 */
export function readTraffic(text: string, file: string): MonthlyTraffic {
  const given = parsed(text, file);
  const known = new Set([...Object.keys(usualMonth), "events_per_request"]);
  for (const [name, value] of Object.entries(given)) {
    if (!known.has(name)) throw new UsageError(`${file}: "${name}" is not known; known are ${[...known].join(", ")}.`);
    if (name !== "mix" && !isAmount(value)) throw new UsageError(`${file}: "${name}" must be a number of at least 0.`);
  }
  if ("mix" in given) checkMix(given["mix"], file);
  return { ...usualMonth, ...given };
}

function parsed(text: string, file: string): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(text);
    if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Record<string, unknown>;
  } catch {
    throw new UsageError(`${file} is not JSON.`);
  }
  throw new UsageError(`${file} must hold a JSON object.`);
}

function checkMix(given: unknown, file: string): void {
  if (typeof given !== "object" || given === null) throw new UsageError(`${file}: "mix" must be an object.`);
  const parts = Object.entries(given);
  for (const [id, part] of parts) {
    if (!routes.some((row) => row.id === id)) throw new UsageError(`${file}: there is no route "${id}" in "mix".`);
    if (!isAmount(part)) throw new UsageError(`${file}: "${id}" in "mix" must be a number of at least 0.`);
  }
  if (!parts.some(([, part]) => part > 0)) throw new UsageError(`${file}: "mix" must have a part above 0.`);
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
