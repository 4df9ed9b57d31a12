import { read } from "../../shared/http/operations.ts";
import { reportMoney } from "../../shared/routes/reports.ts";
import { settledMoney } from "../../shared/trading/money-report.ts";

/** `GET /reports/money` */
export const handler = await read(reportMoney, ({ caller: { tenant_id }, query }) => {
  const { from = "", to = "", currency = "" } = query;
  return settledMoney(tenant_id, { from, to }, currency);
});
