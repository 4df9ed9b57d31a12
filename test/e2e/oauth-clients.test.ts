import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as oauth from "oauth4webapi";
import type { SigninResponse } from "oidc-client-ts";
import * as openid from "openid-client";
import { ClientCredentials } from "simple-oauth2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessToken, type Credentials } from "../../infra/tools/api-call.ts";
import { type ApiClient, apiClient, fundedAccount } from "../support/stack/api-client.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { exchangeIdToken, poolClient } from "../support/stack/pool-client.ts";
import { Browser, signIn } from "../support/stack/sign-in.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

const issuer = "https://sandbox.brokerage.example";
const audience = "https://sandbox.brokerage.example/v2";
const scope = "clients:read events:read";
const insecure = { [oauth.allowInsecureRequests]: true };
const server = () => ({
  issuer,
  token_endpoint: `${stack.baseUrl}/oauth/token`,
  revocation_endpoint: `${stack.baseUrl}/oauth/revoke`,
  jwks_uri: `${stack.baseUrl}/.well-known/jwks.json`,
});

/** Token request of every client library, in its own words. */
interface Tokens {
  readonly access: string;
  readonly refresh: string;
}
interface Library {
  readonly get: () => Promise<Tokens>;
  readonly refresh: (tokens: Tokens) => Promise<Tokens>;
  readonly revoke: (tokens: Tokens) => Promise<unknown>;
}

function webApi(authentication: (secret: string) => oauth.ClientAuth): Library {
  const { client_id, client_secret } = stack.credentials;
  const [as, client, auth] = [server(), { client_id }, authentication(client_secret)];
  const told = ({ access_token, refresh_token = "" }: oauth.TokenEndpointResponse) => ({
    access: access_token,
    refresh: refresh_token,
  });
  return {
    get: async () => {
      const parameters = new URLSearchParams({ scope });
      const response = await oauth.clientCredentialsGrantRequest(as, client, auth, parameters, insecure);
      return told(await oauth.processClientCredentialsResponse(as, client, response));
    },
    refresh: async ({ refresh }) => {
      const response = await oauth.refreshTokenGrantRequest(as, client, auth, refresh, insecure);
      return told(await oauth.processRefreshTokenResponse(as, client, response));
    },
    revoke: async ({ refresh }) => {
      const response = await oauth.revocationRequest(as, client, auth, refresh, insecure);
      return oauth.processRevocationResponse(response);
    },
  };
}

function openidClient(authentication: (secret: string) => openid.ClientAuth): Library {
  const { client_id, client_secret } = stack.credentials;
  const config = new openid.Configuration(server(), client_id, {}, authentication(client_secret));
  openid.allowInsecureRequests(config);
  const told = ({ access_token, refresh_token = "" }: openid.TokenEndpointResponse) => ({
    access: access_token,
    refresh: refresh_token,
  });
  return {
    get: async () => told(await openid.clientCredentialsGrant(config, { scope })),
    refresh: async ({ refresh }) => told(await openid.refreshTokenGrant(config, refresh)),
    revoke: ({ refresh }) => openid.tokenRevocation(config, refresh),
  };
}

function simpleOAuth(options: Record<string, string>): Library {
  const { client_id: id, client_secret: secret } = stack.credentials;
  const auth = { tokenHost: stack.baseUrl, tokenPath: "/v2/oauth/token", revokePath: "/v2/oauth/revoke" };
  const client = new ClientCredentials({ client: { id, secret }, auth, options });
  let last: Awaited<ReturnType<typeof client.getToken>> | undefined;
  const told = (token: NonNullable<typeof last>) => {
    last = token;
    return { access: token.token.access_token, refresh: token.token.refresh_token };
  };
  return {
    get: async () => told(await client.getToken({ scope })),
    refresh: async () => told(await (last ?? (await client.getToken({ scope }))).refresh()),
    revoke: async () => last?.revokeAll(),
  };
}

const libraries: Record<string, () => Library> = {
  "oauth4webapi with Basic": () => webApi(oauth.ClientSecretBasic),
  "oauth4webapi with the body": () => webApi(oauth.ClientSecretPost),
  "openid-client with Basic": () => openidClient(openid.ClientSecretBasic),
  "openid-client with the body": () => openidClient(openid.ClientSecretPost),
  "simple-oauth2, strict": () => simpleOAuth({ credentialsEncodingMode: "strict" }),
  "simple-oauth2, loose": () => simpleOAuth({ credentialsEncodingMode: "loose" }),
  "simple-oauth2 with the body": () => simpleOAuth({ authorizationMethod: "body" }),
  "simple-oauth2 with JSON": () => simpleOAuth({ bodyFormat: "json" }),
};

describe("an outside client", () => {
  it.each(Object.entries(libraries))("%s gets, refreshes and revokes a token, unchanged", async (_, make) => {
    const library = make();
    const first = await library.get();
    const second = await library.refresh(first);
    expect(second.refresh).toMatch(/^rt_/);
    expect(second.refresh).not.toBe(first.refresh);
    expect(second.access).not.toBe(first.access);
    const [used, unused] = [apiClient(stack.baseUrl, second.access), apiClient(stack.baseUrl, first.access)];
    expect((await used.call("GET", "/clients")).status).toBe(200);
    await library.revoke(second);
    // The gateway keeps its answer about a token for a minute; about this one it was never asked.
    expect((await unused.call("GET", "/clients")).status).toBe(401);
    await expect(library.refresh(second)).rejects.toThrow();
  });

  it("that keeps to RFC 9068 and RFC 7517 takes an access token by the published keys, and no other", async () => {
    const token = await accessToken(stack.baseUrl, stack.credentials, scope);
    const request = (value: string) =>
      new Request(`${stack.baseUrl}/clients`, { headers: { Authorization: `Bearer ${value}` } });
    const claims = await oauth.validateJwtAccessToken(server(), request(token), audience, insecure);
    expect(claims).toMatchObject({ iss: issuer, client_id: stack.credentials.client_id, scope });
    const [head, , signature] = token.split(".");
    const changed = Buffer.from(JSON.stringify({ ...claims, scope: "settings:write" })).toString("base64url");
    for (const [value, expected] of [
      [token, "https://api.brokerage.example/v2"],
      [`${head}.${changed}.${signature}`, audience],
    ] as const) {
      await expect(oauth.validateJwtAccessToken(server(), request(value), expected, insecure)).rejects.toThrow();
    }
  });
});

interface Made extends Credentials {
  readonly id: string;
}

/** API keys of the gateway, by the application that they were made for. */
const gatewayKeys = () => {
  const { keys } = JSON.parse(readFileSync(join(stack.dataDir, "api-keys.json"), "utf8")) as {
    keys: { name: string; value: string; plans: string[] }[];
  };
  return new Map(keys.map((key) => [key.name, key]));
};

async function makeApplication(api: ApiClient): Promise<Made> {
  const made = await api.call<Made>("POST", "/applications", { body: { name: "New", scopes: ["clients:read"] } });
  expect(made.status).toBe(201);
  return made.body;
}

describe("an application", () => {
  it("that the API made gets a token within seconds, and its API key is gone as soon as it is revoked", async () => {
    const made = await makeApplication(stack.api);
    const begun = Date.now();
    const first = await accessToken(stack.baseUrl, made);
    // The schedule would come within a minute; the stream brings it at once.
    expect(Date.now() - begun).toBeLessThan(15_000);
    const key = gatewayKeys().get(made.id);
    expect(key?.plans).toHaveLength(1);
    const second = await accessToken(stack.baseUrl, made);
    expect((await apiClient(stack.baseUrl, first).call("GET", "/clients")).status).toBe(200);
    expect((await stack.api.call("DELETE", `/applications/${made.id}`)).body).toMatchObject({ status: "revoked" });
    expect((await apiClient(stack.baseUrl, second).call("GET", "/clients")).status).toBe(401);
    await expect(accessToken(stack.baseUrl, made)).rejects.toThrow("401");
    await eventually(() => !gatewayKeys().has(made.id) || undefined);
    // Without the key the gateway itself refuses what it still remembers of the token.
    expect((await apiClient(stack.baseUrl, first).call("GET", "/clients")).status).not.toBe(200);
  });

  it("works with its old secret beside the new one for the overlap, and with the new one alone after it", async () => {
    const made = await makeApplication(stack.api);
    await accessToken(stack.baseUrl, made);
    const rotate = (body: object) =>
      stack.api.call<{ client_secret: string; code: string }>("POST", `/applications/${made.id}/rotate_secret`, {
        body,
      });
    const second = {
      client_id: made.client_id,
      client_secret: (await rotate({ grace_seconds: 2 })).body.client_secret,
    };
    expect((await rotate({})).body.code).toBe("secret_rotation_in_progress");
    await accessToken(stack.baseUrl, made);
    await accessToken(stack.baseUrl, second);
    await eventually(() =>
      accessToken(stack.baseUrl, made).then(
        () => undefined,
        () => true,
      ),
    );
    await accessToken(stack.baseUrl, second);
    const third = { client_id: made.client_id, client_secret: (await rotate({ grace_seconds: 0 })).body.client_secret };
    await expect(accessToken(stack.baseUrl, second)).rejects.toThrow("401");
    await accessToken(stack.baseUrl, third);
  });

  it("works with its newest secret alone once it was rotated without grace, also while an overlap lasts", async () => {
    const made = await makeApplication(stack.api);
    const rotate = async (grace_seconds: number) => {
      const path = `/applications/${made.id}/rotate_secret`;
      const { body } = await stack.api.call<{ client_secret: string }>("POST", path, { body: { grace_seconds } });
      return { client_id: made.client_id, client_secret: body.client_secret };
    };
    const second = await rotate(604_800);
    await accessToken(stack.baseUrl, made);
    const newest = await rotate(0);
    for (const ended of [made, second]) await expect(accessToken(stack.baseUrl, ended)).rejects.toThrow("401");
    await accessToken(stack.baseUrl, newest);
  });
});

const [redirect_uri, logout_uri] = ["http://127.0.0.1:3000/signed-in", "http://127.0.0.1:3000/"];

function poolOf({ cloud }: Stack) {
  const { pool } = cloud;
  if (pool === undefined) throw new Error("The stack has no user pool.");
  return pool;
}

/** Tokens of the pool. */
interface PoolTokens {
  readonly id_token?: string | undefined;
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
}

/** Sign-in of a person by every library, in its own words. */
interface SignInLibrary {
  /** Address of the authorization request. */
  readonly begin: () => Promise<string>;
  /** Takes the address that the sign-in has led back to. */
  readonly finish: (back: string) => Promise<PoolTokens>;
  readonly refresh: (tokens: PoolTokens) => Promise<PoolTokens>;
  /** Address that signs out. */
  readonly leave: () => Promise<string>;
}

async function openidSignIn(): Promise<SignInLibrary> {
  const { issuer: pool, client_id } = poolOf(stack).addresses;
  const execute = [openid.allowInsecureRequests];
  const config = await openid.discovery(new URL(pool), client_id, undefined, openid.None(), { execute });
  const [pkceCodeVerifier, expectedNonce] = [openid.randomPKCECodeVerifier(), openid.randomNonce()];
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const challenge = { code_challenge, code_challenge_method: "S256" };
  const request = { redirect_uri, scope: "openid email", nonce: expectedNonce, ...challenge };
  return {
    begin: async () => openid.buildAuthorizationUrl(config, request).href,
    finish: (back) => openid.authorizationCodeGrant(config, new URL(back), { pkceCodeVerifier, expectedNonce }),
    refresh: ({ refresh_token = "" }) => openid.refreshTokenGrant(config, refresh_token),
    leave: async () => openid.buildEndSessionUrl(config, { client_id, logout_uri }).href,
  };
}

async function oidcClientTs(): Promise<SignInLibrary> {
  const { addresses } = poolOf(stack);
  const client = poolClient(addresses, redirect_uri);
  let last: SigninResponse | undefined;
  return {
    begin: async () => (await client.createSigninRequest({ nonce: randomUUID() })).url,
    finish: async (back) => {
      last = await client.processSigninResponse(back);
      return last;
    },
    refresh: ({ refresh_token = "" }) => {
      if (last === undefined) throw new Error("There was no sign-in.");
      const { id_token = "", session_state, profile } = last;
      const state = { refresh_token, id_token, session_state, profile, scope: "openid email", data: undefined };
      return client.useRefreshToken({ state });
    },
    leave: async () => {
      const { client_id } = addresses;
      return (await client.createSignoutRequest({ client_id, extraQueryParams: { logout_uri } })).url;
    },
  };
}

const signInLibraries = { "openid-client": openidSignIn, "oidc-client-ts": oidcClientTs };
const exchange = (token: string | undefined) => exchangeIdToken(stack.baseUrl, token);

describe("an operator", () => {
  it.each(Object.entries(signInLibraries))("signs in, refreshes and signs out with %s, unchanged", async (_, make) => {
    const operator = await newOperator(stack, "viewer");
    const [library, browser] = [await make(), new Browser()];
    const address = await library.begin();
    expect(new URL(address).searchParams.get("code_challenge_method")).toBe("S256");
    const tokens = await library.finish(await signIn(browser, address, operator));

    const first = await exchange(tokens.id_token);
    const granted = (await first.json()) as { access_token: string };
    expect([first.status, granted]).toEqual([200, expect.objectContaining({ token_type: "Bearer", expires_in: 900 })]);
    const api = apiClient(stack.baseUrl, granted.access_token);
    expect((await api.call("GET", "/me")).body).toMatchObject({ operator: { id: operator.id, role: "viewer" } });
    expect((await api.call("GET", "/clients")).status).toBe(200);
    expect((await api.call("POST", "/clients", { body: {} })).status).toBe(403);
    expect((await apiClient(stack.baseUrl, tokens.id_token ?? "").call("GET", "/me")).status).toBe(401);

    const next = await library.refresh(tokens);
    expect(next.refresh_token).toEqual(expect.any(String));
    expect(next.refresh_token).not.toBe(tokens.refresh_token);
    expect([(await exchange(next.id_token)).status, (await exchange(next.id_token)).status]).toEqual([200, 400]);
    expect((await exchange(next.access_token)).status).toBe(400);
    await expect(library.refresh(tokens)).rejects.toMatchObject({ error: "invalid_grant" });
    expect((await browser.open(await library.leave())).url).toBe(logout_uri);
    expect((await browser.open(await library.begin())).html).toContain("Sign in");
  });

  it("of finance completes a deposit, and none from the moment of their suspension on", async () => {
    const operator = await newOperator(stack, "finance");
    const library = await openidSignIn();
    const tokens = await library.finish(await signIn(new Browser(), await library.begin(), operator));
    const { access_token } = (await (await exchange(tokens.id_token)).json()) as { access_token: string };
    const { account_id } = await fundedAccount(stack.api, "1.00");
    const complete = async () => {
      const asked = await stack.api.call<{ id: string }>("POST", "/transactions/deposit", {
        body: { account_id, amount: "5.00" },
      });
      const path = `/transactions/${asked.body.id}`;
      return (await apiClient(stack.baseUrl, access_token).call("PATCH", path, { body: { status: "completed" } }))
        .status;
    };
    expect(await complete()).toBe(200);
    const suspended = await stack.api.call("PATCH", `/operators/${operator.id}`, { body: { status: "suspended" } });
    expect([suspended.status, await complete()]).toEqual([200, 401]);
  });

  it("who is suspended gets no token by a refresh", async () => {
    const operator = await newOperator(stack, "viewer");
    const library = await openidSignIn();
    const tokens = await library.finish(await signIn(new Browser(), await library.begin(), operator));
    const suspended = await stack.api.call("PATCH", `/operators/${operator.id}`, { body: { status: "suspended" } });
    expect(suspended.status).toBe(200);
    await eventually(async () => {
      const user = poolOf(stack).admin.call("AdminGetUser", {
        ...{ UserPoolId: poolOf(stack).settings.id, Username: operator.email },
      });
      return user["Enabled"] === false || undefined;
    });
    await expect(library.refresh(tokens)).rejects.toMatchObject({ error: "invalid_grant" });
  });
});
