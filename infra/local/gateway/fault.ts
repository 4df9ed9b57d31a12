/** One kind of error that API Gateway makes by itself. */
interface Kind {
  /** Status when the API does not set another one. */
  readonly status: number;
  /** Value of the header `x-amzn-ErrorType`. */
  readonly error_type: string;
  /** Text of `$context.error.message` without a closer one. */
  readonly message: string | null;
}

/**
 * The response types that an API can customize (AWS docs: gateway response types). AWS documents 504 for
 * INTEGRATION_FAILURE and answers 500, or 502 when it was the function that failed; so do the faults made here.
 */
export const kinds = {
  ACCESS_DENIED: {
    status: 403,
    error_type: "AccessDeniedException",
    message: "User is not authorized to access this resource",
  },
  API_CONFIGURATION_ERROR: {
    status: 500,
    error_type: "InternalServerErrorException",
    message: "Internal server error",
  },
  AUTHORIZER_CONFIGURATION_ERROR: { status: 500, error_type: "AuthorizerConfigurationException", message: null },
  AUTHORIZER_FAILURE: { status: 500, error_type: "AuthorizerFailureException", message: null },
  BAD_REQUEST_BODY: { status: 400, error_type: "BadRequestException", message: "Invalid request body" },
  BAD_REQUEST_PARAMETERS: { status: 400, error_type: "BadRequestException", message: "Invalid request parameters" },
  DEFAULT_4XX: { status: 400, error_type: "BadRequestException", message: "Bad Request" },
  DEFAULT_5XX: { status: 500, error_type: "InternalServerErrorException", message: "Internal server error" },
  EXPIRED_TOKEN: { status: 403, error_type: "ExpiredTokenException", message: "Expired token" },
  INTEGRATION_FAILURE: { status: 500, error_type: "InternalServerErrorException", message: "Internal server error" },
  INTEGRATION_TIMEOUT: {
    status: 504,
    error_type: "InternalServerErrorException",
    message: "Endpoint request timed out",
  },
  INVALID_API_KEY: { status: 403, error_type: "ForbiddenException", message: "Forbidden" },
  INVALID_SIGNATURE: { status: 403, error_type: "InvalidSignatureException", message: "Invalid signature" },
  MISSING_AUTHENTICATION_TOKEN: {
    status: 403,
    error_type: "MissingAuthenticationTokenException",
    message: "Missing Authentication Token",
  },
  QUOTA_EXCEEDED: { status: 429, error_type: "LimitExceededException", message: "Limit Exceeded" },
  REQUEST_TOO_LARGE: { status: 413, error_type: "RequestTooLargeException", message: "Request Too Long" },
  RESOURCE_NOT_FOUND: { status: 404, error_type: "ResourceNotFoundException", message: "Resource not found" },
  THROTTLED: { status: 429, error_type: "TooManyRequestsException", message: "Too Many Requests" },
  UNAUTHORIZED: { status: 401, error_type: "UnauthorizedException", message: "Unauthorized" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, error_type: "BadRequestException", message: "Unsupported Media Type" },
  WAF_FILTERED: { status: 403, error_type: "ForbiddenException", message: "Forbidden" },
} as const satisfies Record<string, Kind>;

/** One of the response types of gateway responses. */
export type ResponseType = keyof typeof kinds;

/** Whether a text is one of the response types. */
export function isResponseType(text: string): text is ResponseType {
  return Object.hasOwn(kinds, text);
}

/** Members that may differ from the kind of a fault. */
export interface FaultDetail {
  readonly status?: number;
  readonly error_type?: string;
  readonly message?: string | null;
  /** Why, for the log; the caller never sees it. */
  readonly reason?: string;
}

/** The gateway answers the request itself, with the gateway response of this type. */
export class Fault extends Error {
  readonly type: ResponseType;
  readonly status: number;
  readonly errorType: string;
  /** Text of `$context.error.message`. */
  readonly text: string | null;

  constructor(type: ResponseType, detail: FaultDetail = {}) {
    super(detail.reason ?? type);
    this.name = "Fault";
    this.type = type;
    this.status = detail.status ?? kinds[type].status;
    this.errorType = detail.error_type ?? kinds[type].error_type;
    this.text = detail.message === undefined ? kinds[type].message : detail.message;
  }
}

/**
 * The front of the service answers before any API is known, so no gateway response applies: unknown stage, broken
 * request, limits of size.
 */
export class FrontFault extends Error {
  readonly status: number;
  readonly errorType: string;

  constructor(status: number, errorType: string, message: string) {
    super(message);
    this.name = "FrontFault";
    this.status = status;
    this.errorType = errorType;
  }
}
