import { createHash } from "node:crypto";

/** MD5 as the SDK asks for a hash: SQS tells by it what it received (Amazon SQS API reference, SendMessage). */
export class Md5 {
  readonly #hash = createHash("md5");

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}
