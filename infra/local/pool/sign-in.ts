import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import Provider, { type Context, type Interaction } from "oidc-provider";
import { readBody } from "../request-body.ts";
import type { Artifacts } from "./artifacts.ts";
import type { Logins } from "./login.ts";
import { escaped, formPage, textPage } from "./pages.ts";
import type { PoolSettings } from "./settings.ts";
import type { PoolTokens } from "./tokens.ts";
import type { PoolUsers } from "./users.ts";

/** Parts of a sign-in. */
export interface SignInOptions {
  /** Address of the pool's domain, without a path. */
  readonly origin: string;
  readonly settings: PoolSettings;
  readonly callback_urls: readonly string[];
  readonly logout_urls: readonly string[];
  readonly users: PoolUsers;
  readonly logins: Logins;
  readonly tokens: PoolTokens;
  readonly artifacts: Artifacts;
}

/** A browser stays signed in to the pool for an hour, as with managed login. */
const sessionSeconds = 3600;
const codeSeconds = 300;
const maxFormBytes = 16_384;

/**
 * The pages and the token endpoint of a pool's domain. Codes, PKCE, sessions and the rotation of refresh tokens are the
 * library's; the tokens themselves and the sign-out are as Cognito has them, which differs from the standard.
 */
export class SignInPages {
  private readonly options: SignInOptions;
  private readonly provider: Provider;
  private readonly callback: (request: IncomingMessage, response: ServerResponse) => void;

  constructor(options: SignInOptions) {
    this.options = options;
    this.provider = new Provider(options.origin, configurationOf(options));
    this.provider.use((context, next) => this.asCognito(context, next));
    this.callback = this.provider.callback();
  }

  /** Answers a request to `/oauth2/…`, `/login/…` or `/logout`. */
  async handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (path.startsWith("/login/")) return this.login(request, response);
    this.callback(request, response);
  }

  /** Changes what the library answers to what the pool does. */
  private async asCognito(context: Context, next: () => Promise<void>): Promise<void> {
    if (context.path === "/logout") return this.logout(context);
    await next();
    if (context.oidc?.route === "token" && context.status === 200) this.replaceTokens(context);
    const location = context.response.get("location");
    if (location?.includes("iss=")) context.response.set("location", withoutIssuer(location));
  }

  private replaceTokens(context: Context): void {
    const { AuthorizationCode: code, RefreshToken: refreshed } = context.oidc?.entities ?? {};
    const source = code ?? refreshed;
    if (source === undefined) throw new Error("There is no sign-in behind these tokens.");
    const user = this.options.users.find(source.accountId);
    // The library looked the user up before it waited: an administrator may have removed them since.
    if (user === undefined) {
      context.status = 400;
      context.body = { error: "invalid_grant" };
      return;
    }
    const { refresh_token } = context.body as { readonly refresh_token?: string };
    const { grantId: grant_id, authTime: auth_time, scope } = source;
    const tokens = this.options.tokens.issue({ user, grant_id, auth_time, scope, nonce: code?.nonce });
    context.body = { ...tokens, refresh_token };
  }

  /** Ends the session of the browser; refresh tokens stay, as they do with Cognito. */
  private async logout(context: Context): Promise<void> {
    const query = new URL(context.req.url ?? "/", this.options.origin).searchParams;
    const to = query.get("logout_uri");
    const { settings, logout_urls } = this.options;
    const fault = query.has("post_logout_redirect_uri")
      ? "post_logout_redirect_uri is not known; send client_id and logout_uri"
      : query.get("client_id") !== settings.client_id
        ? "client_id is missing or unknown"
        : to === null || !logout_urls.includes(to)
          ? "logout_uri is missing or not registered"
          : undefined;
    if (fault !== undefined || to === null) {
      context.status = 400;
      context.type = "html";
      context.body = textPage("Sign-out is not possible", [`<p>${escaped(fault ?? "")}</p>`]);
      return;
    }
    const session = await this.provider.Session.get(context);
    if (session.accountId !== undefined) await session.destroy();
    context.cookies.set(this.provider.cookieName("session"), null);
    context.status = 302;
    context.response.set("location", to);
  }

  private async login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const interaction = await this.provider.interactionDetails(request, response).catch(() => undefined);
    if (interaction === undefined) {
      const text = "<p>The sign-in has expired or belongs to another browser. Begin again in the application.</p>";
      return show(response, 400, textPage("Sign in", [text]));
    }
    if (interaction.prompt.name !== "login") return this.finish(request, response, { consent: {} });
    const { logins } = this.options;
    if (request.method !== "POST") return show(response, 200, formPage(logins.page(interaction.uid)));
    const outcome = logins.post(interaction.uid, await readForm(request));
    if ("page" in outcome) return show(response, 200, formPage(outcome.page));
    const { sub: accountId } = outcome.signedIn;
    await this.forgetOther(interaction, accountId);
    return this.finish(request, response, { login: { accountId } });
  }

  /** The library would ask another person whether the one before is to be signed out; the pool just does it. */
  private async forgetOther(interaction: Interaction, accountId: string): Promise<void> {
    const { session } = interaction;
    if (session === undefined || session.accountId === accountId) return;
    const found = await this.provider.Session.findByUid(session.uid);
    if (found === undefined) return;
    found.accountId = accountId;
    found.authorizations = {};
    await found.save(sessionSeconds);
    session.accountId = accountId;
    await interaction.save(codeSeconds);
  }

  private finish(request: IncomingMessage, response: ServerResponse, result: object): Promise<void> {
    return this.provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }
}

function configurationOf({ settings, callback_urls, users, artifacts, tokens }: SignInOptions): object {
  const { client_id, scopes } = settings;
  return {
    adapter: (kind: string) => artifacts.storeOf(kind),
    clients: [
      {
        client_id,
        redirect_uris: callback_urls,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
    ],
    jwks: { keys: [tokens.privateKey()] },
    responseTypes: ["code"],
    scopes: [...scopes],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    routes: { authorization: "/oauth2/authorize", token: "/oauth2/token", revocation: "/oauth2/revoke", jwks: "/keys" },
    interactions: { url: (_: unknown, { uid }: Interaction) => `/login/${uid}` },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    loadExistingGrant,
    findAccount: (_: unknown, sub: string) => {
      const user = users.find(sub);
      if (user === undefined || !user.enabled) return undefined;
      return { accountId: sub, claims: async () => ({ sub }) };
    },
    renderError: (context: Context, fault: Readonly<Record<string, string>>) => {
      const parts = Object.entries(fault).map(([name, text]) => `<p>${escaped(name)}: ${escaped(text)}</p>`);
      context.type = "html";
      context.body = textPage("The request cannot be served", parts);
    },
    ttl: lifetimesOf(settings),
  };
}

function lifetimesOf({ refresh_token_seconds, access_token_seconds, id_token_seconds }: PoolSettings): object {
  return {
    AccessToken: access_token_seconds,
    AuthorizationCode: codeSeconds,
    IdToken: id_token_seconds,
    Interaction: sessionSeconds,
    Session: sessionSeconds,
    Grant: refresh_token_seconds,
    // However often it is rotated, it ends when the first one would have.
    RefreshToken: (context: { readonly oidc?: { readonly entities: { readonly RotatedRefreshToken?: Rotated } } }) =>
      context.oidc?.entities.RotatedRefreshToken?.remainingTTL ?? refresh_token_seconds,
  };
}

interface Rotated {
  readonly remainingTTL: number;
}

/** A pool does not ask for consent: each sign-in gets the scopes of its request. */
async function loadExistingGrant(context: Context): Promise<unknown> {
  const { oidc } = context;
  const grant = new (oidc as unknown as { provider: Provider }).provider.Grant({
    accountId: oidc?.session?.accountId ?? "",
    clientId: oidc?.client?.clientId ?? "",
  });
  grant.addOIDCScope(String(oidc?.params?.["scope"] ?? ""));
  await grant.save();
  return grant;
}

/** The pool does not name itself in the address that it sends a browser to (RFC 9207 came later). */
function withoutIssuer(location: string): string {
  const url = new URL(location);
  url.searchParams.delete("iss");
  return url.href;
}

function show(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
  });
  response.end(html);
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const body = await readBody(request, maxFormBytes);
  if (body === undefined) throw new Error("The form is too large.");
  return new URLSearchParams(body.toString());
}
