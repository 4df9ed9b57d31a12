/** Filters of every list of trades. */
export const tradeFilters = ["status", "symbol", "side", "close_reason"];

/** Filters of every list of positions. */
export const positionFilters = ["symbol", "side"];

/** Filters of every list of orders; the status selects the partitions. */
export const orderFilters = ["symbol", "side", "type", "account_id"];

/** Filters of every list of accounts, on stored attributes; the margin state is computed from prices. */
export const accountFilters = ["status", "type", "currency", "group_id", "number", "platform_login"];
