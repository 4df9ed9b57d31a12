import { type Context, refuse } from "./decision.ts";

/**
 * The refusal of a rotation that would cut short the overlap of the one before; undefined where there is none, and for
 * one without grace, which is how a leaked secret is ended.
 */
export function refuseOverlap(
  { previous_secret_expires_at: until }: { readonly previous_secret_expires_at: string | null },
  graceSeconds: number,
  { now }: Context,
): ReturnType<typeof refuse> | undefined {
  if (graceSeconds === 0 || until === null || until <= now) return undefined;
  const detail =
    `The previous secret works until ${until}; rotate again after that. The same Idempotency-Key shows the new ` +
    "secret again, and grace_seconds 0 ends every older secret at once.";
  return refuse("secret_rotation_in_progress", detail, { extra: { previous_secret_expires_at: until } });
}
