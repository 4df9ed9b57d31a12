/** Largest frame in bytes that API Gateway takes (AWS docs: quotas for WebSocket APIs). */
const frameLimit = 32 * 1024;

/** Bytes of a length in a frame's head, by the seven bits that stand for it. */
const extendedLengths: Readonly<Record<number, number>> = { 126: 2, 127: 8 };
const maskBytes = 4;

/**
 * Looks at the heads of the frames that a client sends (RFC 6455 5.2), in chunks of any size. The library limits whole
 * messages and says nothing of their frames.
 */
export class FrameMeter {
  /** Bytes of the head that is being read. */
  private head: number[] = [];
  /** Bytes of the payload that are still to come. */
  private left = 0;

  /** Whether a frame that begins in this chunk, or whose head ends in it, is larger than the gateway takes. */
  exceeds(chunk: Uint8Array): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.left > 0) {
        const skipped = Math.min(this.left, chunk.length - at);
        this.left -= skipped;
        at += skipped;
        continue;
      }
      this.head.push(chunk[at] ?? 0);
      at += 1;
      const length = this.lengthOfHead();
      if (length === undefined) continue;
      if (length > frameLimit) return true;
      this.head = [];
      this.left = length;
    }
    return false;
  }

  /** The length of the payload once the head is complete. */
  private lengthOfHead(): number | undefined {
    const [, second] = this.head;
    if (second === undefined) return undefined;
    const short = second & 0x7f;
    const extended = extendedLengths[short] ?? 0;
    const mask = (second & 0x80) === 0 ? 0 : maskBytes;
    if (this.head.length < 2 + extended + mask) return undefined;
    if (extended === 0) return short;
    return this.head.slice(2, 2 + extended).reduce((length, byte) => length * 256 + byte, 0);
  }
}
