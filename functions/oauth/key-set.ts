import { open } from "../../shared/http/open.ts";
import { warmedUp } from "../../shared/http/warm-up.ts";
import { keySet } from "../../shared/oauth/public-keys.ts";
import { getKeySet } from "../../shared/routes/oauth.ts";

const answered = open(getKeySet, async () => ({
  status: 200,
  headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" },
  body: JSON.stringify(await keySet()),
}));

/** `GET /.well-known/jwks.json`. Cached for half the time from the publication of a key to its first use. */
export const handler = await warmedUp(getKeySet, answered);
