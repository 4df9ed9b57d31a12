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
