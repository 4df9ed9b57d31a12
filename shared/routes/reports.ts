import { ClosingBalances, IncomeReport, ReportDaysQuery } from "../schema/internal-money/closing.ts";
import { ReconciliationReport } from "../schema/internal-money/reconciliation.ts";
import { MoneyReport, ReportMoneyQuery } from "../schema/internal-money/report.ts";
import { Usage, UsageQuery } from "../schema/reports/usage.ts";
import { route } from "./route.ts";

/** `GET /reports/money` */
export const reportMoney = route({
  id: "report_money",
  method: "GET",
  path: "/reports/money",
  tag: "Reports",
  summary: "Get settled money by day",
  description:
    "Deposits and withdrawals by the day on which they were settled and by currency, of live accounts unless " +
    "`account_type` says otherwise, over up to 92 days with any number of transactions. The sums of a closed day are " +
    "those of its control accounts (`final`); those of the others have every event up to `as_of_sequence`. As CSV " +
    "(RFC 4180), with `Accept: text/csv` or `format=csv`, they have a line for each row.",
  file: "reports/money",
  scope: "reports:read",
  grants: ["query", "read"],
  query: ReportMoneyQuery,
  reply: MoneyReport,
  table: true,
});

/** `GET /reports/closing_balances` */
export const reportClosingBalances = route({
  id: "report_closing_balances",
  method: "GET",
  path: "/reports/closing_balances",
  tag: "Reports",
  summary: "Get the balances at the ends of days",
  description:
    "The balances of all accounts at the end of each closed day of the brokerage, with what the brokerage owes its " +
    "clients, over up to 92 days. The nightly reconciliation closes each day once, from the ledgers and the control " +
    "accounts, and reports where they differ; a closed day does not change. As CSV (RFC 4180), with `Accept: " +
    "text/csv` or `format=csv`, it has a line for each row.",
  file: "reports/closing-balances",
  scope: "reports:read",
  grants: ["query"],
  query: ReportDaysQuery,
  reply: ClosingBalances,
  table: true,
});

/** `GET /reports/income` */
export const reportIncome = route({
  id: "report_income",
  method: "GET",
  path: "/reports/income",
  tag: "Reports",
  summary: "Get income by day",
  description:
    "Income of the brokerage on each of its closed days, by control account, over up to 92 days, as JSON or CSV.",
  file: "reports/income",
  scope: "reports:read",
  grants: ["query"],
  query: ReportDaysQuery,
  reply: IncomeReport,
  table: true,
});

/** `GET /usage` */
export const reportUsage = route({
  id: "report_usage",
  method: "GET",
  path: "/usage",
  tag: "Reports",
  summary: "Get usage and its cost by day",
  description:
    "What the applications and operators of the brokerage used: requests by route group with the units of the " +
    "database and the time of functions, events with their deliveries, and messages and connection minutes of the " +
    "stream, each with its cost at list prices. It is counted every hour; an hour is complete two hours after its " +
    "end. Requests without a token are of no brokerage, and what events cost behind a request is the cost of the " +
    "events. From the first day of the current month on it has a forecast of the month. It covers up to 31 days with " +
    "up to 5,000 rows together. More answers 400 `invalid_parameter`; request fewer days. As CSV (RFC " +
    "4180), with `Accept: text/csv` or `format=csv`, it has a line for each row of requests, of events and of the " +
    "stream.",
  file: "usage/report",
  scope: "reports:read",
  grants: ["query"],
  query: UsageQuery,
  reply: Usage,
  table: true,
});

/** `GET /reports/reconciliation` */
export const reportReconciliation = route({
  id: "report_reconciliation",
  method: "GET",
  path: "/reports/reconciliation",
  tag: "Reports",
  summary: "Get the latest reconciliations",
  description:
    "Each night the service compares the balances of all accounts with their ledgers, holds with open transactions, " +
    "ledgers with the control accounts and with the events, and checks that no event is missing and that the audit " +
    "log is whole. The report shows what the latest runs compared and each difference they found; a healthy " +
    "brokerage has none. The event `reconciliation.difference_found` announces the first difference of a run.",
  file: "reports/reconciliation",
  scope: "reports:read",
  grants: ["query"],
  reply: ReconciliationReport,
});

/** Rows of the reports. */
export const reportRoutes = [
  reportMoney,
  reportClosingBalances,
  reportIncome,
  reportUsage,
  reportReconciliation,
] as const;
