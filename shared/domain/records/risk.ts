/** A liquidation that is under way: it is carried on until the account is above its level or has nothing to close. */
export interface LiquidationRun {
  readonly started_at: string;
  /** The money of the account when the run began, as the API shows it. */
  readonly before: MetricsBody;
  readonly closed_trade_ids: readonly string[];
  readonly steps: number;
}

/** A liquidation that the platform of the account carries out by commands of this service. */
export interface RequestedRun {
  readonly started_at: string;
  /** The money of the account when the run began, as the API shows it. */
  readonly before: MetricsBody;
  /** Trades that the platform has closed since, by its deals. */
  readonly closed_trade_ids: readonly string[];
  /** Commands that have not ended, and those whose end still matters. */
  readonly command_ids: readonly string[];
  /** The trades that the platform was asked to close, whatever reason its deals give. */
  readonly asked_trade_ids: readonly string[];
}

/** A stop-out that a platform carries out by itself: each of its deals continues it. */
export interface PlatformRun {
  readonly started_at: string;
  /** The money of the account before its first deal, as the API shows it. */
  readonly before: MetricsBody;
  readonly closed_trade_ids: readonly string[];
  /** When the last deal was applied. */
  readonly last_deal_at: string;
}

/**
 * State of an account's margin. `armed`: the next time it falls to its call level a margin call is announced. `episode`
 * counts the margin calls.
 */
export interface Risk {
  readonly account_id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly margin_status: MarginStatus;
  /** Percent with two digits when it was last written; null without used margin. */
  readonly margin_level: string | null;
  readonly equity_minor: bigint;
  readonly armed: boolean;
  readonly episode: number;
  readonly run: LiquidationRun | null;
  /** A liquidation by commands that is under way; absent where there is none. */
  readonly requested?: RequestedRun;
  /** A stop-out by its platform whose deals may not all have come; absent where there is none. */
  readonly platform_run?: PlatformRun;
  /** When the sweep finds an abandoned liquidation. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** The money of an account as the API shows it. */
export interface MetricsBody {
  readonly balance: string;
  readonly credit: string;
  readonly held: string;
  readonly available_balance: string;
  readonly floating_pnl: string;
  readonly equity: string;
  readonly used_margin: string;
  readonly free_margin: string;
  readonly margin_level: string | null;
  readonly withdrawable: string;
  readonly margin_status: MarginStatus;
  readonly metrics_as_of: string;
  readonly metrics_stale: boolean;
}

/** A trigger as it is stored: prices in units of `10^-trigger_digits`, as decimal texts. */
export interface StoredTrigger {
  readonly symbol: string;
  readonly down: string | null;
  readonly up: string | null;
  /** Shards that its entries are spread over: as many as there were when they were put. */
  readonly shards: number;
}

/** The risk of an account as it is stored. It is written with every change of what its account's margin depends on. */
export interface StoredRisk extends Risk {
  /** The triggers that the exposure index holds for the account, no more and no less. */
  readonly triggers: readonly StoredTrigger[];
  /** The numbers of the balance that it was written on: who reads an older one reads two moments. */
  readonly seq: number;
  readonly pos_version: number;
  /** When the next night of its positions is due, RFC 3339; absent where this service charges no swap of them. */
  readonly swap_at?: string;
  /** When credit of the account ends next, RFC 3339: it is judged then. Absent where none does. */
  readonly credit_ends_at?: string;
  /**
   * Its last writer: a commit that changed the basis of margin, or an evaluation at the newest prices. The state after
   * an evaluation is handed over like a commit where credit ends before the next sweep.
   */
  readonly left_by?: "commit" | "evaluation";
}

/** One entry of the exposure index: evaluate this account when the symbol's price meets the trigger. */
export interface Exposure {
  readonly tenant_id: string;
  readonly account_id: string;
  readonly symbol: string;
  /** `dn`: the bid falls to the trigger or below; `up`: the ask rises to it or above. */
  readonly direction: "dn" | "up";
  /** Units of {@link StoredTrigger}. */
  readonly trigger: string;
  /** As in {@link StoredTrigger}. */
  readonly shards: number;
}

/** States of an account's margin. */
export type MarginStatus = "normal" | "margin_call" | "stop_out";
