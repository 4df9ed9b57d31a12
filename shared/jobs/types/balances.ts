import { formatAmount } from "../../domain/kernel/money.ts";
import type { Job } from "../../domain/records/job.ts";
import type { MemberOrder } from "../../schema/member-order.ts";
import { moneyAt } from "../../table/money-at.ts";
import { loadItems, ref } from "../../table/store.ts";
import { type AccountPart, readAccounts } from "../accounts-in-turn.ts";
import { type ExportType, parameterOf } from "../export-type.ts";
import { csvFormat, ndjsonFormat } from "../rows.ts";

const members = [
  ...["account_id", "number", "client_id", "type", "currency", "balance", "credit", "balance_version", "at"],
] as const;
const order: MemberOrder = { members: Object.fromEntries(members.map((name) => [name, null])) };

/** The money of each account at an instant: that of the entries which were made before it. */
export const balanceExport: ExportType = {
  format: ({ parameters: { format } }) => (format === "ndjson" ? ndjsonFormat(order) : csvFormat(order)),
  read: (job, position) => readAccounts(job, position, (id) => balanceOf(job, id)),
};

async function balanceOf(job: Job, id: string): Promise<AccountPart> {
  const { tenant_id: tenant } = job;
  const at = new Date(parameterOf(job, "at") ?? "").toISOString();
  const { account, balance } = await loadItems(tenant, { account: ref.account(id), balance: ref.balance(id) });
  if (account === undefined || balance === undefined || account.created_at >= at) return { rows: [] };
  const { balance_minor, credit_minor, seq } = await moneyAt(balance, at);
  const { number, client_id, type, currency } = account;
  const row = { account_id: id, number, client_id, type, currency, balance_version: seq, at };
  const money = (minor: bigint) => formatAmount(minor, currency);
  return { rows: [{ ...row, balance: money(balance_minor), credit: money(credit_minor) }] };
}
