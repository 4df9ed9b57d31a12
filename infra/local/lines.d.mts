/** Calls back with the text of each line of a stream of bytes, without its newline; the byte 0x0a alone ends a line. */
export function onLine(input: NodeJS.ReadableStream, heard: (line: string) => void): void;
