import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { limits } from "../../limits.ts";
import { nowMs } from "../../runtime/clock.ts";
import { Unavailable } from "../../runtime/unavailable.ts";

/** The key set of a user pool as it was read last. */
interface KnownKeys {
  readonly keys: ReadonlyMap<string, KeyObject>;
  readonly readMs: number;
}

const known = new Map<string, KnownKeys>();
const reading = new Map<string, Promise<KnownKeys>>();

/**
 * The key of a user pool that signs under this id; undefined where it has none. The set (RFC 7517 5) is remembered, so
 * that forged ids cost one read a minute and a key that was taken away is out within an hour.
 * @throws Unavailable when the set is needed and cannot be read
 */
export async function poolKey(url: string, kid: string): Promise<KeyObject | undefined> {
  const read = known.get(url);
  const { keys_kept_seconds, unknown_key_seconds } = limits.exchange;
  const age = nowMs() - (read?.readMs ?? 0);
  const found = read?.keys.get(kid);
  const patienceMs = (found === undefined ? unknown_key_seconds : keys_kept_seconds) * 1000;
  if (read !== undefined && age < patienceMs) return found;
  // A key that is known works on while the set cannot be read.
  const again = await readOnce(url).catch((error: Error) => {
    if (found === undefined) throw error;
  });
  return again === undefined ? found : again.keys.get(kid);
}

/** Requests that need the set at the same time share one read of it. */
function readOnce(url: string): Promise<KnownKeys> {
  const under = reading.get(url) ?? readKeySet(url).finally(() => reading.delete(url));
  reading.set(url, under);
  return under;
}

async function readKeySet(url: string): Promise<KnownKeys> {
  const keys = await fetchText(url)
    .then(keysIn)
    .catch((error: Error) => {
      throw new Unavailable(`The key set of the user pool could not be read: ${error.message}`);
    });
  const read = { keys, readMs: nowMs() };
  known.set(url, read);
  return read;
}

/** The keys of a set that sign with RS256, by their ids; any other member is passed over (RFC 7517 5). */
function keysIn(text: string): ReadonlyMap<string, KeyObject> {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown };
  const entries: readonly unknown[] = Array.isArray(keys) ? keys.slice(0, limits.exchange.max_keys) : [];
  return new Map(entries.flatMap(keyIn));
}

/** A member of a set with its id; none where it is malformed, for another use, or of another algorithm. */
function keyIn(entry: unknown): readonly (readonly [string, KeyObject])[] {
  const { kid, kty, alg = "RS256", use = "sig", n, e } = (entry ?? {}) as JsonWebKey & Record<string, unknown>;
  if (typeof kid !== "string" || kty !== "RSA" || alg !== "RS256" || use !== "sig") return [];
  try {
    return [[kid, createPublicKey({ key: { kty, n: String(n), e: String(e) }, format: "jwk" })]];
  } catch {
    return [];
  }
}

/** The body of a GET, bounded in time and bytes; a redirect is no answer. */
function fetchText(url: string): Promise<string> {
  const { answer_ms, max_key_set_bytes } = limits.exchange;
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(answer_ms);
    const sent = send(url, { signal, headers: { Accept: "application/json" } }, (answer) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      answer.on("error", reject);
      answer.on("data", (part: Buffer) => {
        bytes += part.length;
        parts.push(part);
        if (bytes > max_key_set_bytes) sent.destroy(new Error(`It has more than ${max_key_set_bytes} bytes.`));
      });
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(parts).toString("utf8"));
        else reject(new Error(`The answer was ${answer.statusCode}.`));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}
