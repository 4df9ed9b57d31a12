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

/** Some entries of an account after a number. */
async function entriesOf(job: Job, id: string, inside = "0"): Promise<AccountPart> {
  const [from, to] = [parameterOf(job, "from"), parameterOf(job, "to")].map((each) => Date.parse(each ?? ""));
  const query = { from: ledgers.sortOf(Number(inside) + 1), page_size: limits.jobs.rows_per_read };
  const { items, next } = await readPage(ledgers.partition(job.tenant_id, id), query);
  const entries = items.map((item) => readItem<Ledger>(item));
  const rows = entries
    .filter(({ created_at }) => Date.parse(created_at) >= (from || 0) && Date.parse(created_at) < (to ?? 0))
    .map((entry) => {
      const credit_after = formatAmount(entry.credit_after_minor ?? 0n, entry.currency);
      return { ...ledgerBody(entry), credit_after };
    });
  return { rows, inside: next && String(entries.at(-1)?.balance_version) };
}
