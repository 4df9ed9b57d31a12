import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessToken } from "../../infra/tools/api-call.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { type ApiClient, apiClient, patiently, someClient } from "../support/stack/api-client.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
/** Applications of the same tenant, of which each may do 50 requests a second: together they need not wait. */
let own: readonly ApiClient[];
/** Tokens of the first one with a single scope, by its name. */
const narrow = new Map<string, Promise<string>>();
/** A client of another tenant. */
let foreign: { readonly id: string };

beforeAll(async () => {
  stack = await sharedStack();
  const { tenant_id } = stack;
  const others = await Promise.all([1, 2, 3].map(() => stack.newApplication({ tenant_id })));
  own = [stack.api, ...others.map(({ api }) => api)];
  const stranger = await stack.newApplication();
  foreign = (await stranger.api.call<{ id: string }>("POST", "/clients", { body: someClient() })).body;
});
afterAll(async () => stack?.stop());

interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly request_id: string;
}

interface RawReply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** A request as bytes on the wire: no client library adds or repairs anything. */
async function raw(...request: Parameters<typeof once>): Promise<RawReply> {
  return patiently(() => once(...request));
}

function once(
  method: string,
  path: string,
  headers: Record<string, string | string[]> = {},
  body = "",
): Promise<RawReply> {
  const url = new URL(stack.baseUrl + path);
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      { method, headers: { ...headers, "Content-Length": Buffer.byteLength(body) } },
      (reply) => {
        let text = "";
        reply.setEncoding("utf8");
        reply.on("data", (chunk) => {
          text += chunk;
        });
        reply.on("end", () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }));
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}

let asked = 0;
/** The applications take turns. */
function next(): ApiClient {
  asked += 1;
  return own[asked % own.length] ?? stack.api;
}

const bearer = () => ({ Authorization: `Bearer ${next().token}` });

function narrowToken(scope: string): Promise<string> {
  const token = narrow.get(scope) ?? accessToken(stack.baseUrl, stack.credentials, scope);
  narrow.set(scope, token);
  return token;
}

function expectProblem(reply: RawReply, status: number, code: string): Problem {
  expect(`${reply.status} ${reply.text}`).toMatch(new RegExp(`^${status} `));
  expect(reply.headers["content-type"]).toBe("application/problem+json");
  expect(reply.headers["cache-control"]).toBe("no-store");
  const problem = JSON.parse(reply.text) as Problem;
  expect(problem).toMatchObject({ status, code });
  expect(problem.request_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(reply.headers["x-request-id"]).toBe(problem.request_id);
  for (const member of ["type", "title", "detail"] as const) expect(problem[member].length).toBeGreaterThan(3);
  return problem;
}

const pathOf = (row: { readonly path: string }) =>
  row.path
    .replace("{id}", "cli_01JD0000000000000000000001")
    .replace("{symbol}", "EURUSD")
    .replace("{seq}", "1")
    .replace("{command_id}", "cmd_01JD0000000000000000000009");
const guarded = routes.filter((row) => row.auth === "token");

/**
 * The first row of each method, with and without a path of its own. test/data/rows.test.ts asks every row what each
 * refuses by itself; what is asked of these shows that it comes through the gateway.
 */
const ofEachKind = (rows: readonly Route[]) => [
  ...new Map(rows.toReversed().map((row) => [`${row.method} ${row.path.includes("{")}`, row])).values(),
];
const strange = ["cli_01JD0000000000000000000009", "cli_short", "..%2Fclients", "%00"];

describe("every endpoint behind a token", () => {
  it.each(guarded)("$method $path answers 401 with a challenge when there is no token", async (row) => {
    const reply = await raw(row.method, pathOf(row));
    expectProblem(reply, 401, "unauthenticated");
    expect(reply.headers["www-authenticate"]).toBe('Bearer realm="brokerage"');
  });

  it.each(guarded.filter((row) => row.scope !== null))("$method $path answers 403 without its scope", async (row) => {
    const other = row.scope === "clients:read" ? "events:read" : "clients:read";
    const reply = await raw(row.method, pathOf(row), { Authorization: `Bearer ${await narrowToken(other)}` });
    expect(expectProblem(reply, 403, "insufficient_scope")).toMatchObject({ scope: row.scope });
  });

  const withId = guarded.filter((row) => row.path.includes("{id}"));

  async function expectNothingAt(row: Route, id: string): Promise<void> {
    const body = row.body === undefined ? undefined : row.example;
    const keyed = row.keyed === true ? { headers: { "Idempotency-Key": "another-tenant" } } : {};
    const query = row.path.endsWith("/statement") ? "?from=2026-10-01&to=2026-10-31" : "";
    const path = pathOf({ path: row.path.replace("{id}", id) }) + query;
    const reply = await next().call<Problem>(row.method, path, { body, ...keyed });
    expect({ id, status: reply.status, code: reply.body.code }).toEqual({ id, status: 404, code: "not_found" });
  }

  it.each(withId)("$method $path hides what another tenant has", (row) => expectNothingAt(row, foreign.id));

  it.each(ofEachKind(withId))("$method $path has nothing at an id that is none", async (row) => {
    for (const id of strange) await expectNothingAt(row, id);
  });

  it.each(ofEachKind(guarded))("$method $path refuses an unknown query parameter", async (row) => {
    const reply = await raw(row.method, `${pathOf(row)}?tenant_id=brk_1`, bearer());
    expect(JSON.parse(expectProblem(reply, 400, "unknown_parameter") && reply.text).errors[0].parameter).toBe(
      "tenant_id",
    );
  });
});

describe("an application that is bound to another address", () => {
  it("is refused where no scope is asked for, and gets and revokes no token", async () => {
    const { api, application_id, credentials } = await stack.newApplication({ tenant_id: stack.tenant_id });
    const bound = await stack.api.call("PATCH", `/applications/${application_id}`, {
      body: { allowed_ips: ["192.0.2.0/24"] },
    });
    expect(bound.status, bound.text).toBe(200);
    for (const row of guarded.filter(({ scope }) => scope === null)) {
      const reply = await raw(row.method, pathOf(row), { Authorization: `Bearer ${api.token}` });
      expectProblem(reply, 403, "address_not_allowed");
    }
    const asked = { token: { grant_type: "client_credentials" }, revoke: { token: "rt_unknown" } };
    for (const [path, fields] of Object.entries(asked)) {
      const body = new URLSearchParams({ ...fields, ...credentials });
      expect((await fetch(`${stack.baseUrl}/oauth/${path}`, { method: "POST", body })).status).toBe(401);
    }
  });
});

it("a token of an application that was revoked before the authorizer saw it is refused", async () => {
  const { api, application_id } = await stack.newApplication({ tenant_id: stack.tenant_id });
  expect((await stack.api.call("DELETE", `/applications/${application_id}`)).status).toBe(200);
  expectProblem(await raw("GET", "/me", { Authorization: `Bearer ${api.token}` }), 401, "unauthenticated");
});

describe("every endpoint with a body", () => {
  const json = () => ({ ...bearer(), "Content-Type": "application/json" });
  // test/data/rows.test.ts tries the bodies of every row; here they go through the gateway, to a row of each kind.
  const kinds = guarded.filter(({ id }) => ["create_client", "update_client", "retry_feed_reject"].includes(id));

  it.each(kinds)("$method $path answers 415 to another content type", async (row) => {
    const reply = await raw(row.method, pathOf(row), { ...bearer(), "Content-Type": "text/plain" }, "{}");
    expectProblem(reply, 415, "unsupported_media_type");
    if (row.method === "PATCH") expect(reply.headers["accept-patch"]).toContain("application/merge-patch+json");
  });

  it("of each kind is tried: one with a body, one with a patch and one that may have none", () => {
    expect(kinds.map(({ method, body_optional }) => [method, body_optional === true])).toEqual([
      ["POST", false],
      ["PATCH", false],
      ["POST", true],
    ]);
  });

  it.each(kinds)("$method $path answers 413 to more than 256 KiB", async (row) => {
    const reply = await raw(row.method, pathOf(row), json(), JSON.stringify({ a: "x".repeat(256 * 1024) }));
    expectProblem(reply, 413, "payload_too_large");
  });

  const bad: readonly (readonly [string, string, string])[] = [
    ["an empty body", "", "malformed_json"],
    ["a cut body", '{"a":', "malformed_json"],
    ["a list", "[]", "malformed_json"],
    ["a repeated member", '{"email":"a@b.co","email":"c@d.co"}', "duplicate_key"],
    ["a repeated member behind an escape", '{"email":"a@b.co","\\u0065mail":"c@d.co"}', "duplicate_key"],
    ["__proto__", '{"__proto__":{"admin":true}}', "malformed_json"],
    ["depth 33", `{"a":${"[".repeat(32)}${"]".repeat(32)}}`, "malformed_json"],
  ];
  const faults = kinds.flatMap((row) => bad.map(([what, body, code]) => ({ ...row, what, sent: body, code })));
  it.each(faults.filter(({ body_optional, sent }) => body_optional !== true || sent !== ""))(
    "$method $path answers 400 to $what",
    async ({ method, path, sent, code }) => {
      const reply = await raw(method, pathOf({ path }), json(), sent);
      expectProblem(reply, 400, code);
    },
  );

  it.each(kinds)("$method $path names every unknown field", async (row) => {
    const reply = await raw(row.method, pathOf(row), json(), '{"tenant_id":"brk_1","nonsense":1}');
    const problem = expectProblem(reply, 422, "validation_failed") as Problem & { errors: { pointer: string }[] };
    expect(problem.errors.map(({ pointer }) => pointer)).toEqual(expect.arrayContaining(["#/tenant_id", "#/nonsense"]));
  });
});

describe("the gateway", () => {
  it.each(["/nothing", "/clients/cli_1/nothing", "/", "/oauth", "/openapi.json/x"])(
    "answers 404 to the unknown path %s",
    async (path) => {
      expectProblem(await raw("GET", path), 404, "not_found");
      expectProblem(await raw("GET", path, bearer()), 404, "not_found");
    },
  );

  // The gateway finds the method of a path without the slashes at its end, so that a list would answer for an item
  // whose id is empty.
  async function expectNothingBehind(row: Route, slashes: string): Promise<void> {
    const headers = { ...(row.auth === "token" ? bearer() : {}), "Content-Type": "application/json" };
    const body = row.method === "GET" ? "" : JSON.stringify(row.example ?? {});
    const reply = await raw(row.method, `${pathOf(row)}${slashes}`, headers, body);
    expectProblem(reply, 404, "not_found");
  }

  it.each(routes)("answers 404 to $method $path/", (row) => expectNothingBehind(row, "/"));

  it.each(ofEachKind(routes))("answers 404 to $method $path//", (row) => expectNothingBehind(row, "//"));

  const paths = [...new Set(routes.map(({ path }) => path))];
  it.each(paths)("answers 405 with Allow to a method that %s does not have", async (path) => {
    const known = routes.filter((row) => row.path === path).map(({ method }) => method);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
      (one) => !known.includes(one as "GET"),
    )) {
      const reply = await raw(method, pathOf({ path }), bearer());
      expectProblem(reply, 405, "method_not_allowed");
      expect(String(reply.headers["allow"]).split(", ").sort()).toEqual([...known].sort());
    }
  });

  it("refuses two Authorization headers, a forged and a cut token", async () => {
    const { token } = stack.api;
    const [head = "", payload = "", signature = ""] = token.split(".");
    const forged = `${head}.${payload}.${signature.slice(0, -4)}AAAA`;
    const none = `${Buffer.from('{"alg":"none","typ":"at+jwt","kid":"x"}').toString("base64url")}.${payload}.`;
    for (const value of [
      `Bearer ${forged}`,
      `Bearer ${head}.${payload}`,
      `Bearer ${none}`,
      "Bearer",
      token,
      "Basic YTpi",
    ]) {
      const reply = await raw("GET", "/me", { Authorization: value });
      expect(reply.status, value.slice(0, 20)).toBe(401);
    }
    expect((await raw("GET", "/me", { Authorization: [`Bearer ${token}`, `Bearer ${token}`] })).status).toBe(401);
  });

  it("refuses headers of which the last would win", async () => {
    const json = { ...bearer(), "Content-Type": "application/json" };
    const twice = await raw(
      "POST",
      "/clients",
      { ...json, "Idempotency-Key": ["a", "b"] },
      JSON.stringify(someClient()),
    );
    expectProblem(twice, 400, "idempotency_key_invalid");
    const types = ["application/json", "application/json"];
    const typed = await raw("POST", "/clients", { ...bearer(), "Content-Type": types }, "{}");
    expectProblem(typed, 400, "invalid_parameter");
    for (const header of ["Authorization", "Content-Type"]) {
      const headers = { "Content-Type": "application/x-www-form-urlencoded", [header]: ["Basic YTpi", "Basic YTpi"] };
      const token = await raw("POST", "/oauth/token", headers, "grant_type=client_credentials");
      expect([token.status, JSON.parse(token.text).error]).toEqual([400, "invalid_request"]);
    }
  });

  it("refuses a header that names another method, whichever row it leads to", async () => {
    const made = await stack.api.call<{ id: string }>("POST", "/clients", { body: someClient() });
    for (const [method, named] of [
      ["POST", "PATCH"],
      ["GET", "PATCH"],
      ["PATCH", "GET"],
    ] as const) {
      const headers = { ...bearer(), "Content-Type": "application/json", "X-HTTP-Method-Override": named };
      const reply = await raw(method, `/clients/${made.body.id}`, headers, '{"first_name":"Changed"}');
      expectProblem(reply, 400, "invalid_parameter");
    }
    const kept = await stack.api.call<{ first_name: string }>("GET", `/clients/${made.body.id}`);
    expect(kept.body.first_name).toBe(someClient().first_name);
    const open = await raw("GET", "/health", { "X-HTTP-Method": "GET" });
    expectProblem(open, 400, "invalid_parameter");
    const form = { "Content-Type": "application/x-www-form-urlencoded", "X-Method-Override": "POST" };
    const token = await raw("POST", "/oauth/token", form, "grant_type=client_credentials");
    expect([token.status, JSON.parse(token.text).error]).toEqual([400, "invalid_request"]);
  });

  it("answers health and the descriptions without a token", async () => {
    expect(JSON.parse((await raw("GET", "/health")).text)).toMatchObject({ status: "ok", environment: "sandbox" });
    const openApi = JSON.parse((await raw("GET", "/openapi.json")).text);
    expect(openApi).toMatchObject({ openapi: "3.0.3", servers: [{ url: stack.baseUrl }] });
    const { protocol, host } = new URL(stack.cloud.streamUrl ?? "");
    const servers = { sandbox: { protocol: protocol.slice(0, -1), host } };
    expect(JSON.parse((await raw("GET", "/asyncapi.json")).text)).toMatchObject({ asyncapi: "3.0.0", servers });
  });

  it.each(["/openapi.json", "/asyncapi.json"])("answers %s again with its entity tag only", async (path) => {
    const description = await raw("GET", path);
    const again = await raw("GET", path, { "If-None-Match": String(description.headers["etag"]) });
    expect([again.status, again.text]).toEqual([304, ""]);
    const forCaches = ["etag", "vary", "cache-control"].map((name) => description.headers[name]);
    expect(forCaches).toEqual([expect.stringMatching(/^W\/"/), "Accept-Encoding", "public, max-age=300"]);
    expect(["etag", "vary", "cache-control"].map((name) => again.headers[name])).toEqual(forCaches);
  });

  it("compresses the description for who asks for that, under the same entity tag", async () => {
    const plain = await raw("GET", "/openapi.json");
    const packed = await fetch(`${stack.baseUrl}/openapi.json`, { headers: { "Accept-Encoding": "gzip" } });
    expect([plain.headers["content-encoding"], packed.headers.get("content-encoding")]).toEqual([undefined, "gzip"]);
    expect(packed.headers.get("etag")).toBe(plain.headers["etag"]);
    expect(await packed.text()).toBe(plain.text);
    const [bytes, of] = [Number(packed.headers.get("content-length")), Buffer.byteLength(plain.text)];
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(of / 5);
  });
});

describe("amounts", () => {
  const sent = (amount: string) => `{"account_id":"acc_01JD0000000000000000000002","amount":${amount}}`;
  it.each([
    "1e3",
    "-5",
    "+5",
    '"-5.00"',
    '"01.00"',
    '"1,000.00"',
    "true",
    "null",
    '""',
    '" 1.00"',
    '"1.00 "',
    "1234567890123456",
  ])("refuses the amount %s without an effect", async (amount) => {
    const headers = { ...bearer(), "Content-Type": "application/json" };
    const reply = await raw("POST", "/transactions/deposit", headers, sent(amount));
    expect([400, 422]).toContain(reply.status);
    expect(["validation_failed", "malformed_json"]).toContain(JSON.parse(reply.text).code);
  });
});

it("a client without any rights to see sees nothing of the stranger", async () => {
  const mine = await apiClient(stack.baseUrl, stack.api.token).call<{ data: { id: string }[] }>(
    "GET",
    "/clients?limit=100",
  );
  expect(mine.body.data.map(({ id }) => id)).not.toContain(foreign.id);
});
