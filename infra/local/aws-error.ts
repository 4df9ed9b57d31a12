/** An error in the shape of AWS: status, short type name and text; `extra` are further members of the body. */
export class AwsError extends Error {
  readonly status: number;
  readonly type: string;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(status: number, type: string, message: string, extra: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.extra = extra;
  }
}

/** The error of AWS for a call that no policy allows. Its status differs between services, and S3 has its own name. */
export function accessDenied(service: string, message: string): AwsError {
  if (service === "s3") return new AwsError(403, "AccessDenied", message);
  return new AwsError(
    ["dynamodb", "secretsmanager", "cognito-idp"].includes(service) ? 400 : 403,
    "AccessDeniedException",
    message,
  );
}
