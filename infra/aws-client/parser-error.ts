/** Takes the place of `@middy/util`, of which the parser of JSON bodies uses the maker of its one error, a 415. */
export function createError(statusCode: number, message: string, options: ErrorOptions = {}): Error {
  const error = Object.assign(new Error(message, options), {
    statusCode,
    status: statusCode,
    expose: statusCode < 500,
  });
  error.name = "UnsupportedMediaTypeError";
  return error;
}
