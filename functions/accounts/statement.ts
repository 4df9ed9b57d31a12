import { statementOf } from "../../shared/books/statement.ts";
import { statementColumns, statementRows } from "../../shared/domain/books/statement.ts";
import { read } from "../../shared/http/operations.ts";
import { asksForTable, tableAnswer } from "../../shared/http/tables/table-reply.ts";
import { getStatement } from "../../shared/routes/accounts.ts";

/** `GET /accounts/{id}/statement` */
export const handler = await read(
  getStatement,
  ({ path, caller: { tenant_id, scopes }, query: { from = "", to = "" } }) =>
    statementOf(tenant_id, path.id, { from, to }, scopes.includes("clients:read")),
  { isAsked: asksForTable, show: (statement) => tableAnswer(statementColumns, statementRows(statement)) },
);
