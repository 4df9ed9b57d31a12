import type { Access } from "./iam/permissions.ts";

/** Services that functions may call here. */
export type Service =
  | "dynamodb"
  | "sqs"
  | "secretsmanager"
  | "apigateway"
  | "execute-api"
  | "lambda"
  | "cognito-idp"
  | "s3"
  | "logs";

/** A call that was understood: what it needs, and how to do it. */
export interface Plan {
  readonly service: Service;
  readonly action: string;
  readonly access: readonly Access[];
  /** Right without which a missing resource is answered as a denial. */
  readonly mayKnow?: Access;
  readonly body: unknown;
  do(): Promise<Reply> | Reply;
}

/** An answer. Types and identifiers are added to its headers. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** A request as it came. */
export interface Incoming {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** Empty for a request to S3, whose bodies may be no text. */
  readonly text: string;
  readonly body: unknown;
}
