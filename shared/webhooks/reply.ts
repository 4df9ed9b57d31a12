import type { IncomingMessage } from "node:http";
import { limits } from "../limits.ts";

/** The kept part of a receiver's reply. */
export interface ReplyBody {
  /** Its beginning as text, null when there is none or when it is compressed. */
  readonly excerpt: string | null;
  /** Whether it came to its own end, so that the connection can be used again. */
  readonly complete: boolean;
}

/**
 * Reads a reply to its end, or to the most that is read of one, or as long as one is read, or until the connection
 * breaks or is broken. A receiver that sends a byte a second would keep a worker, and others that wait for it. Nothing
 * is decompressed: what a receiver compresses unasked is not shown.
 */
export function readReply(reply: IncomingMessage): Promise<ReplyBody> {
  const { reply_max_bytes, reply_ms, excerpt_max_bytes } = limits.webhooks;
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  return new Promise((resolve) => {
    const finish = (complete: boolean) => {
      clearTimeout(longest);
      resolve({ excerpt: excerptOf(reply, Buffer.concat(kept)), complete });
    };
    const longest = setTimeout(() => {
      reply.destroy();
      finish(false);
    }, reply_ms);
    reply.on("data", (chunk: Buffer) => {
      if (keptBytes < excerpt_max_bytes) kept.push(chunk.subarray(0, excerpt_max_bytes - keptBytes));
      keptBytes = Math.min(excerpt_max_bytes, keptBytes + chunk.length);
      readBytes += chunk.length;
      if (readBytes <= reply_max_bytes) return;
      reply.destroy();
      finish(false);
    });
    reply.once("end", () => finish(reply.complete));
    reply.once("error", () => finish(false));
    reply.once("close", () => finish(false));
  });
}

// Everything that a terminal or a viewer might act on, but for tab and line ends.
const controls = /[^\P{C}\t\n\r]/gu;

/** Text of at most so many bytes in UTF-8: what is not UTF-8, or is a control character, becomes U+FFFD. */
function excerptOf(reply: IncomingMessage, bytes: Buffer): string | null {
  const encoding = reply.headers["content-encoding"] ?? "identity";
  if (bytes.length === 0 || encoding.trim().toLowerCase() !== "identity") return null;
  const text = new TextDecoder().decode(bytes).replace(controls, "\u{fffd}");
  return cutText(text, limits.webhooks.excerpt_max_bytes);
}

/** The longest beginning of a text that has at most so many bytes in UTF-8. */
function cutText(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // Bytes of the form 10xxxxxx continue a character: it is left out as a whole.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
