/** What a request may take on average, from its arrival at the gateway to its answer, ms. */
export const averageLatencyMs = 50;

/** Of that, the gateway's share (AWS docs: `Latency` minus `IntegrationLatency`) and that of an invocation, ms. */
export const gatewayMs = 10;
export const invokeMs = 4;

/** What remains for the function of a route on average, ms. */
export const averageDurationMs = averageLatencyMs - gatewayMs - invokeMs;

/** Routes that may take longer on average, by their id, each with its reason. */
export const slowRoutes: Readonly<Record<string, string>> = {};
