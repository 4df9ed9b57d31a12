/**
 * Takes the place of the SDK's tests for web streams and blobs. Nothing in a function makes either, and only to ask
 * for the names of their classes makes Node load its web streams: 4 ms.
 */
export const isReadableStream = (): boolean => false;

/** No body is a blob. */
export const isBlob = (): boolean => false;
