import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { peekToken, verifyAccessToken } from "../../shared/oauth/token.ts";

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = keys.publicKey.export({ format: "pem", type: "spki" }).toString();
const nowSeconds = 1_800_000_000;
const expected = { issuer: "https://i.example", audience: "https://a.example", environment: "sandbox", nowSeconds };
const claims = {
  iss: expected.issuer,
  aud: expected.audience,
  sub: "app_AAAAAAAAAAAAAAAAAAAAAAAA",
  client_id: "app_AAAAAAAAAAAAAAAAAAAAAAAA",
  exp: nowSeconds + 60,
  iat: nowSeconds,
  jti: "tok_01JD0000000000000000000000",
  scope: "clients:read",
  tenant: "brk_01JD0000000000000000000000",
  app: "app_01JD0000000000000000000000",
  fam: "fam_01JD0000000000000000000000",
  env: "sandbox",
};

/** A token with a right signature by the key of this file. */
function signed(more: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${encode({ alg: "ES256", typ: "at+jwt", kid: "key_1", ...more })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key: keys.privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

describe("an access token", () => {
  it("is accepted without critical extensions", () => {
    expect(peekToken(signed({}))).toMatchObject({ kid: "key_1", tenant: claims.tenant });
    expect(verifyAccessToken(signed({}), pem, expected)).toEqual(claims);
  });

  it.each([
    { crit: ["b64"], b64: true },
    { crit: ["exp"], exp: nowSeconds },
    { crit: ["https://x.example/unknown"], "https://x.example/unknown": 1 },
    // RFC 7515 4.1.11 forbids the empty list, and anything that is not a list of names.
    { crit: [] },
    { crit: null },
    { crit: "b64" },
  ])("is refused with %o in its header, before a read of the table and after its signature", (more) => {
    expect(peekToken(signed(more))).toBeUndefined();
    expect(verifyAccessToken(signed(more), pem, expected)).toBeUndefined();
  });
});
