/** The part of the package that the local pool uses; it ships no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  /** State of the library at the end of a request. */
  export interface OidcContext {
    readonly route: string;
    readonly result?: { readonly consent?: { readonly grantId?: string } };
    readonly client?: { readonly clientId: string };
    readonly session?: Session;
    readonly params?: Readonly<Record<string, unknown>>;
    readonly entities: {
      readonly AuthorizationCode?: Artifact;
      readonly RefreshToken?: Artifact;
    };
  }

  /** A code or a refresh token. */
  export interface Artifact {
    readonly accountId: string;
    readonly grantId: string;
    readonly authTime: number;
    readonly scope: string;
    readonly nonce?: string;
  }

  export interface Session {
    accountId?: string;
    authorizations?: Record<string, unknown>;
    readonly exp: number;
    destroy(): Promise<void>;
    save(ttl: number): Promise<unknown>;
    grantIdFor(clientId: string): string | undefined;
  }

  export interface Interaction {
    readonly uid: string;
    readonly prompt: { readonly name: string };
    readonly params: Readonly<Record<string, unknown>>;
    readonly session?: { accountId: string; readonly uid: string };
    save(ttl: number): Promise<unknown>;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  export interface Context {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly path: string;
    readonly oidc?: OidcContext;
    readonly response: { get(name: string): string | undefined; set(name: string, value: string): void };
    readonly cookies: { set(name: string, value: null): void };
    status: number;
    type: string;
    body: unknown;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (properties: {
      accountId: string;
      clientId: string;
    }) => Grant;
    readonly Session: {
      get(context: Context): Promise<Session>;
      findByUid(uid: string): Promise<Session | undefined>;
    };
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    callback(): RequestListener;
    cookieName(type: string): string;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options?: { mergeWithLastSubmission: boolean },
    ): Promise<void>;
    on(event: string, listener: (...values: unknown[]) => void): this;
  }
}
