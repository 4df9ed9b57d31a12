import { Readable } from "node:stream";

/**
 * Takes the place of the SDK's test whether a request can be sent again, which would load the web streams: a body that
 * flows away cannot.
 */
export const isStreamingPayload = (request: { readonly body?: unknown } | undefined): boolean =>
  request?.body instanceof Readable;
