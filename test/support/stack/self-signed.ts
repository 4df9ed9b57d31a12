import { generateKeyPairSync, sign } from "node:crypto";

/** Names of what a certificate is made of (RFC 5280, RFC 5758), in DER. */
const identifiers = {
  ecdsaWithSha256: "06082a8648ce3d040302",
  commonName: "0603550403",
  subjectAltName: "0603551d11",
};

/** One element of DER: its tag, its length, its content. */
function element(tag: number, ...content: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === "string" ? Buffer.from(part, "hex") : part)));
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = Buffer.from(body.length.toString(16).padStart(body.length > 255 ? 4 : 2, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

const sequence = (...content: readonly (Buffer | string)[]) => element(0x30, ...content);

/** A key and a certificate for 127.0.0.1 that it signed itself, valid for this century; both as PEM. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(element(0x31, sequence(identifiers.commonName, element(0x0c, Buffer.from("127.0.0.1")))));
  const validity = sequence(element(0x17, Buffer.from("200101000000Z")), element(0x17, Buffer.from("491231235959Z")));
  const algorithm = sequence(identifiers.ecdsaWithSha256);
  const addresses = element(0x04, sequence(element(0x87, "7f000001")));
  const content = sequence(
    element(0xa0, element(0x02, "02")),
    element(0x02, "01"),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(sequence(identifiers.subjectAltName, addresses))),
  );
  const signature = element(0x03, "00", sign("sha256", content, privateKey));
  const lines =
    sequence(content, algorithm, signature)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return {
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}
