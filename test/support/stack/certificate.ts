import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";

/** A certificate that signs itself, and its key, both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Makes a certificate (RFC 5280) for a host name, from a week ago on for so many days; a negative number makes one that
 * has expired. A client that trusts it as an authority believes the name.
 */
export function certificateFor(hostname: string, days = 365): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const weekMs = 7 * 86_400_000;
  const startMs = Date.now() - 53 * weekMs;
  const endMs = Date.now() + days * 86_400_000;
  const algorithm = sequence(object("2a8648ce3d040302"));
  const name = sequence(tagged(0x31, sequence(object("550403"), tagged(0x0c, Buffer.from(hostname)))));
  const names = sequence(tagged(0x82, Buffer.from(hostname)));
  const extensions = sequence(
    sequence(object("551d11"), tagged(0x04, names)),
    sequence(
      object("551d13"),
      tagged(0x01, Buffer.from([0xff])),
      tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff])))),
    ),
  );
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(startMs), time(endMs)),
    name,
    publicKey,
    tagged(0xa3, extensions),
  );
  const signature = sign("sha256", body, createPrivateKey(privateKey));
  const whole = sequence(body, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").replace(/.{64}/g, "$&\n");
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key: privateKey };
}

/** One element of DER (X.690): tag, length, content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function object(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return tagged(0x18, Buffer.from(text));
}
