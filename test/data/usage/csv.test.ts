import type { APIGatewayProxyEvent } from "aws-lambda";
import { expect, it } from "vitest";
import { csvText } from "../../../shared/csv.ts";
import { asksForTable } from "../../../shared/http/tables/table-reply.ts";
import type { UsageBody } from "../../../shared/schema/reports/usage.ts";
import { usageTable } from "../../../shared/usage/csv.ts";

const asks = (accept: string | readonly string[] | undefined, query: Record<string, string> = {}) => {
  const multiValueHeaders = accept === undefined ? {} : { accept: [accept].flat() };
  return asksForTable({ query, event: { multiValueHeaders } as unknown as APIGatewayProxyEvent });
};

it.each<[string | readonly string[] | undefined, boolean]>([
  [undefined, false],
  ["*/*", false],
  ["application/json", false],
  ["text/csv", true],
  ["Text/CSV; charset=utf-8", true],
  ["text/*", true],
  ["text/csv, */*;q=0.1", true],
  ["text/csv, */*", false],
  ["text/csv;q=0.5, application/json", false],
  ["application/json;q=0.5, text/csv; q=0.8", true],
  ["text/csv;q=0", false],
  ["text/csv;q=0, text/*", false],
  ["text/csv;q=many", false],
  ["text/html", false],
  ["", false],
  [["application/json;q=0.1", "text/csv"], true],
])("an Accept of %j asks for a table: %s", (accept, expected) => {
  expect(asks(accept)).toBe(expected);
});

it("lets the query decide where it says something", () => {
  expect(asks("text/csv", { format: "json" })).toBe(false);
  expect(asks("application/json", { format: "csv" })).toBe(true);
});

it.each(["=1+1", ";=1", "＝1", "＋1", "－1", "＠SUM(A1)", " =1", "\t=1"])(
  "shows %j as text to a spreadsheet",
  (actor_id) => {
    const rows = { data: [{ actor_id }], events: [], stream: [] } as unknown as UsageBody;
    const [, line] = String(usageTable(rows).body).split("\r\n");
    expect(line?.split(",").slice(0, 2)).toEqual(["", `'${actor_id}`]);
  },
);

it.each([
  ["-5.00", "-5.00"],
  ["12", "12"],
  ["0.0000001", "0.0000001"],
  ["-5.00+1", "'-5.00+1"],
  ["-", "'-"],
  ["+5", "'+5"],
  ["-5.", "'-5."],
  ["a\r\nb", '"a\r\nb"'],
  ['-"x"', `"'-""x"""`],
])("writes %j as %j: a number stays one, and a formula does not", (text, expected) => {
  expect(csvText(["a", "b"], [{ a: text }])).toBe(`a,b\r\n${expected},\r\n`);
});
