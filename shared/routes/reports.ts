import { MoneyReport, ReportMoneyQuery } from "../schema/internal-money/report.ts";
import { route } from "./route.ts";

/** `GET /reports/money` */
export const reportMoney = route({
  id: "report_money",
  method: "GET",
  path: "/reports/money",
  tag: "Reports",
  summary: "Get settled money by day",
  description:
    "Deposits and withdrawals in one currency by the day on which they were settled, exact and complete at the time " +
    "of the answer. It reads the entries of the control accounts, over up to 31 days with up to 10,000 entries " +
    "together; ask for fewer days where there are more.",
  file: "reports/money",
  scope: "reports:read",
  grants: ["query"],
  query: ReportMoneyQuery,
  reply: MoneyReport,
});

/** Rows of the reports. */
export const reportRoutes = [reportMoney] as const;
