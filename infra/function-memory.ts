import { limits } from "../shared/limits.ts";

const whole = limits.functions.computing_memory_mb;
const half = 1024;

/** Functions of one memory, with what their requests take of a whole processor in ms where it was measured. */
interface Size {
  readonly reason: string;
  readonly memory_mb: number;
  readonly processor_ms: Readonly<Record<string, number | undefined>>;
}

/**
 * Memory of each function, by its id: the one place where it is chosen. Lambda gives a whole processor at 1,769 MB and
 * a share of it below (AWS docs: Lambda function memory). Work of the processor costs the same GB-seconds at any size
 * and ends sooner at a larger one; a millisecond of waiting costs 3.5 times as much at 1,769 MB as at 512, so 0.12 USD
 * per million for one read. Milliseconds are those of `npm run bench:latency` of 2026-11-22 and 23
 * (test/bench/LATENCY.md). Any function that is not named takes less than 1.5 ms or no caller waits for it:
 * `limits.functions.memory_mb`.
 */
const sizes: readonly Size[] = [
  {
    reason: "computes for tenths of a second, or for seconds",
    memory_mb: whole,
    processor_ms: {
      ...{ publish: undefined, "fan-out": undefined, evaluate: undefined },
      ...{
        send_feed_batch: 9.9,
        send_feed_snapshot: 8.2,
        set_sandbox_prices: 6.5,
        drive_sandbox_account: 94,
        "sweep-events": undefined,
        "seal-audit": undefined,
        "reconcile-books": undefined,
        "run-jobs": undefined,
      },
    },
  },
  {
    reason: "commits: the counter and a transaction leave 3.5 ms of 50 for the processor",
    memory_mb: whole,
    processor_ms: {
      ...{
        create_client: 1.8,
        update_client: 2.2,
        create_review: undefined,
        create_account: 2.9,
        update_account: 4.5,
        disable_account: 2.5,
      },
      ...{ create_deposit: 3, create_withdrawal: 3.5, update_transaction: 3.3, retry_feed_reject: 4.8 },
      ...{ dismiss_feed_reject: 2.5 },
      ...{ approve_transaction: 3.6, reject_transaction: 5 },
      ...{ create_webhook_endpoint: 2.1, update_webhook_endpoint: 1.8, delete_webhook_endpoint: 1.8 },
      ...{ rotate_webhook_secret: 1.9, test_webhook_endpoint: 2.1, replay_events: 1.7, create_feed_source: 1.7 },
      ...{ retry_delivery: 3.9, update_application: 1.8, revoke_application: 1.7, rotate_application_secret: 3.2 },
      ...{ create_adjustment: 2.5, create_credit: 2.1, create_transfer: 4.4, create_transfer_quote: 4.4 },
      ...{ take_commands: 8.3, ack_command: 8.4, requeue_command: 6 },
      ...{ update_feed_source: 4.8, delete_feed_source: 4.1, resolve_drift: 7.9 },
      ...{ create_operator: 3.2, update_operator: 3.2, delete_operator: 2.3 },
      ...{ invite_operator: 1.1, reset_operator_credentials: 1.1 },
      ...{ create_application: 1.9, update_settings: 2, begin_feed_epoch: 4.2 },
      ...{ open_sandbox_trade: 9.2, close_sandbox_trade: 11.4, place_sandbox_order: 3.9, cancel_sandbox_order: 2.9 },
      ...{ sandbox_verify_client: 2.6, sandbox_reject_client: 2.6, sandbox_settle_transaction: 6 },
      ...{ sandbox_fail_transaction: 4.2, sandbox_return_transaction: 5.4, sandbox_trigger_event: 3.5 },
      ...{ reset_sandbox: 2.3, create_job: undefined, cancel_job: undefined, create_job_links: undefined },
    },
  },
  {
    reason: "a page of 25 items, or positions at live prices: 10 ms and more at 512 MB",
    memory_mb: whole,
    processor_ms: {
      ...{
        send_feed_quotes: 4.8,
        get_balance: 4.6,
        create_margin_preview: undefined,
        get_account_metrics: 2.9,
        list_margin_watch: 3.4,
      },
      ...{ list_accounts: 3.2, list_transactions: 4, list_account_transactions: 4.4, list_client_transactions: 4.5 },
      ...{ list_trades: 4.2, list_positions: 4, list_conversion_rates: 3, summarize_transactions: 3.9 },
      ...{ get_exposure: undefined, list_client_queue: undefined, list_reviews: undefined },
      ...{ list_approval_queue: 4.4, report_money: 8.6, report_usage: 1 },
    },
  },
  {
    reason: "sends the accounts that a price reaches, ten a call: 1,890 a second at 512 MB, fewer than are evaluated",
    memory_mb: half,
    processor_ms: { watch: undefined },
  },
  {
    reason: "1.5 to 2.9 ms, which are 5 to 10 ms at 512 MB",
    memory_mb: half,
    processor_ms: {
      ...{ create_token: 2.7, revoke_token: 2.8, list_symbols: 2.4, get_position: 1.8, list_client_accounts: 1.7 },
      ...{ list_deliveries: 2.4, list_quotes: 1.6, list_clients: 1.6, get_symbol_margin: 1.6, list_client_trades: 1.5 },
    },
  },
];

/** Memory of each function that has one of its own, MB. */
export const memories: Readonly<Record<string, number>> = Object.fromEntries(
  sizes.flatMap(({ memory_mb, processor_ms }) => Object.keys(processor_ms).map((id) => [id, memory_mb])),
);

/** Memory of the function with this id, MB. */
export function memoryOf(id: string): number {
  return memories[id] ?? limits.functions.memory_mb;
}
