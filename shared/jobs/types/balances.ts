import { formatAmount } from "../../domain/kernel/money.ts";
import type { Balance } from "../../domain/records/balance.ts";
import type { Job } from "../../domain/records/job.ts";
import type { Ledger } from "../../domain/records/ledger.ts";
import { limits } from "../../limits.ts";
import type { MemberOrder } from "../../schema/member-order.ts";
import { ledgers } from "../../table/entities.ts";
import { pagesOf } from "../../table/partition.ts";
import { loadItems, ref } from "../../table/store.ts";
import { readItem } from "../../table/table.ts";
import { type AccountPart, readAccounts } from "../accounts-in-turn.ts";
import { type ExportType, parameterOf } from "../export-type.ts";
import { csvFormat, ndjsonFormat } from "../rows.ts";

const members = [
  ...["account_id", "number", "client_id", "type", "currency", "balance", "credit", "balance_version", "at"],
] as const;
const order: MemberOrder = { members: Object.fromEntries(members.map((name) => [name, null])) };

/** The money of each account at an instant: before the first entry that was made at it or later. */
export const balanceExport: ExportType = {
  format: ({ parameters: { format } }) => (format === "ndjson" ? ndjsonFormat(order) : csvFormat(order)),
  read: (job, position) => readAccounts(job, position, (id) => balanceOf(job, id)),
};

async function balanceOf(job: Job, id: string): Promise<AccountPart> {
  const { tenant_id: tenant } = job;
  const at = new Date(parameterOf(job, "at") ?? "").toISOString();
  const { account, balance } = await loadItems(tenant, { account: ref.account(id), balance: ref.balance(id) });
  if (account === undefined || balance === undefined || account.created_at >= at) return { rows: [] };
  const { balance_minor, credit_minor, seq } = await moneyAt(tenant, balance, at);
  const { number, client_id, type, currency } = account;
  const row = { account_id: id, number, client_id, type, currency, balance_version: seq, at };
  const money = (minor: bigint) => formatAmount(minor, currency);
  return { rows: [{ ...row, balance: money(balance_minor), credit: money(credit_minor) }] };
}

type Money = Pick<Balance, "balance_minor" | "credit_minor" | "seq">;

/** The money before the first entry at an instant: the ledger is taken back from its end to there. */
async function moneyAt(tenant: string, balance: Balance, at: string): Promise<Money> {
  let money: Money = balance;
  if (balance.seq === 0 || (balance.posted_at !== undefined && balance.posted_at < at)) return money;
  // Entries are in the order of their times but for a clock that was ahead by more than the service follows.
  const surelyBefore = new Date(Date.parse(at) - limits.money.clock_skew_seconds * 1000).toISOString();
  let [credit_minor, seq] = [balance.credit_minor, balance.seq];
  const query = { to: ledgers.sortOf(balance.seq), descending: true, page_size: limits.jobs.rows_per_read };
  for await (const { items } of pagesOf(ledgers.partition(tenant, balance.account_id), query)) {
    for (const item of items) {
      const entry = readItem<Ledger>(item);
      if (entry.created_at < surelyBefore) return money;
      if (entry.moves === "credit") credit_minor -= entry.amount_minor;
      seq = entry.balance_version - 1;
      if (entry.created_at >= at) money = { balance_minor: entry.balance_before_minor, credit_minor, seq };
    }
  }
  return money;
}
