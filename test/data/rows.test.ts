import { fileURLToPath } from "node:url";
import type { APIGatewayProxyResult } from "aws-lambda";
import { beforeAll, describe, expect, it } from "vitest";
import type { Handler } from "../../shared/http/endpoint.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import type { TestAnswer } from "../support/emulator/api.ts";
import {
  addressOf,
  asOperator,
  lambdaContext,
  proxyEvent,
  type RequestParts,
  type TestCaller,
  withScopes,
} from "../support/emulator/request.ts";
import { api, broker, call, caller, expectManners, stranger } from "./resources-cases.ts";

/** A call of somebody whose tenant cannot be set up first, because it is none. */
async function callOf(unscoped: TestCaller, row: Route, address: string): Promise<APIGatewayProxyResult> {
  const path = fileURLToPath(new URL(`../../functions/${row.file}.ts`, import.meta.url));
  const { handler } = (await import(/* @vite-ignore */ path)) as { readonly handler: Handler };
  return handler(proxyEvent(unscoped, row.method, address, bodyFor(row)).event, lambdaContext());
}

const withId = routes.filter((row) => row.path.includes("{id}") && row.auth === "token");

const bodyFor = (row: Route) => (row.body === undefined ? {} : { body: row.example });

/** Something that a path may name, made by its owner: the same for every row, for a stranger changes none of it. */
let owned: { readonly client: string; readonly account: string; readonly transaction: string };
beforeAll(async () => {
  const account = await broker.account();
  const transaction = await broker.deposit(account, "1.00");
  owned = { client: account.client_id, account: account.id, transaction: transaction.id };
});

function ownedBy(row: Route): string {
  if (row.path.startsWith("/clients")) return owned.client;
  if (row.path.startsWith("/accounts")) return owned.account;
  return row.path.startsWith("/transactions") ? owned.transaction : newId("evt");
}

describe.each(withId.map((row) => [`${row.method} ${row.path}`, row] as const))("%s", (_, row) => {
  it("answers for what is another tenant's exactly as for what does not exist", async () => {
    const id = ownedBy(row);
    const foreign = await api.call(stranger, row.method, addressOf(row, id), bodyFor(row));
    const prefix = id.slice(0, 3);
    const unknown = await api.call(stranger, row.method, addressOf(row, newId(prefix)), bodyFor(row));
    const shape = ({ status, headers, body }: TestAnswer) => ({
      status,
      names: Object.keys(headers),
      body: { ...body, instance: "", request_id: "" },
    });
    expect(foreign.status).toBe(404);
    expect(shape(foreign)).toEqual(shape(unknown));
    expectManners(foreign);
  });

  it.each([
    "nonsense",
    "cli_01JD",
    "CLI_01JD0000000000000000000000",
    "cli_01JD000000000000000000000U",
    "brk_01JD0000000000000000000000|CLI",
  ])("answers for %s, which no identifier looks like, that there is nothing", async (id) => {
    const answer = await call(row.method, addressOf(row, encodeURIComponent(id)), bodyFor(row));
    expect(answer).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});

describe.each(routes.filter((row) => row.auth === "token").map((row) => [`${row.method} ${row.path}`, row] as const))(
  "%s",
  (_, row) => {
    const address = addressOf(row);

    it("refuses without an authorizer in front", async () => {
      const answer = await api.call(undefined, row.method, address, bodyFor(row));
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    });

    it("refuses a tenant that is none", async () => {
      for (const tenant_id of ["", "brk_", "GLOBAL", `${caller.tenant_id}|X`, caller.tenant_id.toLowerCase()]) {
        expect((await callOf({ ...caller, tenant_id }, row, address)).statusCode).toBe(401);
      }
    });

    it("refuses from an address that the application does not allow", async () => {
      const bound = { ...caller, allowed_ips: ["203.0.113.0/24", "2001:db8::/32"] };
      const from = (sourceIp: string) => api.call(bound, row.method, address, { ...bodyFor(row), sourceIp });
      expect(await from("198.51.100.1")).toMatchObject({ status: 403, body: { code: "address_not_allowed" } });
      for (const ip of ["203.0.113.77", "2001:db8::7"]) expect((await from(ip)).status).not.toBe(403);
    });

    it("refuses an application at the dashboard's address, before all else, and lets an operator on", async () => {
      const given = { ...bodyFor(row), browserIp: "203.0.113.9" };
      const refused = await api.call({ ...caller, scopes: [] }, row.method, address, given);
      expect(refused).toMatchObject({ status: 403, body: { code: "operators_only" } });
      const viewer = { ...asOperator(caller, "Ana", "viewer"), scopes: [] };
      const admitted = await api.call(viewer, row.method, address, given);
      // Any scope of the stream will do, and none is none of them; who one is and the limits are shown to everyone.
      const free: Readonly<Record<string, string | undefined>> = { create_stream_ticket: "insufficient_scope" };
      expect(admitted.body["code"]).toBe(row.scope === null ? free[row.id] : "insufficient_scope");
    });

    it("refuses a query parameter that it does not know", async () => {
      const answer = await call(row.method, `${address}${address.includes("?") ? "&" : "?"}nope=1`, bodyFor(row));
      expect(answer).toMatchObject({
        status: 400,
        body: { code: "unknown_parameter", errors: [{ parameter: "nope" }] },
      });
    });
  },
);

describe("the dashboard's address", () => {
  it("lets a person sign in and out, and gives no other answer of an endpoint that needs no token", async () => {
    const open = routes.filter(({ auth }) => auth === "none");
    const answers = open.map(async (row) => {
      const answer = await api.call(undefined, row.method, row.path, { ...bodyFor(row), browserIp: "203.0.113.9" });
      return [row.id, answer.status, answer.body.code ?? answer.body.error];
    });
    const wanted = open.map(({ id }) =>
      ["create_token", "revoke_token"].includes(id) ? [id, 401, "invalid_client"] : [id, 403, "operators_only"],
    );
    expect(await Promise.all(answers)).toEqual(wanted);
  });
});

const scoped = routes.filter((row) => row.scope !== null);

describe.each(scoped.map((row) => [`${row.method} ${row.path}`, row] as const))("%s", (_, row) => {
  it("refuses without its scope, and names it", async () => {
    const poor = { ...caller, scopes: caller.scopes.filter((scope) => scope !== row.scope) };
    const answer = await api.call(poor, row.method, addressOf(row), bodyFor(row));
    expect(answer).toMatchObject({ status: 403, body: { code: "insufficient_scope", scope: row.scope } });
  });
});

const withBody = routes.filter((row) => row.body !== undefined && row.auth === "token");

describe.each(withBody.map((row) => [`${row.method} ${row.path}`, row] as const))("the body of %s", (_, row) => {
  const address = addressOf(row);
  const send = (body: unknown, headers: Record<string, string> = {}, more: RequestParts = {}) =>
    call(row.method, address, { body, headers, ...more });

  it.each([
    ["text/plain"],
    ["application/x-www-form-urlencoded"],
    ["application/jsonx"],
    ["application/json; charset=latin1"],
    [""],
  ])("is refused as %j", async (type) => {
    const answer = await send("{}", { "Content-Type": type });
    expect(answer).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    expect(answer.headers["Accept-Patch"]).toBe(
      row.media === "merge_patch" ? "application/merge-patch+json, application/json" : undefined,
    );
  });

  it.each([
    ["nothing", "", "malformed_json"],
    ["half of it", '{"a":', "malformed_json"],
    ["a list", "[]", "malformed_json"],
    ["a member twice", '{"a":1,"\\u0061":2}', "duplicate_key"],
    ["a __proto__", '{"__proto__":{"admin":true}}', "malformed_json"],
    ["33 levels", `{"a":${"[".repeat(32)}${"]".repeat(32)}}`, "malformed_json"],
  ])("is refused with %s", async (_, text, code) => {
    const answer = await send(text);
    expect(answer).toMatchObject({ status: 400, body: { code } });
    expectManners(answer);
  });

  it("is refused when its bytes are not UTF-8", async () => {
    const answer = await call(row.method, address, { body: '{"\u00ff":1}', base64: "latin1" });
    expect(answer).toMatchObject({ status: 400, body: { code: "malformed_json" } });
  });

  it("may have 256 KiB and not one byte more", async () => {
    const filled = (bytes: number) => `{"x":"${"é".repeat((bytes - 8) / 2)}"}`;
    expect((await send(filled(256 * 1024))).status).toBe(422);
    expect(await send(filled(256 * 1024 + 2))).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
  });

  it("may come in base64, in any case of its type", async () => {
    const answer = await send('{"x":1}', { "Content-Type": 'Application/JSON; Charset="UTF-8"' }, { base64: "utf8" });
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: expect.arrayContaining([{ pointer: "#/x", code: "unknown_field", detail: "is not known" }]) },
    });
  });

  it("cannot name a tenant", async () => {
    const answer = await send({ ...(row.example as object), tenant_id: stranger.tenant_id });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/tenant_id" }] } });
  });
});

describe("every answer", () => {
  it("echoes a correlation id that is one, and nothing else", async () => {
    const echo = async (given: string) =>
      (await call("GET", "/clients", { headers: { "x-correlation-id": given } })).headers["X-Correlation-Id"];
    expect(await echo("order-1.a_B")).toBe("order-1.a_B");
    for (const given of ["", "a b", "é", "x".repeat(65), "a\r\nSet-Cookie: b"])
      expect(await echo(given)).toBeUndefined();
  });

  it("carries no address of the caller's own choosing", async () => {
    const answer = await call("GET", "/clients?limit=1", {
      headers: { Host: "evil.example", "X-Forwarded-Host": "evil.example" },
    });
    expect(`${answer.text}${JSON.stringify(answer.headers)}`).not.toContain("evil.example");
  });

  it("to a scope that a decision needs is 403 and changes nothing", async () => {
    const client = await broker.client();
    const poor = withScopes(caller, "clients:write");
    const answer = await api.call(poor, "PATCH", `/clients/${client.id}`, {
      body: { verification_status: "verified" },
    });
    expect(answer).toMatchObject({ status: 403, body: { code: "insufficient_scope", scope: "clients:verify" } });
    expect(await broker.get(`/clients/${client.id}`)).toEqual(client);
  });
});

describe("an open endpoint", () => {
  it("tells that the service is well without a token", async () => {
    expect(await api.call(undefined, "GET", "/health")).toMatchObject({ status: 200, body: { status: "ok" } });
  });

  it.each([
    ["openapi", "3.0.3"],
    ["asyncapi", "3.0.0"],
  ])("gives out the document of %s, and not again to who has it", async (name, version) => {
    const { status, headers, body } = await api.call(undefined, "GET", `/${name}.json`);
    expect([status, body[name], headers["Cache-Control"]]).toEqual([200, version, "public, max-age=300"]);
    const again = await api.call(undefined, "GET", `/${name}.json`, {
      headers: { "If-None-Match": headers["ETag"] ?? "" },
    });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});
