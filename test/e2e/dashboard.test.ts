import { randomUUID } from "node:crypto";
import { type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient } from "../support/stack/api-client.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { exchangeIdToken, poolClient } from "../support/stack/pool-client.ts";
import { Browser, signIn } from "../support/stack/sign-in.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
let dashboard: URL;
beforeAll(async () => {
  stack = await sharedStack();
  dashboard = new URL(stack.cloud.dashboardUrl ?? "");
});
afterAll(async () => stack?.stop());

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request from an address of the loopback, which only Linux has more than one of. */
function from(localAddress: string, url: URL, { method = "GET", headers = {}, body }: Sent = {}) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
    const sent = request(url, { method, headers, localAddress }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const formType = { "Content-Type": "application/x-www-form-urlencoded" };

/** An access token of an operator of this role. */
async function operatorToken(role: "owner"): Promise<string> {
  const { pool } = stack.cloud;
  if (pool === undefined) throw new Error("The stack has no user pool.");
  const user = await newOperator(stack, role);
  const client = poolClient(pool.addresses, new URL("/signed-in", dashboard).href);
  const { url } = await client.createSigninRequest({});
  const { id_token } = await client.processSigninResponse(await signIn(new Browser(), url, user));
  const answer = await exchangeIdToken(new URL("/v2", dashboard).href, id_token);
  return ((await answer.json()) as { access_token: string }).access_token;
}

describe("the dashboard's address", () => {
  it("serves the built application with its policy, its settings, and the API's own answers below /v2", async () => {
    const page = await fetch(new URL("/accounts/acc_01JD0000000000000000000002", dashboard));
    const html = await page.text();
    expect([page.status, page.headers.get("content-type"), page.headers.get("cache-control")]).toEqual([
      ...[200, "text/html", "no-cache"],
    ]);
    const { issuer, client_id } = stack.cloud.pool?.addresses ?? { issuer: "", client_id: "" };
    const pool = new URL(issuer).origin;
    const stream = new URL(stack.cloud.streamUrl ?? "").origin;
    expect(page.headers.get("content-security-policy")).toContain(`connect-src 'self' ${pool} ${pool} ${stream};`);
    const [script = ""] = /\/assets\/[^"]+\.js/.exec(html) ?? [];
    const asset = await fetch(new URL(script, dashboard));
    expect([asset.headers.get("content-type"), asset.headers.get("cache-control")]).toEqual([
      ...["text/javascript", "public, max-age=31536000, immutable"],
    ]);
    expect(await (await fetch(new URL("/config.json", dashboard))).json()).toEqual({
      ...{ issuer, client_id, logout_url: `${pool}/logout`, api_url: stack.baseUrl },
    });
    const nothing = await fetch(new URL("/v2/nothing", dashboard));
    expect([nothing.status, nothing.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  it("accepts operators and the token endpoint only", async () => {
    const headers = { Authorization: `Bearer ${stack.api.token}` };
    const refused = await fetch(new URL("/v2/clients", dashboard), { headers });
    expect([refused.status, await refused.json()]).toEqual([
      403,
      expect.objectContaining({ code: "operators_only", detail: `Call the API at ${stack.baseUrl}/ instead.` }),
    ]);
    expect((await fetch(new URL("/v2/health", dashboard))).status).toBe(403);
  });
});

describe.runIf(process.platform === "linux")("the address of a sender", () => {
  const [one, other] = ["127.0.0.5", "127.0.0.6"];
  const forged = [
    { "X-Forwarded-For": one },
    { "X-Forwarded-For": `${one}, ${one}, ${one}` },
    { "X-Forwarded-For": one, "X-Origin-Verify": "A".repeat(64) },
    { "X-Forwarded-For": one, "X-Origin-Verify": "" },
    { "X-Real-IP": one, Forwarded: `for=${one}`, "CloudFront-Viewer-Address": `${one}:443`, "True-Client-IP": one },
  ];

  it("counts for allowed_ips as it is, at both addresses, whatever forwarding headers claim", async () => {
    const made = await stack.api.call<{ client_id: string; client_secret: string }>("POST", "/applications", {
      body: { name: "Bound", scopes: ["clients:read"], allowed_ips: [one] },
    });
    const { client_id, client_secret } = made.body;
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }).toString();
    const ask = async (address: string, url: URL, headers: object = {}) =>
      (await from(address, url, { method: "POST", body, headers: { ...formType, ...headers } })).status;
    const entrances = [new URL(`${stack.baseUrl}/oauth/token`), new URL("/v2/oauth/token", dashboard)];
    for (const url of entrances) {
      await eventually(async () => ((await ask(one, url)) === 200 ? true : undefined));
      for (const headers of forged) expect([await ask(other, url, headers), url.host]).toEqual([401, url.host]);
      for (const headers of forged) expect(await ask(one, url, { ...headers, "X-Forwarded-For": other })).toBe(200);
    }
  });

  it("is the browser's in the audit, at both addresses, whatever forwarding headers claim", async () => {
    const token = await operatorToken("owner");
    const create = (address: string, base: URL, headers: object) => {
      const body = JSON.stringify({ email: `${randomUUID()}@example.com`, first_name: "Ana", last_name: "Silva" });
      const sent = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers };
      return from(address, new URL("/v2/clients", base), { method: "POST", body, headers: sent });
    };
    const api = new URL(stack.baseUrl);
    const expected: string[] = [];
    for (const base of [api, dashboard]) {
      for (const headers of [{}, ...forged]) {
        const { status, text } = await create(other, base, headers);
        expect([status, text]).toEqual([201, expect.any(String)]);
        expected.push(other);
      }
    }
    const client = apiClient(stack.baseUrl, token);
    const addresses = await eventually(async () => {
      const { body } = await client.call<{ data: { ip: string; action: string }[] }>("GET", "/audit_log?limit=50");
      const made = body.data.filter(({ action }) => action === "create_client").map(({ ip }) => ip);
      return made.length === expected.length ? made : undefined;
    });
    expect(addresses).toEqual(expected);
  });
});
