/** A failure of ours that passes by itself: others came between every time, or what was written is not seen yet. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** Why one member of a cancelled transaction was not written, as DynamoDB tells it. */
export interface Reason {
  readonly Code?: string;
  readonly Item?: Record<string, unknown>;
}

/** Names by which DynamoDB, Secrets Manager, SQS and API Gateway say that they were asked too much. */
const throttled =
  /^(?:Throttling|Provisioned|RequestLimit|RequestThrottled|TooManyRequests|KmsThrottled|TransactionInProgress)/;

/**
 * Names of errors of calls that were given up, that met another write of the same item, or that found no table: the one
 * of volatile items may be gone for as long as it is made again.
 */
const passing = /^(?:AbortError|TimeoutError|Unavailable|TransactionConflictException|ResourceNotFoundException)$/;

/** Codes of Node for a connection that could not be made, or that was closed: ECONNREFUSED, ECONNRESET, ENOTFOUND. */
const unreachable = /^E(?!RR_)[A-Z_]+$/;

/** Whether DynamoDB says that it was asked too much, as an error's name or as a reason of a cancelled transaction. */
export function isThrottle(code: string | undefined): boolean {
  return throttled.test(code ?? "");
}

/**
 * Whether an error means that a service could not be asked now, although the request is in order: it was throttled, is
 * not reached, is silent, or failed itself. The work of the call may have been done.
 */
export function isUnavailable(error: unknown): boolean {
  const { name = "", code = "", $metadata, CancellationReasons: reasons = [] } = error as FailedCall;
  if (passing.test(name) || isThrottle(name) || unreachable.test(code)) return true;
  if (($metadata?.httpStatusCode ?? 0) >= 500) return true;
  return reasons.some(({ Code }) => Code === "TransactionConflict" || isThrottle(Code));
}

/** Members that an error of a call may have. */
interface FailedCall {
  readonly name?: string;
  /** Node's, of a connection. */
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly CancellationReasons?: readonly Reason[];
}
