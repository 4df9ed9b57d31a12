/** The part of simple-oauth2 that the tests use; the package brings no types. */
declare module "simple-oauth2" {
  interface Token {
    readonly access_token: string;
    readonly refresh_token: string;
    readonly scope: string;
  }
  class AccessToken {
    readonly token: Token;
    refresh(parameters?: { readonly scope?: string }): Promise<AccessToken>;
    revoke(kind: "access_token" | "refresh_token"): Promise<unknown>;
    revokeAll(): Promise<void>;
  }
  export class ClientCredentials {
    constructor(options: {
      readonly client: { readonly id: string; readonly secret: string };
      readonly auth: { readonly tokenHost: string; readonly tokenPath: string; readonly revokePath: string };
      readonly options?: Readonly<Record<string, string>>;
    });
    getToken(parameters: { readonly scope?: string }): Promise<AccessToken>;
  }
}
