import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { type PublicKey, publicKeys } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { publishedKeys } from "./published-keys.ts";
import { pemOfJwk } from "./signing-key.ts";

/** The key set that others verify our tokens with (RFC 7517 5): those that sign, will sign, or signed a live token. */
export async function keySet(): Promise<{ readonly keys: readonly PublicKey["jwk"][] }> {
  if (shown === undefined || shown.untilMs <= nowMs()) {
    const keys = (await publishedKeys()).filter((key) => !isExpired(key)).map(({ jwk }) => jwk);
    // The very first key signs at once, so the lack of one is never remembered.
    shown = keys.length === 0 ? undefined : { keys, untilMs: nowMs() + limits.token.key_set_seconds * 1000 };
  }
  return { keys: shown?.keys ?? [] };
}

let shown: { readonly keys: readonly PublicKey["jwk"][]; readonly untilMs: number } | undefined;

const pems = new Map<string, { readonly pem: string; readonly untilMs: number }>();
const unknown = new Map<string, number>();

/** Knowledge of a key without a read: its PEM, that there is none, or nothing. */
export function rememberedKey(kid: string): string | "none" | undefined {
  const known = pems.get(kid);
  if (known !== undefined && known.untilMs > nowMs()) return known.pem;
  return (unknown.get(kid) ?? 0) > nowMs() ? "none" : undefined;
}

/**
 * Remembers what a read of a key brought, and returns its PEM. A key is forgotten after some minutes, so that one which
 * was taken away is out by then; one that is not there is remembered for a while as well, so that forged key ids cost
 * one read each, not many.
 */
export function rememberKey(kid: string, stored: PublicKey | undefined): string | undefined {
  pems.delete(kid);
  if (stored === undefined || isExpired(stored)) {
    if (unknown.size >= limits.token.unknown_keys) unknown.clear();
    unknown.set(kid, nowMs() + limits.token.unknown_key_seconds * 1000);
    return undefined;
  }
  const pem = pemOfJwk(stored.jwk);
  pems.set(kid, { pem, untilMs: nowMs() + limits.token.known_key_seconds * 1000 });
  return pem;
}

/** The PEM of a published key, by a read of its own when it is not remembered. */
export async function pemOfKey(kid: string): Promise<string | undefined> {
  const known = rememberedKey(kid);
  if (known !== undefined) return known === "none" ? undefined : known;
  const [stored] = await readKeys([publicKeys.key(kid)]);
  return rememberKey(kid, stored as PublicKey | undefined);
}

function isExpired({ expires_at = Number.POSITIVE_INFINITY }: PublicKey): boolean {
  return expires_at < nowMs() / 1000;
}
