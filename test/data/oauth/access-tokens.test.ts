import { createHmac, createSign, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SigningKey } from "../../../shared/oauth/signing-key.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { startApi } from "../../support/emulator/api.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi();
const service = await startTokenService(api);
afterAll(async () => api.stop());

let day = 0;
beforeEach(() => {
  day += 2;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + day * 86_400_000 });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const own = await service.application();
const sibling = await service.application({}, own.admin);

type Json = Record<string, unknown>;
const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString("base64url");
const decode = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString()) as Json;

/** The private key that the service signs with now. */
function currentKey(): SigningKey {
  const value = api.secretsManager.secrets.call("GetSecretValue", { SecretId: process.env["SIGNING_KEY_SECRET_ID"] });
  return JSON.parse(String(value["SecretString"])) as SigningKey;
}

function signed(header: Json, payload: Json, key: string | KeyObject = currentKey().pem): string {
  const text = `${encode(header)}.${encode(payload)}`;
  const signature = sign("sha256", Buffer.from(text), { key: key as KeyObject, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

/** A good token with its parts, and one of the sibling application. */
async function goodToken() {
  const { access_token: token, refresh_token } = (await service.grant(own)).body;
  const other = (await service.grant(sibling)).body.access_token as string;
  const [header, payload] = token.split(".").slice(0, 2).map(decode) as [Json, Json];
  return { token: token as string, refresh_token, header, payload, other: decode(other.split(".")[1]) };
}
type Good = Awaited<ReturnType<typeof goodToken>>;

const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const without = (value: Json, name: string) => {
  const { [name]: _, ...rest } = value;
  return rest;
};
const now = () => Math.floor(Date.now() / 1000);

const forged: Record<string, (good: Good) => string> = {
  "no algorithm": ({ header, payload }) => `${encode({ ...header, alg: "none" })}.${encode(payload)}.`,
  "no signature": ({ token }) => token.split(".").slice(0, 2).join("."),
  "an empty signature": ({ token }) => `${token.split(".").slice(0, 2).join(".")}.`,
  "a changed signature": ({ token }) => token.slice(0, -6) + (token.endsWith("AAAAAA") ? "BBBBBB" : "AAAAAA"),
  "a changed payload": ({ token, payload }) =>
    [token.split(".")[0], encode({ ...payload, scope: "settings:write" }), token.split(".")[2]].join("."),
  "HS256 with the public key as secret": ({ header, payload }) => {
    const text = `${encode({ ...header, alg: "HS256" })}.${encode(payload)}`;
    return `${text}.${createHmac("sha256", currentKey().pem).update(text).digest("base64url")}`;
  },
  "RS256 with a key of the forger": ({ header, payload }) => {
    const text = `${encode({ ...header, alg: "RS256" })}.${encode(payload)}`;
    return `${text}.${createSign("sha256").update(text).sign(rsa.privateKey).toString("base64url")}`;
  },
  "a key of the forger under the known key id": ({ header, payload }) => signed(header, payload, stranger.privateKey),
  "a key that the token brings along": ({ header, payload }) =>
    signed({ ...header, jwk: stranger.publicKey.export({ format: "jwk" }) }, payload, stranger.privateKey),
  "a key that the token points to": ({ header, payload }) =>
    signed({ ...header, jku: "https://evil.example/jwks.json" }, payload, stranger.privateKey),
  "an unknown key id": ({ header, payload }) => signed({ ...header, kid: "key_00000000000000000000" }, payload),
  "a key id that is a path": ({ header, payload }) => signed({ ...header, kid: "../../GLOBAL|KEYS" }, payload),
  "no key id": ({ header, payload }) => signed(without(header, "kid"), payload),
  "the type of another JWT": ({ header, payload }) => signed({ ...header, typ: "JWT" }, payload),
  "no type": ({ header, payload }) => signed(without(header, "typ"), payload),
  "an extension that must be understood": ({ header, payload }) =>
    signed({ ...header, crit: ["b64"], b64: true }, payload),
  "an empty list of extensions": ({ header, payload }) => signed({ ...header, crit: [] }, payload),
  "another issuer": ({ header, payload }) => signed(header, { ...payload, iss: "https://production.example" }),
  "another audience": ({ header, payload }) => signed(header, { ...payload, aud: "https://api.production.example" }),
  "several audiences": ({ header, payload }) => signed(header, { ...payload, aud: [payload["aud"], "https://b"] }),
  "the other environment": ({ header, payload }) => signed(header, { ...payload, env: "production" }),
  "an expiry six seconds ago": ({ header, payload }) => signed(header, { ...payload, exp: now() - 6 }),
  "a beginning in the future": ({ header, payload }) => signed(header, { ...payload, iat: now() + 60 }),
  "no expiry": ({ header, payload }) => signed(header, without(payload, "exp")),
  "an expiry that is text": ({ header, payload }) => signed(header, { ...payload, exp: String(payload["exp"]) }),
  "no beginning": ({ header, payload }) => signed(header, without(payload, "iat")),
  "no identifier": ({ header, payload }) => signed(header, without(payload, "jti")),
  "no subject": ({ header, payload }) => signed(header, without(payload, "sub")),
  "another tenant": ({ header, payload }) => signed(header, { ...payload, tenant: newId("brk") }),
  "an unknown application": ({ header, payload }) => signed(header, { ...payload, app: newId("app") }),
  "another application under its own client id": ({ header, payload, other }) =>
    signed(header, { ...payload, app: other["app"] }),
  "another client id": ({ header, payload, other }) =>
    signed(header, { ...payload, client_id: other["client_id"], sub: other["sub"] }),
  "no family": ({ header, payload }) => signed(header, without(payload, "fam")),
  "an unknown family": ({ header, payload }) => signed(header, { ...payload, fam: newId("fam") }),
  "the family of another application": ({ header, payload, other }) =>
    signed(header, { ...payload, fam: other["fam"] }),
  "more than four kibibytes": ({ header, payload }) => signed(header, { ...payload, more: "x".repeat(4096) }),
  "a list for its payload": ({ header }) => signed(header, [] as unknown as Json),
  "the refresh token in its place": ({ refresh_token }) => refresh_token,
  "a second token behind it": ({ token }) => `${token} ${token}`,
  nothing: () => "",
};

describe("the authorizer", () => {
  it.each(Object.entries(forged))("refuses a token with %s", async (_, forge) => {
    const good = await goodToken();
    expect(await service.accepts(signed(good.header, good.payload))).toBe(true);
    expect(await service.accepts(forge(good))).toBe(false);
  });

  it("takes a token for an hour and five seconds more", async () => {
    const { token } = await goodToken();
    pass(3600 - (Date.now() % 1000) / 1000);
    for (const [seconds, taken] of [
      [-1, true],
      [1, true],
      [4, true],
      [1, false],
      [60, false],
    ] as const) {
      pass(seconds);
      expect([seconds, await service.accepts(token)]).toEqual([seconds, taken]);
    }
  });

  it("takes no token of a revoked application, nor one that a rotated secret gave once that is over", async () => {
    const application = await service.application();
    const { credentials, admin, id } = application;
    const old = (await service.grant(application)).body;
    const rotated = await api.call(admin, "POST", `/applications/${id}/rotate_secret`, {
      body: { grace_seconds: 600 },
    });
    expect(rotated.status).toBe(200);
    const fresh = { ...application, credentials: { ...credentials, client_secret: rotated.body.client_secret } };
    const both = [await service.grant(application), await service.grant(fresh)];
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    // A client that moved to the new secret keeps its family.
    const moved = (await service.refresh(fresh, old.refresh_token)).body;
    pass(599);
    for (const { body } of both) expect(await service.accepts(body.access_token)).toBe(true);
    pass(1);
    expect((await service.grant(application)).status).toBe(401);
    expect((await service.grant(fresh)).status).toBe(200);
    const accepted = await Promise.all(both.map(({ body }) => service.accepts(body.access_token)));
    expect(accepted).toEqual([false, true]);
    expect(await service.accepts(moved.access_token)).toBe(true);
    expect((await api.call(admin, "DELETE", `/applications/${id}`)).status).toBe(200);
    for (const { body } of both) expect(await service.accepts(body.access_token)).toBe(false);
    expect((await service.grant(fresh)).status).toBe(401);
    expect((await service.refresh(fresh, moved.refresh_token)).status).toBe(401);
  });
});

describe("the signing key", () => {
  async function published(): Promise<string[]> {
    const answer = await api.call(undefined, "GET", "/.well-known/jwks.json");
    expect([answer.status, answer.headers["Cache-Control"]]).toEqual([200, "public, max-age=300"]);
    for (const key of answer.body.keys) expect(Object.keys(key).sort().join()).toBe("alg,crv,kid,kty,use,x,y");
    return answer.body.keys.map(({ kid }: { kid: string }) => kid);
  }
  const kidOf = (token: string) => String(decode(token.split(".")[0])["kid"]);

  it("rotates without refusing a valid token, and signs only when its public half was out for ten min", async () => {
    const tokens: { token: string; endsMs: number }[] = [];
    const firstSeen = new Map<string, number>();
    // A token every five minutes for nine hours; rotations in between, two of them as close as they may be.
    for (let minute = 0; minute < 540; minute += 5) {
      if ([30, 40, 200, 360].includes(minute)) await service.rotate();
      const kids = await published();
      for (const kid of kids) firstSeen.set(kid, firstSeen.get(kid) ?? Date.now());
      const { access_token: token } = (await service.grant(own)).body;
      const outForMs = Date.now() - (firstSeen.get(kidOf(token)) ?? Number.NaN);
      if (firstSeen.size > 1 && firstSeen.get(kidOf(token)) !== Math.min(...firstSeen.values())) {
        expect(outForMs).toBeGreaterThanOrEqual(600_000);
      }
      tokens.push({ token, endsMs: Date.now() + 3_600_000 });
      const live = tokens.filter(({ endsMs }) => endsMs > Date.now());
      expect(kids).toEqual(expect.arrayContaining(live.map((each) => kidOf(each.token))));
      expect(await Promise.all(live.map((each) => service.accepts(each.token)))).not.toContain(false);
      pass(300);
    }
    expect(new Set(tokens.map(({ token }) => kidOf(token))).size).toBe(5);
    // Keys whose last token has expired are no longer shown.
    pass(2 * 3600);
    expect(await published()).toEqual([currentKey().kid]);
  }, 60_000);

  it("is not rotated while the one before still signs: that one would be lost", async () => {
    await service.rotate();
    const { kid } = currentKey();
    await expect(service.rotate()).rejects.toThrow("does not sign yet");
    expect(currentKey().kid).toBe(kid);
    expect((await service.grant(own)).status).toBe(200);
    pass(601);
    await service.rotate();
    expect(currentKey().kid).not.toBe(kid);
  });
});
