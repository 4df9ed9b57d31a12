/**
 * Takes the place of `@aws/lambda-invoke-store`, which keeps the trace of an invocation where one environment runs
 * several at once (Lambda managed instances). Ours run one; the SDK then takes the trace from the environment.
 */
export const InvokeStore = { getInstanceAsync: async () => undefined };
