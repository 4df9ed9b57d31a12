import { ledgerBody } from "../../domain/accounts/account.ts";
import { formatAmount } from "../../domain/kernel/money.ts";
import type { Job } from "../../domain/records/job.ts";
import type { Ledger } from "../../domain/records/ledger.ts";
import { limits } from "../../limits.ts";
import { listLedger } from "../../routes/accounts.ts";
import { ledgers } from "../../table/entities.ts";
import { readPage } from "../../table/partition.ts";
import { readItem } from "../../table/table.ts";
import { type AccountPart, readAccounts } from "../accounts-in-turn.ts";
import { type ExportType, parameterOf } from "../export-type.ts";
import { itemOrder } from "../lists.ts";
import { csvFormat, ndjsonFormat, rowOrder } from "../rows.ts";

const order = rowOrder(itemOrder(listLedger), ["credit_after"]);

/** Ledger entries as `GET /accounts/{id}/ledger` shows them, with the credit after each, by account and number. */
export const ledgerExport: ExportType = {
  format: ({ parameters: { format } }) => (format === "ndjson" ? ndjsonFormat(order) : csvFormat(order)),
  read: (job, position) => readAccounts(job, position, (id, inside) => entriesOf(job, id, inside)),
};

/** Some entries of an account after a number, with the credit that it left: `12|500`. */
async function entriesOf(job: Job, id: string, inside = "0|0"): Promise<AccountPart> {
  const [after = "0", credit = "0"] = inside.split("|");
  const [from, to] = [parameterOf(job, "from"), parameterOf(job, "to")].map((each) => Date.parse(each ?? ""));
  const query = { from: ledgers.sortOf(Number(after) + 1), page_size: limits.jobs.rows_per_read };
  const { items, next } = await readPage(ledgers.partition(job.tenant_id, id), query);
  let credit_minor = BigInt(credit);
  let last = after;
  const rows: object[] = [];
  for (const item of items) {
    const entry = readItem<Ledger>(item);
    if (entry.moves === "credit") credit_minor += entry.amount_minor;
    last = String(entry.balance_version);
    const at = Date.parse(entry.created_at);
    if (at < (from || 0) || at >= (to ?? 0)) continue;
    rows.push({ ...ledgerBody(entry), credit_after: formatAmount(credit_minor, entry.currency) });
  }
  return { rows, inside: next && `${last}|${credit_minor}` };
}
