/** Where the keys of commands without an answer are kept: they outlive their dialog, and a reload of the page. */
const kept = "dashboard.unanswered";

/** A key is good for 24 hours at the service; one that is older than this is not used again. */
const goodForMs = 23 * 3_600_000;

type Keys = Readonly<Record<string, readonly [key: string, at: number]>>;

function keys(): Keys {
  return JSON.parse(sessionStorage.getItem(kept) ?? "{}") as Keys;
}

function keep(all: Keys): void {
  if (Object.keys(all).length === 0) sessionStorage.removeItem(kept);
  else sessionStorage.setItem(kept, JSON.stringify(all));
}

/**
 * The idempotency key of a command, and the place where it is kept until {@link forgetKey}: the same text gets the same
 * key. Only a digest of the text is kept, as it may hold personal data.
 */
export async function keyOf(text: string): Promise<readonly [place: string, key: string]> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const place = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const now = Date.now();
  const good = Object.fromEntries(Object.entries(keys()).filter(([, [, at]]) => now - at < goodForMs));
  const one = good[place] ?? [crypto.randomUUID(), now];
  keep({ ...good, [place]: one });
  return [place, one[0]];
}

/** Forgets the key of a command that was answered. */
export function forgetKey(place: string): void {
  const { [place]: _answered, ...others } = keys();
  keep(others);
}
