/**
 * Takes the place of `@middy/util`, which loads `node:http` for the names of statuses: what Middy and its parser of
 * JSON bodies import of it. The parser fails for no body of a request: `scanJson` has refused what it would refuse.
 */

/** Content types of JSON. */
export const jsonContentTypePattern = /^application\/([a-z0-9.+-]+\+)?json(;|$)/i;

/** The error that the parser throws. */
export function createError(statusCode: number, message: string, options: ErrorOptions = {}): Error {
  return Object.assign(new Error(message, options), { statusCode, status: statusCode, expose: statusCode < 500 });
}

/** The text of a body. */
export function decodeBody(body: string | null | undefined, isBase64Encoded?: boolean): string | null | undefined {
  if (body === null || body === undefined) return body;
  return isBase64Encoded === true ? Buffer.from(body, "base64").toString() : body;
}

/** The value of a JSON text; `scanJson` refuses the names of members that would reach a prototype. */
export function jsonParseProtectProto(text: string): unknown {
  return JSON.parse(text);
}

/** No function has the options of its chain checked, and the bundler leaves this out. */
export function validateOptions(): never {
  throw new Error("The options of a chain are not checked here.");
}
