import type { IncomingMessage } from "node:http";

/**
 * Reads the body of a request; undefined when it has more bytes than that. Rejects when the caller goes away. The rest
 * of a body that is too large is read and dropped: to break off an iteration would destroy the socket before the answer
 * is sent, and an iteration takes several promises for each of tens of thousands of requests.
 */
export function readBody(message: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > mostBytes) resolve(undefined);
      else chunks.push(chunk);
    });
    message.on("end", () => resolve(Buffer.concat(chunks)));
    message.on("error", reject);
    message.on("close", () => reject(new Error("the caller went away")));
  });
}
