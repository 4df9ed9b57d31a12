import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { listenOn } from "../free-port.ts";
import { StateFile } from "../state-file.ts";
import type { Resource } from "../template/assembly.ts";
import { PoolAdmin } from "./admin.ts";
import { Artifacts } from "./artifacts.ts";
import { hashed, newPassword } from "./passwords.ts";
import { type PoolSettings, readPool } from "./settings.ts";
import type { SignInPages } from "./sign-in.ts";
import type { PoolTokens } from "./tokens.ts";
import { newTotpSecret } from "./totp.ts";
import { type PoolState, PoolUsers } from "./users.ts";

/** Settings of an OpenID Connect client. */
export interface PoolAddresses {
  readonly issuer: string;
  readonly client_id: string;
}

/** A user who can sign in at once. */
export interface ReadyUser {
  readonly email: string;
  readonly password: string;
  /** Base32, for an authenticator app. */
  readonly totp_secret: string;
}

/** How a pool is run. */
export interface UserPoolOptions {
  readonly dataDir: string;
  /** Port that it listens on first, unless it had another one before; any free one where that is taken. */
  readonly port: number;
  /** Addresses of the template's own machine and what they are in this run. */
  readonly localized: (url: string) => readonly string[];
  /** Receives what is worth a line, such as a temporary password that a mail would carry. */
  readonly onNews?: ((line: string) => void) | undefined;
}

/** The user pool of the template: its users, its control plane and, from the first request on, its login page. */
export class UserPool {
  readonly settings: PoolSettings;
  readonly admin: PoolAdmin;
  private readonly options: UserPoolOptions;
  private readonly file: StateFile<PoolState>;
  private readonly users: PoolUsers;
  private readonly artifacts = new Artifacts();
  private readonly server: Server;
  private origin = "";
  private tokens: Promise<PoolTokens> | undefined;
  private pages: Promise<SignInPages> | undefined;

  /** The pool of these resources; undefined when there is none. Throws an AssemblyError for what is not known here. */
  static of(resources: readonly Resource[], region: string, options: UserPoolOptions): UserPool | undefined {
    const settings = readPool(resources, region);
    return settings && new UserPool(settings, options);
  }

  private constructor(settings: PoolSettings, options: UserPoolOptions) {
    this.settings = settings;
    this.options = options;
    this.file = new StateFile<PoolState>(join(options.dataDir, "user-pool.json"), { users: [] });
    this.users = new PoolUsers(this.file, settings.password);
    this.admin = new PoolAdmin(settings, this.users, {
      signOut: (sub) => this.artifacts.forgetUser(sub),
      mail: (email, password) => options.onNews?.(`Mail to ${email}: your temporary password is ${password}`),
    });
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error: Error) => {
        process.stderr.write(`The local user pool failed: ${error.stack}\n`);
        response.destroy();
      });
    });
  }

  get addresses(): PoolAddresses {
    return { issuer: `${this.origin}/${this.settings.id}`, client_id: this.settings.client_id };
  }

  /** Listens on the loopback, on the port of the run before where it can: operators are bound to the issuer. */
  async start(): Promise<void> {
    const { port: former } = this.file.value;
    const port = await listenOn(this.server, former ?? this.options.port).catch(() => listenOn(this.server, 0));
    this.origin = `http://127.0.0.1:${port}`;
    if (former === port) return;
    if (former !== undefined) {
      this.options.onNews?.(
        `Port ${former} is taken: the user pool is on ${port}, and operators of earlier runs cannot sign in.`,
      );
    }
    this.file.value.port = port;
    this.file.save();
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  /** A text of the template with the local address of the pool in place of that on AWS. */
  localized(text: string): string {
    const { aws_origin, aws_pages } = this.settings;
    return text.replaceAll(aws_origin, this.origin).replaceAll(aws_pages, this.origin);
  }

  /** Makes a user with a password and a second factor, unless there is one: who begins with the runner gets no mail. */
  makeReady(email: string): ReadyUser | undefined {
    if (this.users.find(email) !== undefined) return undefined;
    const [password, totp_secret] = [newPassword(this.settings.password.minimum_length), newTotpSecret()];
    const { user } = this.users.invite(email, true);
    this.users.change(user, {
      passwords: [hashed(password)],
      status: "CONFIRMED",
      temporary_until_ms: null,
      totp_secret,
    });
    return { email, password, totp_secret };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.origin);
    const wellKnown = `/${this.settings.id}/.well-known/`;
    if (pathname === `${wellKnown}openid-configuration`) return json(response, 200, this.discovery());
    if (pathname === `${wellKnown}jwks.json`) return json(response, 200, (await this.loadTokens()).keySet());
    if (pathname === "/oauth2/userInfo") return this.userInfo(request, response);
    if (/^\/(?:oauth2|login)\/|^\/logout$/.test(pathname)) {
      return (await this.loadPages()).handle(request, response, pathname);
    }
    response.writeHead(404, { "Content-Type": "text/plain" }).end("There is no such page.\n");
  }

  private async userInfo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "OPTIONS") {
      const allowed = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "authorization" };
      response.writeHead(204, allowed).end();
      return;
    }
    const [, token = ""] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "") ?? [];
    const sub = (await this.loadTokens()).subjectOf(token);
    const user = sub === undefined ? undefined : this.users.find(sub);
    if (user === undefined || !user.enabled) return json(response, 401, { error: "invalid_token" });
    const { email, email_verified } = user;
    // Cognito writes this one truth value as text.
    json(response, 200, { sub, email, email_verified: String(email_verified), username: sub });
  }

  private loadTokens(): Promise<PoolTokens> {
    this.tokens ??= import("./tokens.ts").then(({ PoolTokens: Tokens }) =>
      Tokens.load(this.settings, this.addresses.issuer, this.file),
    );
    return this.tokens;
  }

  /** Loads the library, which takes half a second and which most runs never need. */
  private loadPages(): Promise<SignInPages> {
    this.pages ??= this.makePages();
    return this.pages;
  }

  private async makePages(): Promise<SignInPages> {
    const { settings, users, artifacts, origin, options } = this;
    const [{ SignInPages: Pages }, { Logins }] = await Promise.all([import("./sign-in.ts"), import("./login.ts")]);
    return new Pages({
      origin,
      settings,
      callback_urls: settings.callback_urls.flatMap(options.localized),
      logout_urls: settings.logout_urls.flatMap(options.localized),
      users,
      logins: new Logins(users, settings.sign_in_seconds),
      tokens: await this.loadTokens(),
      artifacts,
    });
  }

  /** The document of Cognito, which has less than the standard. */
  private discovery(): object {
    const { origin, settings } = this;
    const { issuer } = this.addresses;
    return {
      authorization_endpoint: `${origin}/oauth2/authorize`,
      end_session_endpoint: `${origin}/logout`,
      id_token_signing_alg_values_supported: ["RS256"],
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      response_types_supported: ["code", "token"],
      revocation_endpoint: `${origin}/oauth2/revoke`,
      scopes_supported: ["openid", "email", "phone", "profile"].filter((one) => settings.scopes.includes(one)),
      subject_types_supported: ["public"],
      token_endpoint: `${origin}/oauth2/token`,
      token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
      userinfo_endpoint: `${origin}/oauth2/userInfo`,
    };
  }
}

/** Keys and settings are public: a page of any origin reads them. */
function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" });
  response.end(JSON.stringify(body));
}
