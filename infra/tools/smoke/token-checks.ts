import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { publishedUrls, tokenClaims } from "../../../shared/hosts.ts";
import { type Stage, stages } from "../../../shared/routes/route.ts";
import type { Json } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { Finding, must } from "./finding.ts";
import { functionOf, resources } from "./resources.ts";
import { replyText, within } from "./session.ts";

function part(token: string, at: number): Json {
  return JSON.parse(Buffer.from(token.split(".")[at] ?? "", "base64url").toString() || "null");
}

/** Stage that the service says it is. */
async function stageOf({ session }: Context): Promise<Stage> {
  const named = [functionOf("get_health"), resources.apiStage];
  const { body } = await session.expect(200, "GET", "/health", named, { token: null });
  const stage = stages.find((each) => each === body?.environment);
  must(stage !== undefined, `GET /health names the environment ${body?.environment}`, named);
  return stage;
}

async function publishedKeys({ session }: Context): Promise<readonly Json[]> {
  const named = [resources.signingKey, resources.keyRotation, functionOf("rotate-signing-key")];
  const reply = await session.expect(200, "GET", "/.well-known/jwks.json", [functionOf("get_key_set")], {
    token: null,
  });
  const keys: Json = reply.body?.keys;
  must(Array.isArray(keys) && keys.length > 0, "The key set is empty: no receiver can verify a token", named);
  must(!keys.some((key) => "d" in key), "The key set shows a private key: rotate it at once", named);
  const { headers } = reply;
  const stored = headers.get("cache-control");
  must(stored === "public, max-age=300", `The key set has the header Cache-Control: ${stored}`, named);
  return keys;
}

/** How long after its revocation an application may still be admitted: the authorizer's cache, and slack. */
const revokedWithinMs = 70_000;

/** Checks of tokens, of their keys and of the authorizer. */
export const tokenChecks: readonly Check[] = [
  {
    name: "token",
    title: "the token names this stage, its application and its scopes",
    async run(context) {
      const { session, options } = context;
      const named = [functionOf("create_token"), resources.apiStage];
      const expected = tokenClaims(publishedUrls[await stageOf(context)]);
      const token = await session.token();
      const claims = part(token, 1);
      const { issuer = expected.issuer, audience = expected.audience } = options;
      must(claims.iss === issuer, `The token's issuer is ${claims.iss}, not ${issuer}`, named);
      must(claims.aud === audience, `The token's audience is ${claims.aud}, not ${audience}`, named);
      must(claims.sub === session.credentials.client_id, `The token's subject is ${claims.sub}`, named);
      const { body } = await session.expect(200, "GET", "/me", [functionOf("get_me")]);
      must(body?.tenant_id === claims.tenant, `GET /me names the brokerage ${body?.tenant_id}`, named);
      return `brokerage ${claims.tenant}`;
    },
  },
  {
    name: "signing-key",
    title: "the public key of the token is published and verifies it",
    async run(context) {
      const token = await context.session.token();
      const keys = await publishedKeys(context);
      const { kid } = part(token, 0);
      const key: JsonWebKey | undefined = keys.find((each) => each.kid === kid);
      const named = [resources.keyRotation, functionOf("rotate-signing-key"), functionOf("get_key_set")];
      must(key !== undefined, `The key ${kid} of the token is not in the key set`, named);
      const at = token.lastIndexOf(".");
      const signature = Buffer.from(token.slice(at + 1), "base64url");
      const publicKey = createPublicKey({ key, format: "jwk" });
      const good = verify(
        "sha256",
        Buffer.from(token.slice(0, at)),
        { key: publicKey, dsaEncoding: "ieee-p1363" },
        signature,
      );
      must(good, `The published key ${kid} does not verify the token`, named);
      return `${keys.length} published`;
    },
  },
  {
    name: "authorizer-cache",
    title: "the authorizer's cache keeps callers apart",
    async run({ session, story }) {
      const other = await story.application(["clients:read"]);
      const named = [resources.authorizer, functionOf("authorize")];
      const callers = [
        { token: await session.token(), client_id: session.credentials.client_id },
        { token: other.token, client_id: other.client_id },
      ];
      const asked = [...callers, ...callers, ...callers].map(async ({ token, client_id }) => {
        const reply = await session.expect(200, "GET", "/me", named, { token });
        const found = reply.body?.application?.client_id;
        must(found === client_id, `A request of ${client_id} is taken for one of ${found}`, named);
      });
      await Promise.all(asked);
      const refused = await session.call("GET", "/applications", { token: other.token });
      const isRefused = refused.status === 403 && refused.body?.code === "insufficient_scope";
      must(isRefused, `A token without the scope is answered ${replyText(refused)}`, [functionOf("list_applications")]);
      return undefined;
    },
  },
  {
    name: "revocation",
    title: "a revoked application is refused within the authorizer's cache time",
    slow: true,
    async run({ session, story }) {
      const { id, token } = await story.application(["clients:read"]);
      const named = [resources.authorizer, functionOf("authorize"), functionOf("revoke_application")];
      await session.expect(200, "GET", "/me", named, { token });
      await session.expect(200, "DELETE", `/applications/${id}`, named);
      const startMs = performance.now();
      let last = "";
      // Once its API key is deleted, a cached answer leads to 503; when that answer is gone, to 401.
      const look = async () => {
        const reply = await session.call("GET", "/me", { token });
        last = replyText(reply);
        return reply.status === 401 ? true : undefined;
      };
      const late = () =>
        new Finding(`After ${revokedWithinMs / 1000} s a revoked application is answered ${last}`, named);
      await within(revokedWithinMs, look, late, 1000);
      return `after ${Math.round((performance.now() - startMs) / 1000)} s`;
    },
  },
];
