/**
 * Reads the messages between the processes of the runner: JSON texts in UTF-8, each ended by the byte 0x0a. JSON
 * escapes that character inside a text, and no other character of UTF-8 contains that byte, so a message cannot be cut
 * in two. `node:readline` does not frame JSON: in Node 24 it also ends a line at U+2028 and U+2029, which JSON does not
 * escape (RFC 8259 7).
 */

const newline = 0x0a;

/**
 * Calls back with the text of each line, without its newline. The process at the other end may be killed while it
 * writes: what follows the last newline is part of a message and is dropped.
 * @param {NodeJS.ReadableStream} input A stream of bytes; without an encoding.
 * @param {(line: string) => void} heard
 */
export function onLine(input, heard) {
  /** @type {Buffer[]} */
  let parts = [];
  input.on("data", (/** @type {Buffer} */ chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, end)]).toString();
      parts = [];
      from = end + 1;
      heard(line);
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  });
}
