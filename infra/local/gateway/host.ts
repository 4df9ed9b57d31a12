/** Surroundings of the gateway. */
export interface GatewayHost {
  /**
   * Invokes a function and waits. `functionError` is set when the handler threw; `payload` is then the error object.
   * Rejects when the process died or timed out.
   * @param trace the trace header that the function gets as its own; without it the invocation begins a trace
   */
  invoke(functionArn: string, event: unknown, trace?: string): Promise<{ payload: unknown; functionError?: string }>;
  /** The API key with this value, and the physical ids of the usage plans that hold it. */
  findApiKey(value: string): { id: string; enabled: boolean; usage_plan_ids: string[] } | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** A time limit was reached before the function answered. */
export class InvocationTimeout extends Error {}

/** Invokes functions, and tells the time. */
export type InvokingHost = Pick<GatewayHost, "invoke" | "now">;

/** Invokes a function and gives up after the time limit in milliseconds, with an InvocationTimeout. */
export async function invokeWithin(
  host: Pick<GatewayHost, "invoke">,
  functionArn: string,
  event: { readonly given: unknown; readonly trace?: string },
  timeoutMs: number,
): Promise<{ payload: unknown; functionError?: string }> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new InvocationTimeout(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([host.invoke(functionArn, event.given, event.trace), limit]);
  } finally {
    clearTimeout(timer);
  }
}

const functionArn = String.raw`arn:[^:]+:lambda:[^:]+:\d+:function:[^/]+`;
const invocationUri = new RegExp(
  `^arn:[^:]+:apigateway:[^:]+:lambda:path/2015-03-31/functions/(${functionArn})/invocations$`,
);

/** ARN of the function in the URI of an integration or authorizer; undefined when it leads elsewhere. */
export function functionOf(uri: string): string | undefined {
  return invocationUri.exec(uri)?.[1];
}
