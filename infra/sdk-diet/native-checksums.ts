import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";

/**
 * Takes the place of `@smithy/core/checksum`: the hashes that requests are signed and messages are compared by, from
 * OpenSSL. Node always has them, so the implementations in JavaScript for those who have not are left out.
 */
type Bytes = string | ArrayBuffer | ArrayBufferView;

function asInput(data: Bytes): string | Buffer {
  if (typeof data === "string") return data;
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}

function asBytes(digest: Buffer): Uint8Array {
  return new Uint8Array(digest.buffer, digest.byteOffset, digest.byteLength);
}

/** SHA-256, or HMAC-SHA-256 where there is a secret: requests are signed with both (AWS Signature Version 4). */
export class Sha256 {
  readonly digestLength = 32;
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret || undefined;
    this.#hash = this.#fresh();
  }

  update(data: Bytes): void {
    this.#hash.update(asInput(data));
  }

  async digest(): Promise<Uint8Array> {
    // A hash may be asked in between and go on; an HMAC cannot be copied, and nobody asks it twice.
    return asBytes("copy" in this.#hash ? this.#hash.copy().digest() : this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#fresh();
  }

  #fresh(): Hash | Hmac {
    return this.#secret === undefined ? createHash("sha256") : createHmac("sha256", asInput(this.#secret));
  }
}

/** MD5, by which SQS tells what it received (Amazon SQS API reference, SendMessage). Not for security. */
export class Md5 {
  readonly digestLength = 16;
  #hash = createHash("md5");

  update(data: Bytes): void {
    this.#hash.update(asInput(data));
  }

  async digest(): Promise<Uint8Array> {
    return asBytes(this.#hash.copy().digest());
  }

  reset(): void {
    this.#hash = createHash("md5");
  }
}
