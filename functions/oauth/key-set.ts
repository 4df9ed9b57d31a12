import { open } from "../../shared/http/open.ts";
import { warmedUp } from "../../shared/http/warm-up.ts";
import { keySet } from "../../shared/oauth/public-keys.ts";
import { getKeySet } from "../../shared/routes/oauth.ts";

const answered = open(getKeySet, async () => ({
  status: 200,
  headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" },
  body: JSON.stringify(await keySet()),
}));

/** `GET /.well-known/jwks.json`. A cache may keep it for half the time that a new key is published before it signs. */
export const handler = await warmedUp(getKeySet, answered);
