import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, patiently } from "../support/stack/api-client.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function ask(init: RequestInit, query = ""): Promise<Answer> {
  const reply = await fetch(`${stack.baseUrl}/oauth/token${query}`, { method: "POST", ...init });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Record<string, unknown> };
}

const form = (fields: Record<string, string>) => ({ body: new URLSearchParams(fields) });
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
const grant = { grant_type: "client_credentials" };

describe("an outside client library", () => {
  it.each(["basic", "post"] as const)("gets a token by %s that the API takes", async (way) => {
    const { client_id, client_secret } = stack.credentials;
    const server = { issuer: "https://sandbox.brokerage.example", token_endpoint: `${stack.baseUrl}/oauth/token` };
    const authentication =
      way === "basic" ? oauth.ClientSecretBasic(client_secret) : oauth.ClientSecretPost(client_secret);
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      { client_id },
      authentication,
      new URLSearchParams({ scope: "clients:read events:read" }),
      { [oauth.allowInsecureRequests]: true },
    );
    const token = await oauth.processClientCredentialsResponse(server, { client_id }, response);
    expect(token).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: "clients:read events:read" });
    const api = apiClient(stack.baseUrl, token.access_token);
    expect((await api.call("GET", "/clients")).status).toBe(200);
    expect((await api.call("GET", "/accounts")).body["code"]).toBe("insufficient_scope");
  });
});

describe("the token endpoint", () => {
  it("takes raw Basic credentials, a form and JSON, and forbids every cache to keep the answer", async () => {
    const { client_id, client_secret } = stack.credentials;
    const requests: RequestInit[] = [
      { ...form(grant), headers: { Authorization: basic(client_id, client_secret) } },
      { ...form(grant), headers: { Authorization: basic(client_id, client_secret).replace("Basic", "bAsIc") } },
      form({ ...grant, ...stack.credentials, unknown: "ignored" }),
      { body: JSON.stringify({ ...grant, ...stack.credentials }), headers: { "Content-Type": "application/json" } },
    ];
    for (const request of requests) {
      const { status, headers, body } = await ask(request);
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(Object.keys(body).sort()).toEqual([
        "access_token",
        "expires_in",
        "refresh_token",
        "refresh_token_expires_in",
        "scope",
        "token_type",
      ]);
      expect(body["refresh_token"]).toMatch(/^rt_[\w-]{118}$/);
      expect(Number(headers.get("x-ratelimit-remaining"))).toBeLessThan(1000);
    }
  });

  it("gives each way of failing the error that the standard names", async () => {
    const { client_id, client_secret } = stack.credentials;
    const header = { Authorization: basic(client_id, client_secret) };
    const stranger = "app_AAAAAAAAAAAAAAAAAAAAAAAA";
    const cases: readonly (readonly [string, RequestInit, number, string, string?])[] = [
      ["no grant", { ...form({}), headers: header }, 400, "invalid_request"],
      ["another grant", { ...form({ grant_type: "password" }), headers: header }, 400, "unsupported_grant_type"],
      ["two ways at once", { ...form({ ...grant, client_secret }), headers: header }, 400, "invalid_request"],
      ["two ids", { ...form({ ...grant, client_id: stranger }), headers: header }, 400, "invalid_request"],
      [
        "a repeated parameter",
        {
          body: "grant_type=client_credentials&grant_type=x",
          headers: { ...header, "Content-Type": "application/x-www-form-urlencoded" },
        },
        400,
        "invalid_request",
      ],
      [
        "another content type",
        { body: "x", headers: { ...header, "Content-Type": "application/xml" } },
        400,
        "invalid_request",
      ],
      [
        "broken JSON",
        { body: "{", headers: { ...header, "Content-Type": "application/json" } },
        400,
        "invalid_request",
      ],
      [
        "an unknown scope",
        { ...form({ ...grant, scope: "clients:read root" }), headers: header },
        400,
        "invalid_scope",
      ],
      ["credentials in the query", form(grant), 400, "invalid_request", `?client_id=${client_id}&client_secret=x`],
      ["no credentials", form(grant), 401, "invalid_client"],
      ["a wrong secret", form({ ...grant, client_id, client_secret: `${client_secret}x` }), 401, "invalid_client"],
      ["an unknown client", form({ ...grant, client_id: stranger, client_secret }), 401, "invalid_client"],
      [
        "a client id of another form",
        form({ ...grant, client_id: "GLOBAL|KEYS", client_secret }),
        401,
        "invalid_client",
      ],
    ];
    for (const [what, request, status, error, query] of cases) {
      // Failures of the tests before count for the same address and minute.
      const answer = await patiently(() => ask(request, query));
      expect({ what, status: answer.status, error: answer.body["error"] }).toEqual({ what, status, error });
      expect(answer.headers.get("www-authenticate")).toBeNull();
      expect(JSON.stringify(answer.body)).not.toContain(client_secret);
    }
  }, 120_000);

  it("does not tell a wrong secret from an unknown client", async () => {
    const secret = stack.credentials.client_secret;
    const unknown = await ask(form({ ...grant, client_id: "app_BBBBBBBBBBBBBBBBBBBBBBBB", client_secret: secret }));
    const wrong = await ask(form({ ...grant, client_id: stack.credentials.client_id, client_secret: "wrong" }));
    expect([unknown.status, unknown.body]).toEqual([wrong.status, wrong.body]);
  });
});

it("an application that is made for an unknown tenant is refused and leaves nothing", async () => {
  const answer = await stack.cloud.invoke("brokerage-sandbox-provision", {
    action: "create_application",
    tenant_id: "brk_01JD0000000000000000000009",
    name: "Nobody",
    scopes: null,
  });
  expect(answer.functionError).toBeDefined();
  expect(JSON.stringify(answer.payload)).toContain("There is no tenant");
});

it("an application that is made at a terminal leaves an entry of the audit, without its secret", async () => {
  const { name, cloud, tenant_id, api } = { ...stack, name: "Made at a terminal" };
  const request = { action: "create_application", tenant_id, name, scopes: ["clients:read"] };
  const { payload } = await cloud.invoke("brokerage-sandbox-provision", request);
  const made = payload as { application_id: string; client_secret: string };
  const read = async () => {
    const path = `/audit_log?resource=${made.application_id}`;
    const { data } = (await api.call<{ data: object[] }>("GET", path)).body;
    return data.length === 0 ? undefined : data;
  };
  const entries = await eventually(read);
  expect(entries).toMatchObject([
    {
      actor: { type: "system", id: "terminal" },
      ...{ action: "create_application", resource: { type: "application", id: made.application_id } },
      ...{ ip: null, outcome: "succeeded", request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      changes: [{ before: null, after: { name, scopes: ["clients:read"], status: "active" } }],
    },
  ]);
  expect(JSON.stringify(entries)).not.toContain(made.client_secret);
});
