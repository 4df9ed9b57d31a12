import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { Nothing } from "../../shared/schema/oauth.ts";
import { problemCodes } from "../../shared/schema/problem.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { anyText } from "../support/builders/text.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { fitting, hostile, ids, members, rarely, type Schema, schemaOf, unexpected } from "./fuzz-values.ts";

const api = await startApi();
afterAll(api.stop);

const runs = Number(process.env["FUZZ_RUNS"] ?? "250");
const seed = process.env["FUZZ_SEED"];
const caller = newCaller();
const stranger = newCaller();
const canary = "canary of a stranger";

/** Lists with a cursor that they gave out. */
const pages: { readonly address: string; readonly cursor: string }[] = [];

beforeAll(async () => {
  for (const each of [caller, stranger]) {
    const broker = brokerage(api, each);
    const account = await broker.account("1000.00");
    const deposit = await broker.deposit(account, "10.00");
    const withdrawal = await broker.withdrawal(account, "20.00");
    await broker.account("5.00");
    if (each === stranger) ids.push((await broker.client({ first_name: canary, metadata: { note: canary } })).id);
    ids.push(account.id, account.client_id, deposit.id, withdrawal.id, each.tenant_id, each.application_id);
    if (each === stranger) continue;
    const lists = [
      ...["/clients", "/accounts", "/transactions", "/transactions?status=pending,completed"],
      ...[`/accounts/${account.id}/transactions`, `/clients/${account.client_id}/transactions`],
    ];
    for (const list of lists) {
      const address = `${list}${list.includes("?") ? "&" : "?"}limit=1`;
      const next = (await broker.get(address))._links?.next?.href as string | undefined;
      const cursor = next === undefined ? null : new URL(next, "https://api.test.example").searchParams.get("cursor");
      if (cursor !== null) pages.push({ address, cursor });
    }
  }
  expect(pages.length).toBeGreaterThan(3);
});

const rawBodies = fc.oneof(
  hostile,
  fc.json(),
  anyText({ maxLength: 60 }),
  fc.constantFrom(
    ...['{"a":1,"a":2}', '{"__proto__":{"x":1}}', '{"amount":1e400}', '{"email":"\\ud800"}', "\ufeff{}", '{"a":01}'],
    ...[
      "[".repeat(40_000),
      `{"a":${"[".repeat(31)}${"]".repeat(31)}}`,
      `{"a":"${"x".repeat(300_000)}"}`,
      "{}",
      '{"":0}',
      '{"constructor":{"prototype":1}}',
    ],
    ...[
      `{${Array.from({ length: 3000 }, (_, index) => `"m${index}":null`).join()}}`,
      `{"tags":[${"1,".repeat(9000)}1]}`,
    ],
  ),
);

function bodyOf(row: Route): fc.Arbitrary<unknown> {
  if (row.body === undefined) return rarely(6, rawBodies, undefined);
  const form = row.media === "form_or_json";
  const valid = members(schemaOf(row.body));
  return fc.oneof(
    ...(row.example === undefined || form ? [] : [{ weight: 6, arbitrary: nearExample(row.example, valid) }]),
    { weight: 6, arbitrary: form ? valid.map((each) => formOf(each)) : valid },
    { weight: 1, arbitrary: valid },
    { weight: 1, arbitrary: valid.map((each) => JSON.stringify(each).slice(0, -1)) },
    { weight: 2, arbitrary: rawBodies },
  );
}

/** The example of a row about what exists here, half of the time with some member as the schema alone would have it. */
function nearExample(
  example: unknown,
  valid: fc.Arbitrary<Record<string, unknown>>,
): fc.Arbitrary<Record<string, unknown>> {
  const own = (text: string) => ids.filter((id) => id.startsWith(text.slice(0, 4))).at(1) ?? text;
  return fc.tuple(valid, fc.nat(), fc.boolean(), fc.uuid()).map(([other, nth, changed, word]) => {
    const base = Object.entries(example as Record<string, unknown>).map(([name, value]): [string, unknown] =>
      name === "email" ? [name, `${word}@example.com`] : [name, typeof value === "string" ? own(value) : value],
    );
    const more = Object.entries(other);
    return Object.fromEntries([...base, ...(changed && more.length > 0 ? [more[nth % more.length] ?? []] : [])]);
  });
}

function formOf(values: Readonly<Record<string, unknown>>): string {
  return new URLSearchParams(
    Object.entries(values).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}

const visible = fc.string({ unit: fc.constantFrom(...'aZ09-_.~/+:;,="\\ %é\u0001'), maxLength: 300 });
const headerText = fc.oneof(
  visible,
  hostile.filter((text) => !/[\r\n]/.test(text)),
);
const tag = fc.constantFrom("*", '"1"', '"2"', 'W/"1"', '"1-00000000"', '"1", "2"', ",", '"', '"9007199254740993"');
const key = fc.oneof(
  { weight: 3, arbitrary: fc.uuid() },
  { weight: 1, arbitrary: fc.constantFrom("k1", '"k1"', "k2") },
  { weight: 1, arbitrary: headerText },
);

function headersOf(row: Route): fc.Arbitrary<Record<string, string>> {
  const types = [
    "application/json; charset=utf-8",
    "application/json;charset=latin1",
    "text/plain",
    "",
    ";",
    "APPLICATION/JSON",
  ];
  const wrong = { weight: 1, arbitrary: fc.oneof(fc.constantFrom(...types), headerText) };
  const form = { weight: 4, arbitrary: fc.constant("application/x-www-form-urlencoded") };
  const names: Record<string, fc.Arbitrary<string>> = {
    ...(row.media === "form_or_json" ? { "Content-Type": fc.oneof(wrong, form) } : {}),
    "Idempotency-Key": key,
    "If-Match": fc.oneof({ weight: 4, arbitrary: tag }, { weight: 1, arbitrary: headerText }),
    "If-None-Match": fc.oneof(tag, headerText),
    "X-Correlation-Id": headerText,
    Accept: headerText,
    Host: headerText,
  };
  const usual = fc.record(names, { requiredKeys: row.media === "form_or_json" ? ["Content-Type"] : [] });
  const other = rarely(10, fc.oneof(fc.constantFrom(...types), headerText), null);
  return fc.tuple(fc.nat(1), usual, other).map(([some, given, type]) => ({
    ...(some === 0 && row.media !== "form_or_json" ? {} : given),
    ...(type === null ? {} : { "Content-Type": type }),
  }));
}

function queryOf(row: Route): fc.Arbitrary<string> {
  const { properties = {} } = schemaOf(row.query);
  const value = (schema: Schema) =>
    fc.oneof({ weight: 8, arbitrary: fitting(schema) }, { weight: 1, arbitrary: unexpected });
  const own = Object.entries(properties).map(([name, schema]) =>
    fc
      .tuple(fc.nat(9), name === "cursor" ? cursors : value(schema))
      .map(([luck, given]) => (luck < 2 ? [[name, given]] : luck === 2 && name === "limit" ? [[name, "1"]] : [])),
  );
  const extra = rarely(20, fc.tuple(hostile, unexpected), null);
  return fc.tuple(extra, ...own).map(([more, ...parts]) => {
    const pairs = [...(more == null ? [] : [more]), ...parts.flat()] as [string, unknown][];
    return new URLSearchParams(pairs.map(([name, given]): [string, string] => [name, String(given)])).toString();
  });
}

/** Cursors that look right: their parts, one of them replaced. */
const cursors = fc
  .tuple(
    fc.nat(4),
    fc.constantFrom("n", "p", "N", "P", "x"),
    fc.oneof(fc.stringMatching(/^[0-9A-Z|]{1,64}$/), hostile),
    fc.stringMatching(/^[0-9a-f]{12}$/),
  )
  .map(([version, way, position, owner]) =>
    Buffer.from(JSON.stringify([version === 0 ? 2 : 1, way, position, owner])).toString("base64url"),
  );

interface Case {
  readonly row: Route;
  readonly address: string;
  readonly parts: RequestParts;
}

function caseOf(row: Route): fc.Arbitrary<Case> {
  const prefix = { "/clients": "cli_", "/accounts": "acc_", "/transactions": "txn_" }[
    /^\/\w+/.exec(row.path)?.[0] ?? ""
  ];
  const fit = ids.filter((each) => prefix === undefined || each.startsWith(prefix));
  const id = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...fit) },
    { weight: 1, arbitrary: fc.constantFrom(...ids) },
    { weight: 1, arbitrary: hostile },
  );
  const base64 = rarely(5, fc.constantFrom("utf8" as const, "latin1" as const), undefined);
  return fc
    .tuple(id, queryOf(row), bodyOf(row), headersOf(row), base64)
    .map(([given, query, body, headers, coded]) => ({
      row,
      address: row.path.replace(/\{\w+\}/g, encodeURIComponent(given)) + (query === "" ? "" : `?${query}`),
      parts: {
        headers,
        ...(body === undefined ? {} : { body }),
        ...(coded === undefined || body === undefined ? {} : { base64: coded }),
      },
    }));
}

/**
 * A cursor that a list gave out, with its position replaced by another that is well formed, or with its text
 * damaged.
 */
function forgedPage(): fc.Arbitrary<Case> {
  const position = fc.oneof(
    fc.stringMatching(/^[0-9A-Z|]{1,64}$/),
    fc.constantFrom("|", "0", "ZZZZ", "||", "Z".repeat(64)),
  );
  const way = fc.constantFrom("n", "p", "N", "P");
  return fc
    .tuple(fc.constantFrom(...pages), position, way, rarely(4, fc.nat(60), null))
    .map(([{ address, cursor }, to, direction, damage]) => {
      const [version, , , owner] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
      const forged = Buffer.from(JSON.stringify([version, direction, to, owner])).toString("base64url");
      const text = damage === null ? forged : forged.slice(0, damage) + forged.slice(damage + 1);
      const path = address.split("?")[0] ?? "";
      const row = routes.find((each) => each.method === "GET" && patternOf(each).test(path));
      if (row === undefined) throw new Error(`No row lists ${path}.`);
      return { row, address: `${address}&cursor=${text}`, parts: {} };
    });
}

function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`);
}

const required = ["type", "title", "status", "detail", "instance", "code", "request_id"] as const;

/** Rules of every answer, whatever was asked. */
function judge({ row, parts }: Case, { status, headers, text, body }: TestAnswer): void {
  expect(status).toBeLessThan(500);
  expect(headers["X-Request-Id"]).toMatch(/^\S+$/);
  for (const value of Object.values(headers)) expect(value).not.toMatch(/[\r\n]/);
  expect([undefined, parts.headers?.["X-Correlation-Id"]]).toContain(headers["X-Correlation-Id"]);
  expect(text).not.toContain(canary);
  expect(text).not.toMatch(/arn:aws|\.ts:\d|DynamoDB|node_modules/);
  if (status === 304) {
    expect(text).toBe("");
    return;
  }
  if (status < 400 && row.reply === Nothing) {
    expect([text, headers["Content-Type"]]).toEqual(["", undefined]);
    return;
  }
  if (status < 400) {
    expect(headers["Content-Type"]).toMatch(/^application\/json/);
    expect(safeParse(row.reply, body).error).toBeUndefined();
    return;
  }
  if (row.media === "form_or_json" && body.error !== undefined) {
    // The token endpoint answers as RFC 6749 5.2 says.
    expect(headers["Content-Type"]).toBe("application/json");
    expect(Object.keys(body)).toEqual(["error", "error_description"]);
    return;
  }
  expect(headers["Content-Type"]).toBe("application/problem+json");
  for (const name of required) expect(body).toHaveProperty(name);
  expect(body.status).toBe(status);
  expect(problemCodes).toContain(body.code);
  expect(body.request_id).toBe(headers["X-Request-Id"]);
  expect(body.detail).toMatch(/\S/);
  for (const each of body.errors ?? []) {
    expect(Object.keys(each)).toEqual([expect.stringMatching(/^(?:pointer|parameter|header)$/), "code", "detail"]);
  }
}

describe("any request to any row", () => {
  it(`is answered by the row or refused with a problem document, never with a failure (${runs} cases)`, async () => {
    const cases = fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...routes).chain(caseOf) },
      { weight: 1, arbitrary: forgedPage() },
    );
    await fc.assert(
      fc.asyncProperty(cases, async (each) => {
        const from = each.row.auth === "none" ? undefined : caller;
        const answer = await api.call(from, each.row.method, each.address, each.parts);
        judge(each, answer);
      }),
      { numRuns: runs, ...(seed === undefined ? {} : { seed: Number(seed) }) },
    );
  }, 600_000);
});
