import { AsyncLocalStorage } from "node:async_hooks";

/** Members of every log line of a request, by which an engineer finds them. */
export interface RequestNames {
  /** Id that the gateway gave the request. */
  readonly request_id: string;
  /** The caller's own trace, where it sent one; the gateway's is on each line anyway (see `log`). */
  readonly trace_id?: string;
}

const requests = new AsyncLocalStorage<RequestNames>();

/** Does the work of a request under its names. */
export function underNames<T>(names: RequestNames, work: () => Promise<T>): Promise<T> {
  return requests.run(names, work);
}

/** The names of the request that is worked on; undefined outside of one. */
export function requestNames(): RequestNames | undefined {
  return requests.getStore();
}

/**
 * The trace of what is done now, in the form of X-Ray, `1-5759e988-bd862e3fe1be46a994272793`: the caller's own, else
 * that of the invocation, which is the gateway's behind a route. A run of a sweep has one of its own. Undefined outside
 * of Lambda.
 */
export function traceId(): string | undefined {
  return requestNames()?.trace_id ?? /\bRoot=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)/.exec(invocationTrace())?.[1];
}

/** The trace header of X-Ray, as Lambda sets it for each invocation; empty outside of Lambda. */
export function invocationTrace(): string {
  return process.env["_X_AMZN_TRACE_ID"] ?? "";
}

/** Lets what this invocation calls record no trace, whether the invocation itself does or not. */
export function endTrace(): void {
  const trace = invocationTrace();
  if (trace !== "") process.env["_X_AMZN_TRACE_ID"] = `${trace.replace(/;Sampled=[01?]/, "")};Sampled=0`;
}

/**
 * The trace of a `traceparent` (W3C Trace Context 3.2.2) in the form of X-Ray, which has the same 32 digits. Undefined
 * where it is not valid, and the trace of the gateway counts.
 */
export function traceOfParent(traceparent: string): string | undefined {
  const [, version, time, rest, more] = parentForm.exec(traceparent) ?? [];
  return time === undefined || (version === "00" && more !== undefined) ? undefined : `1-${time}-${rest}`;
}

/** The version is not 255, neither id is all zeros, and a version after 00 may say more. */
const parentForm = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{8})([0-9a-f]{24})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** The 16 bytes of a trace: so it takes the least of an item. */
export function traceBytes(trace: string): Uint8Array {
  return Buffer.from(trace.slice(2).replace("-", ""), "hex");
}

/** The trace of its bytes. */
export function traceOfBytes(bytes: Uint8Array): string {
  const digits = Buffer.from(bytes).toString("hex");
  return `1-${digits.slice(0, 8)}-${digits.slice(8)}`;
}
