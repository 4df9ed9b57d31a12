import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

/** Input to the signature: the event, its bytes as they are sent, and the moment of this attempt. */
export interface Signed {
  readonly event_id: string;
  readonly body: Uint8Array;
  /** Epoch seconds. */
  readonly timestamp: number;
}

/** The headers by which a receiver knows a call as ours. */
export interface SignatureHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
  readonly "X-Service-Signature": string;
}

const prefix = "whsec_";

/**
 * Signs a body by every secret that is valid now, in two schemes. `webhook-signature` is Standard Webhooks: base64 of
 * HMAC-SHA256 over `id.timestamp.body`, its key the 32 bytes that follow `whsec_` in base64. `X-Service-Signature` is
 * Stripe's: hex of HMAC-SHA256 over `timestamp.body`, its key the text of the whole secret.
 * @throws Error when there is no secret, or one of another form
 */
export function signatureHeaders(signed: Signed, secrets: readonly string[]): SignatureHeaders {
  if (secrets.length === 0) throw new Error("There is no secret to sign with.");
  const { event_id, body, timestamp } = signed;
  const standard = secrets.map((secret) => {
    const mac = createHmac("sha256", keyOf(secret)).update(`${event_id}.${timestamp}.`).update(body);
    return `v1,${mac.digest("base64")}`;
  });
  const plain = secrets.map((secret) => {
    const mac = createHmac("sha256", secret).update(`${timestamp}.`).update(body);
    return `v1=${mac.digest("hex")}`;
  });
  return {
    "webhook-id": event_id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.join(" "),
    "X-Service-Signature": [`t=${timestamp}`, ...plain].join(","),
  };
}

function keyOf(secret: string): KeyObject {
  const key = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), "base64") : Buffer.alloc(0);
  if (key.length !== 32) throw new Error("The secret has another form.");
  return createSecretKey(key);
}
