import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";

/**
 * The keys of a person (X25519, RFC 7748), each 32 bytes in base64url. The public one seals what the audit keeps of the
 * person, and the private one, which the public one follows after a dot, opens it.
 */
export interface PersonKeyPair {
  readonly public_key: string;
  readonly private_key: string;
}

const version = "v1";
const [pointBytes, tagBytes, keyBytes, ivBytes] = [32, 16, 32, 12];
const curve = { kty: "OKP", crv: "X25519" } as const;

/** New keys of a person. */
export function drawPersonKey(): PersonKeyPair {
  const { x = "", d = "" } = generateKeyPairSync("x25519").privateKey.export({ format: "jwk" });
  return { public_key: x, private_key: `${d}.${x}` };
}

/**
 * Seals a text for a person under AES-256-GCM: `v1.` and, in base64url, the public key that was drawn for this text,
 * the ciphertext and its tag. The key is derived from the secret that the two keys agree on (HKDF-SHA256, RFC 5869), so
 * no two texts share one. `aad` names what the text belongs to and must be the same to open it.
 * @throws Error when the public key is none
 */
export function sealFor(publicKey: string, plain: string, aad: string): string {
  const drawn = generateKeyPairSync("x25519");
  const point = drawn.publicKey.export({ format: "jwk" }).x ?? "";
  const agreed = diffieHellman({ privateKey: drawn.privateKey, publicKey: publicKeyOf(publicKey) });
  const { key, iv } = derived(agreed, point, publicKey);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(aad));
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  const bytes = Buffer.concat([Buffer.from(point, "base64url"), text, cipher.getAuthTag()]);
  return `${version}.${bytes.toString("base64url")}`;
}

/**
 * Opens a sealed text.
 * @throws Error when it was sealed for another person or another `aad`, or was changed
 */
export function openWith(privateKey: string, sealed: string, aad: string): string {
  const bytes = Buffer.from(sealed.slice(version.length + 1), "base64url");
  if (!sealed.startsWith(`${version}.`) || bytes.length < pointBytes + tagBytes) {
    throw new Error("The sealed text has another form.");
  }
  const point = bytes.toString("base64url", 0, pointBytes);
  const [d = "", x = ""] = privateKey.split(".");
  const own = createPrivateKey({ key: { ...curve, d, x }, format: "jwk" });
  const { key, iv } = derived(diffieHellman({ privateKey: own, publicKey: publicKeyOf(point) }), point, x);
  const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(aad));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(pointBytes, -tagBytes)), decipher.final()]).toString("utf8");
}

/** Key and nonce of one text: both follow from a secret that no other text has. */
function derived(agreed: Buffer, point: string, publicKey: string) {
  const [salt, info] = [`${point}.${publicKey}`, `brokerage ${version} person`];
  const bytes = Buffer.from(hkdfSync("sha256", createSecretKey(agreed), salt, info, keyBytes + ivBytes));
  return { key: createSecretKey(bytes.subarray(0, keyBytes)), iv: bytes.subarray(keyBytes) };
}

function publicKeyOf(x: string): KeyObject {
  return createPublicKey({ key: { ...curve, x }, format: "jwk" });
}
