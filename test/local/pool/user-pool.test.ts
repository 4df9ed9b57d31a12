import { createServer } from "node:http";
import jwt from "jsonwebtoken";
import { InMemoryWebStorage, OidcClient, type SigninResponse, WebStorageStateStore } from "oidc-client-ts";
import * as openid from "openid-client";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { listenOn } from "../../../infra/local/free-port.ts";
import { type ReadyUser, UserPool } from "../../../infra/local/pool/index.ts";
import { totpCode } from "../../../infra/local/pool/totp.ts";
import { type Resource, readAssembly } from "../../../infra/local/template/assembly.ts";
import { Browser, signIn } from "../../support/stack/sign-in.ts";
import { eventually } from "../../support/wait.ts";
import { temporaryFolder } from "../fixture.ts";

const redirect_uri = "http://127.0.0.1:3000/signed-in";
const logout_uri = "http://127.0.0.1:3000/";
const scope = "openid email";
const folder = temporaryFolder();
const news: string[] = [];
let pool: UserPool;

function poolOf(template: readonly Resource[]): UserPool {
  const onNews = (line: string) => news.push(line);
  const options = { dataDir: folder.path, port: 0, localized: (url: string) => [url], onNews };
  const made = UserPool.of(template, "eu-west-1", options);
  if (made === undefined) throw new Error("The template has no user pool.");
  return made;
}

let resources: readonly Resource[];

beforeAll(async () => {
  ({ resources } = readAssembly(inject("assemblyDir")));
  pool = poolOf(resources);
  await pool.start();
});
afterEach(() => vi.useRealTimers());
afterAll(async () => {
  await pool?.stop();
  folder.remove();
});

/** A user of its own for each test. */
function someone(name: string): ReadyUser {
  const made = pool.makeReady(`${name}@example.com`);
  if (made === undefined) throw new Error(`${name} is there already.`);
  return made;
}

type Claims = Readonly<Record<string, unknown>>;
const claimsOf = (token: string | undefined) => jwt.decode(token ?? "") as Claims;

/** The pool as openid-client sees it, from its discovery document alone. */
async function discovered(): Promise<openid.Configuration> {
  const { issuer, client_id } = pool.addresses;
  const execute = [openid.allowInsecureRequests];
  return openid.discovery(new URL(issuer), client_id, undefined, openid.None(), { execute });
}

/** An authorization request with what completes it. */
async function request(config: openid.Configuration, more: Record<string, string> = {}) {
  const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
  const expectedNonce = openid.randomNonce();
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
  const challenge = { code_challenge, code_challenge_method: "S256" };
  const parameters = { redirect_uri, scope, ...challenge, state: expectedState, nonce: expectedNonce, ...more };
  const { href } = openid.buildAuthorizationUrl(config, parameters);
  return { href, checks: { pkceCodeVerifier, expectedState, expectedNonce } };
}

async function tokensFor(user: ReadyUser, browser = new Browser()) {
  const config = await discovered();
  const { href, checks } = await request(config);
  const back = new URL(await signIn(browser, href, user));
  return { config, back, checks, tokens: await openid.authorizationCodeGrant(config, back, checks) };
}

describe("openid-client, unchanged", () => {
  it("signs in by discovery, PKCE and a second factor, and gets the claims of Cognito", async () => {
    const user = someone("claims");
    const { back, tokens, config } = await tokensFor(user);
    expect([...back.searchParams.keys()].sort()).toEqual(["code", "state"]);
    const { issuer, client_id } = pool.addresses;
    const id = claimsOf(tokens.id_token);
    const { sub } = id;
    expect(id).toMatchObject({ iss: issuer, aud: client_id, token_use: "id", email: user.email, email_verified: true });
    expect(id).toMatchObject({ "cognito:username": sub, origin_jti: expect.any(String), jti: expect.any(String) });
    expect(Number(id["exp"]) - Number(id["iat"])).toBe(300);
    const access = claimsOf(tokens.access_token);
    expect(access).toMatchObject({ iss: issuer, client_id, token_use: "access", scope, username: sub });
    expect(access).not.toHaveProperty("aud");
    expect(tokens).not.toHaveProperty("scope");
    const answer = await openid.fetchUserInfo(config, tokens.access_token, String(sub));
    expect(answer).toMatchObject({ sub, email: user.email, email_verified: "true" });
  });

  it("refreshes without a nonce, and a refresh token is used once", async () => {
    const { config, tokens } = await tokensFor(someone("refresh"));
    const first = claimsOf(tokens.id_token);
    const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    const second = claimsOf(next.id_token);
    const { sub, auth_time, origin_jti } = first;
    expect(second).toMatchObject({ sub, auth_time, origin_jti, token_use: "id" });
    expect([first["nonce"], second["nonce"]]).toEqual([expect.any(String), undefined]);
    expect(second["jti"]).not.toBe(first["jti"]);
    const used = openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    await expect(used).rejects.toMatchObject({ error: "invalid_grant" });
  });

  it("gets no refresh beyond the working day that began with the sign-in, however often it refreshed", async () => {
    const hours = (count: number) => vi.setSystemTime(Date.now() + count * 3_600_000);
    vi.useFakeTimers({ toFake: ["Date"] });
    const { config, tokens } = await tokensFor(someone("day"));
    hours(11);
    const late = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    hours(1.1);
    const tooLate = openid.refreshTokenGrant(config, late.refresh_token ?? "");
    await expect(tooLate).rejects.toMatchObject({ error: "invalid_grant" });
  });

  it("is asked for nothing while the browser is signed in, and for everything after the sign-out", async () => {
    const browser = new Browser();
    const { config } = await tokensFor(someone("session"), browser);
    const again = await request(config);
    expect(new URL((await browser.open(again.href)).url).searchParams.get("code")).not.toBeNull();
    const { client_id } = pool.addresses;
    const standard = openid.buildEndSessionUrl(config, { post_logout_redirect_uri: logout_uri });
    expect((await browser.open(standard.href)).html).toContain("post_logout_redirect_uri is not known");
    const elsewhere = openid.buildEndSessionUrl(config, { client_id, logout_uri: "https://other.example/" });
    expect((await browser.open(elsewhere.href)).html).toContain("logout_uri is missing or not registered");
    const out = openid.buildEndSessionUrl(config, { client_id, logout_uri });
    expect((await browser.open(out.href)).url).toBe(logout_uri);
    expect((await browser.open((await request(config)).href)).html).toContain("Sign in");
  });

  it("may ask for another person: prompt=login signs the one before out", async () => {
    const browser = new Browser();
    const { config } = await tokensFor(someone("before"), browser);
    const after = someone("after");
    const { href, checks } = await request(config, { prompt: "login" });
    const tokens = await openid.authorizationCodeGrant(config, new URL(await signIn(browser, href, after)), checks);
    expect(claimsOf(tokens.id_token)).toMatchObject({ email: after.email });
  });

  it("gets nothing without a challenge, for another address, and with another verifier", async () => {
    const user = someone("refused");
    const config = await discovered();
    const { href, checks } = await request(config);
    const [open, away] = [new URL(href), new URL(href)];
    open.searchParams.delete("code_challenge");
    open.searchParams.delete("code_challenge_method");
    expect((await new Browser().open(open.href)).url).toContain("error=invalid_request");
    away.searchParams.set("redirect_uri", "https://other.example/");
    expect((await new Browser().open(away.href)).html).toContain("invalid_redirect_uri");
    const back = new URL(await signIn(new Browser(), href, user));
    const other = { ...checks, pkceCodeVerifier: openid.randomPKCECodeVerifier() };
    await expect(openid.authorizationCodeGrant(config, back, other)).rejects.toMatchObject({ error: "invalid_grant" });
  });
});

describe("oidc-client-ts, unchanged", () => {
  it("signs in, refreshes and signs out, with logout_uri as a further parameter", async () => {
    const user = someone("browser");
    const { issuer: authority, client_id } = pool.addresses;
    const stateStore = new WebStorageStateStore({ store: new InMemoryWebStorage() });
    const client = new OidcClient({ authority, client_id, redirect_uri, scope, stateStore });
    const browser = new Browser();
    const { url } = await client.createSigninRequest({ nonce: "of-the-browser", state: { page: "/clients" } });
    const first: SigninResponse = await client.processSigninResponse(await signIn(browser, url, user));
    expect(first.profile).toMatchObject({ email: user.email, token_use: "id" });
    expect(claimsOf(first.id_token)["nonce"]).toBe("of-the-browser");
    expect(first.userState).toEqual({ page: "/clients" });
    const { refresh_token = "", id_token = "", session_state, profile } = first;
    const state = { refresh_token, id_token, session_state, scope, profile, data: undefined };
    const second = await client.useRefreshToken({ state });
    expect(claimsOf(second.id_token)).not.toHaveProperty("nonce");
    const out = await client.createSignoutRequest({ extraQueryParams: { logout_uri }, client_id });
    expect((await browser.open(out.url)).url).toBe(logout_uri);
    expect((await browser.open((await client.createSigninRequest({})).url)).html).toContain("Sign in");
  });
});

describe("the login page", () => {
  it("leads an invited person from the temporary password over an own one to the second factor", async () => {
    const email = "invited@example.com";
    const UserAttributes = [{ Name: "email_verified", Value: "true" }];
    pool.admin.call("AdminCreateUser", { UserPoolId: pool.settings.id, Username: email, UserAttributes });
    const temporary = news.at(-1)?.split(" ").at(-1) ?? "";
    const config = await discovered();
    const { href, checks } = await request(config);
    const browser = new Browser();
    const { url } = await browser.open(href);
    expect((await browser.open(url, { email, password: temporary })).html).toContain("Choose a password");
    const weak = await browser.open(url, { new_password: "too-short" });
    expect(weak.html).toContain("at least 14 characters, an uppercase letter, a number");
    const page = await browser.open(url, { new_password: "Correct-Horse-7-Battery" });
    const secret = /<code>([A-Z2-7]+)<\/code>/.exec(page.html)?.[1] ?? "";
    expect((await browser.open(url, { code: "000000" })).html).toContain("The code is not valid.");
    const back = await browser.open(url, { code: totpCode(secret, Date.now()) });
    const tokens = await openid.authorizationCodeGrant(config, new URL(back.url), checks);
    expect(claimsOf(tokens.id_token)).toMatchObject({ email });
    const user = { email, password: "Correct-Horse-7-Battery", totp_secret: secret };
    expect((await tokensFor(user)).tokens.id_token).toBeDefined();
  });

  it("says the same of an unknown address and of a wrong password, and needs no script", async () => {
    const user = someone("wrong");
    const { href } = await request(await discovered());
    const browser = new Browser();
    const { url, html } = await browser.open(href);
    expect(html).not.toContain("<script");
    for (const name of ["email", "password"]) expect(html).toContain(`<label for="${name}">`);
    for (const email of [user.email, "unknown@example.com", '"><b>@example.com']) {
      const page = await browser.open(url, { email, password: "wrong" });
      expect(page.html).toContain('<p role="alert">Incorrect email or password.</p>');
      expect(page.html).not.toContain("<b>@");
    }
  });

  it("takes an expired password step from the start, and a form of another browser not at all", async () => {
    const { href } = await request(await discovered());
    const user = someone("slow");
    const browser = new Browser();
    const { url } = await browser.open(href);
    await browser.open(url, { email: user.email, password: user.password });
    expect((await new Browser().open(url, { code: "000000" })).html).toContain("belongs to another browser");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 200_000 });
    const late = await browser.open(url, { code: totpCode(user.totp_secret, Date.now()) });
    expect(late.html).toContain("Your sign-in has expired.");
  });
});

describe("a user who was disabled, signed out or deleted", () => {
  const operations = ["AdminDisableUser", "AdminUserGlobalSignOut", "AdminDeleteUser"];
  it.each(operations)("%s ends refresh tokens and sessions at once", async (operation) => {
    const user = someone(operation.toLowerCase());
    const browser = new Browser();
    const { config, tokens } = await tokensFor(user, browser);
    pool.admin.call(operation, { UserPoolId: pool.settings.id, Username: user.email });
    const refused = openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    await expect(refused).rejects.toMatchObject({ error: "invalid_grant" });
    const { url, html } = await browser.open((await request(config)).href);
    expect(html).toContain("Sign in");
    const page = await browser.open(url, { email: user.email, password: user.password });
    const out = operation !== "AdminUserGlobalSignOut";
    expect(page.html).toContain(out ? "Incorrect email or password." : "Confirm your sign-in");
    if (operation !== "AdminDisableUser") return;
    pool.admin.call("AdminEnableUser", { UserPoolId: pool.settings.id, Username: user.email });
    expect((await tokensFor(user)).tokens.id_token).toBeDefined();
  });
});

describe("the pool", () => {
  it("keeps users, keys and issuer over a restart, and goes elsewhere where its port is taken", async () => {
    const user = someone("kept");
    const { tokens } = await tokensFor(user);
    const keysOf = async () => (await fetch(`${pool.addresses.issuer}/.well-known/jwks.json`)).text();
    const [before, keys] = [pool.addresses, await keysOf()];
    await pool.stop();
    pool = poolOf(resources);
    await pool.start();
    // Connections that the client kept ended with the pool, which it notices a moment later.
    const after = await eventually(() => keysOf().catch(() => undefined));
    expect([pool.addresses, after]).toEqual([before, keys]);
    const again = await tokensFor(user);
    expect(claimsOf(again.tokens.id_token)["sub"]).toBe(claimsOf(tokens.id_token)["sub"]);
    await pool.stop();
    const other = createServer();
    await listenOn(other, Number(new URL(before.issuer).port));
    pool = poolOf(resources);
    await pool.start();
    other.close();
    expect(news.at(-1)).toMatch(/^Port \d+ is taken: the user pool is on \d+/);
  });

  const others: readonly (readonly [type: string, property: string, value: unknown])[] = [
    ["UserPool", "MfaConfiguration", "OPTIONAL"],
    ["UserPool", "UserPoolTier", "PLUS"],
    ["UserPool", "AdminCreateUserConfig", { AllowAdminCreateUserOnly: false }],
    ["UserPool", "Policies", { PasswordPolicy: { RequireEmoji: true } }],
    ["UserPoolClient", "AllowedOAuthFlows", ["implicit"]],
    ["UserPoolClient", "GenerateSecret", true],
    ["UserPoolClient", "RefreshTokenRotation", undefined],
    ["UserPoolClient", "TokenValidityUnits", undefined],
    ["UserPoolDomain", "ManagedLoginVersion", 1],
    ["ManagedLoginBranding", "ClientId", "other"],
  ];
  it.each(others)("%s with another %s than the runner imitates stops it by name", (type, property, value) => {
    const changed = resources.map((resource) =>
      resource.type === `AWS::Cognito::${type}`
        ? { ...resource, properties: { ...resource.properties, [property]: value } }
        : resource,
    );
    expect(() => poolOf(changed)).toThrow(/^brokerage-sandbox\/Operators/);
  });
});
