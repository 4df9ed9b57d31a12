import { InMemoryWebStorage, OidcClient, WebStorageStateStore } from "oidc-client-ts";
import type { PoolAddresses } from "../../../infra/local/pool/index.ts";

/** The library of the dashboard without its windows, for a client of the pool whose sign-in leads to `redirect_uri`. */
export function poolClient({ issuer: authority, client_id }: PoolAddresses, redirect_uri: string): OidcClient {
  const stateStore = new WebStorageStateStore({ store: new InMemoryWebStorage() });
  return new OidcClient({ authority, client_id, redirect_uri, scope: "openid email", stateStore });
}

/** Exchanges an id token of the pool for an access token of the API (RFC 8693 2.1). */
export function exchangeIdToken(baseUrl: string, subject_token: string | undefined): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: subject_token ?? "",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
  });
  return fetch(`${baseUrl}/oauth/token`, { method: "POST", body });
}
