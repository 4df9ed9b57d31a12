interface Stack {
  readonly add: (middleware: unknown, options: object) => void;
}

/** Takes the place of what writes each call of a client to its logger. No client has one: calls hold personal data. */
export const getLoggerPlugin = () => ({ applyToStack: (_stack: Stack) => {} });

/** Where it would stand. */
export const loggerMiddlewareOptions = { name: "loggerMiddleware", tags: ["LOGGER"], step: "initialize" };

/** Passes every call on. */
export const loggerMiddleware =
  () =>
  <T>(next: T): T =>
    next;
