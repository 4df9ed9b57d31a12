import { config, loadConfig } from "../api/config.ts";
import { createStore } from "../api/store.ts";
import { choiceOf } from "./choice.ts";

/** Where a session stands; `choose` is for a person who is an operator of several brokerages. */
export type Session =
  | { readonly state: "starting" }
  | { readonly state: "out"; readonly reason: string | undefined }
  | { readonly state: "choose"; readonly brokerages: readonly Brokerage[] }
  /** `chosen`: the person has said which of their brokerages it is. */
  | { readonly state: "in"; readonly chosen: boolean };

/** A brokerage that a person is an operator of; its name is null until it has set one. */
export interface Brokerage {
  readonly id: string;
  readonly name: string | null;
}

/** The session of this page. Its tokens are in memory alone, so a new page begins without. */
export const session = createStore<Session>({ state: "starting" });

/** A token of the API is renewed so long before it ends. */
const renewedBeforeMs = 60_000;
/** How long a sign-out waits for each of those that it asks. */
const signOutMs = 3000;
const returningKey = "dashboard.signed-in";
const brokerageKey = "dashboard.brokerage";

let accessToken: string | undefined;
let renewing: Promise<boolean> | undefined;
let timer: number | undefined;

/** The token that requests carry; undefined without a session. */
export function token(): string | undefined {
  return accessToken;
}

/** Sign-in and its library are a file of their own. */
const loadSignIn = () => import("./sign-in.ts");

/**
 * Completes the sign-in that the pool returns from, or begins the session of a person who was signed in to this tab:
 * the pool still knows them. Returns the path to show.
 */
export async function startSession(): Promise<string | undefined> {
  await loadConfig();
  const address = new URL(window.location.href);
  // The link of an invitation: who works for another brokerage already accepts it by its name. The address loses it,
  // so that to load the page again does not undo what the person has switched to since.
  const invited = address.searchParams.get("brokerage");
  if (invited !== null) {
    sessionStorage.setItem(brokerageKey, invited);
    address.searchParams.delete("brokerage");
    window.history.replaceState(null, "", address);
  }
  if (address.pathname === "/signed-in") {
    try {
      const { finishSignIn } = await loadSignIn();
      const { idToken, returnTo } = await finishSignIn();
      await exchange(idToken);
      return returnTo;
    } catch (error) {
      endSession(error instanceof Error ? error.message : String(error));
      return "/";
    }
  }
  if (sessionStorage.getItem(returningKey) !== null) {
    // Only once: a pool that does not know the person any more shows its own page.
    sessionStorage.removeItem(returningKey);
    await signIn();
    return undefined;
  }
  endSession(undefined);
  return undefined;
}

/** Leads to the pool's page, and back to the address that is shown now. */
export async function signIn(): Promise<void> {
  const { pathname, search } = window.location;
  const { beginSignIn } = await loadSignIn();
  await beginSignIn(pathname === "/signed-in" ? "/" : pathname + search);
}

/**
 * Ends the sign-in: the tokens and streams of the service, the refresh token of the pool, and then the pool's own
 * session, whose page this leads to. A part that cannot be reached does not hold up the rest.
 */
export async function signOut(): Promise<void> {
  const { logout_url, client_id } = config();
  const query = new URLSearchParams({ client_id, logout_uri: `${window.location.origin}/` });
  const ended = accessToken;
  endSession(undefined);
  const { forgetSignIn } = await loadSignIn();
  await Promise.allSettled([ended === undefined ? undefined : revoke(ended), forgetSignIn()]);
  window.location.assign(`${logout_url}?${query}`);
}

/** Ends the sign-in that a token comes from (RFC 7009), also where this page is left meanwhile. */
async function revoke(token: string): Promise<void> {
  const body = new URLSearchParams({ token, token_type_hint: "access_token" });
  await fetch("/v2/oauth/revoke", { method: "POST", body, keepalive: true, signal: AbortSignal.timeout(signOutMs) });
}

/** Gets a new token from the sign-in that is kept in memory; false when the person has to sign in again. */
export function renewToken(): Promise<boolean> {
  renewing ??= renew().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renew(): Promise<boolean> {
  if (accessToken === undefined) return false;
  try {
    const { refreshSignIn } = await loadSignIn();
    await exchange(await refreshSignIn());
    return true;
  } catch (error) {
    // Without a connection the sign-in is still good: the next request tries again.
    if (error instanceof TypeError) return false;
    endSession("Your session has ended. Sign in again to go on where you were.");
    return false;
  }
}

/** Takes the brokerage that the person has chosen. */
export async function chooseBrokerage(id: string): Promise<void> {
  const { refreshSignIn } = await loadSignIn();
  await exchange(await refreshSignIn(), id);
}

/** Asks for the brokerage once more. */
export async function switchBrokerage(): Promise<void> {
  const { refreshSignIn } = await loadSignIn();
  await exchange(await refreshSignIn(), null);
}

interface TokenAnswer {
  readonly access_token?: string;
  readonly expires_in?: number;
  readonly error_description?: string;
  readonly brokerage_ids?: readonly string[];
  readonly brokerage_names?: Readonly<Record<string, string>>;
}

/**
 * Exchanges the pool's token for one of the API (RFC 8693); only that one is sent anywhere else. Without a choice now
 * it is the brokerage of an invitation, or that of the last time, which the person may have left since.
 * @param chosen null where the person is to choose
 */
async function exchange(idToken: string, chosen?: string | null): Promise<void> {
  const choice = choiceOf(idToken);
  const invited = sessionStorage.getItem(brokerageKey);
  const brokerage = chosen === undefined ? (invited ?? choice.kept) : chosen;
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: idToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    ...(brokerage !== null && { brokerage_id: brokerage }),
  });
  const response = await fetch("/v2/oauth/token", { method: "POST", body, cache: "no-store" });
  const answer = (await response.json()) as TokenAnswer;
  if (answer.brokerage_ids !== undefined) {
    const names = answer.brokerage_names ?? {};
    const brokerages = answer.brokerage_ids.map((id) => ({ id, name: names[id] ?? null }));
    session.set({ state: "choose", brokerages });
    return;
  }
  if (!response.ok || answer.access_token === undefined) {
    sessionStorage.removeItem(brokerageKey);
    choice.forget();
    // A refusal has not used the token up.
    if (chosen === undefined && invited === null && choice.kept !== null) return exchange(idToken, null);
    throw new Error(answer.error_description ?? `The service answered ${response.status}.`);
  }
  accessToken = answer.access_token;
  sessionStorage.setItem(returningKey, "1");
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void renewToken(), (answer.expires_in ?? 0) * 1000 - renewedBeforeMs);
  if (brokerage !== null) choice.keep(brokerage);
  sessionStorage.removeItem(brokerageKey);
  session.set({ state: "in", chosen: brokerage !== null });
}

function endSession(reason: string | undefined): void {
  accessToken = undefined;
  window.clearTimeout(timer);
  sessionStorage.removeItem(returningKey);
  session.set({ state: "out", reason });
}
