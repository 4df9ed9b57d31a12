import { InMemoryWebStorage, UserManager, WebStorageStateStore } from "oidc-client-ts";
import { config } from "../api/config.ts";

let made: UserManager | undefined;

/** Tokens of the pool stay in memory; the state of a sign-in under way has to outlive the pool's page. */
function manager(): UserManager {
  const { issuer, client_id } = config();
  const { origin } = window.location;
  made ??= new UserManager({
    authority: issuer,
    client_id,
    redirect_uri: `${origin}/signed-in`,
    response_type: "code",
    scope: "openid email",
    loadUserInfo: false,
    automaticSilentRenew: false,
    monitorSession: false,
    requestTimeoutInSeconds: 3,
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: window.sessionStorage }),
  });
  return made;
}

/** Leads the browser to the pool's page. The nonce binds the id token to this sign-in. */
export async function beginSignIn(returnTo: string): Promise<void> {
  await manager().signinRedirect({ state: returnTo, nonce: crypto.randomUUID() });
}

/** Completes the sign-in with the code of the address. */
export async function finishSignIn(): Promise<{ readonly idToken: string; readonly returnTo: string }> {
  const { id_token, state } = await manager().signinRedirectCallback();
  if (id_token === undefined) throw new Error("The sign-in returned no identity.");
  // An address of this application, whatever the state holds.
  const returnTo = typeof state === "string" && /^\/(?!\/)/.test(state) ? state : "/";
  return { idToken: id_token, returnTo };
}

/** A new id token by the refresh token. Throws when the sign-in has ended. */
export async function refreshSignIn(): Promise<string> {
  const user = await manager().signinSilent();
  if (user?.id_token === undefined) throw new Error("The sign-in has ended.");
  return user.id_token;
}

/** Revokes the refresh token of the pool, and forgets its tokens. Throws where the pool did not say that it did. */
export async function forgetSignIn(): Promise<void> {
  try {
    await manager().revokeTokens(["refresh_token"]);
  } finally {
    await manager().removeUser();
  }
}
