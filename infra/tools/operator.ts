import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { InvokeCommand, LambdaClient, type LambdaClientConfig } from "@aws-sdk/client-lambda";
import { UsageError } from "../../shared/runtime/command-line.ts";
import { isRecord } from "../local/template/intrinsics.ts";

/** How the operator reaches the service that runs here. */
interface LocalRunner {
  /** Settings of a client of AWS. */
  readonly config: Required<Pick<LambdaClientConfig, "endpoint" | "region" | "credentials">>;
  /** Bucket of the audit's sealed days. */
  readonly audit_bucket: string;
}

/** Error of a command that finds no local service. */
const noService = "No service runs here: npm start starts one.";

/**
 * The address and the operator's credentials of the local runner. They are given to the client itself: a profile or an
 * endpoint in the environment would otherwise take precedence.
 */
export function localRunner(): LocalRunner {
  const file = resolve(".local", "operator.json");
  if (!existsSync(file)) throw new UsageError(noService);
  const variables: Record<string, string> = JSON.parse(readFileSync(file, "utf8"));
  const { AWS_ENDPOINT_URL = "", AWS_REGION = "", AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = variables;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const config = { endpoint: AWS_ENDPOINT_URL, region: AWS_REGION, credentials };
  return { config, audit_bucket: variables["AUDIT_BUCKET_NAME"] ?? "" };
}

async function invoked(name: string, request: unknown, config: LambdaClientConfig): Promise<unknown> {
  // A function may do its work each time it is invoked, so an invocation without an answer is not repeated.
  const client = new LambdaClient({ ...config, maxAttempts: 1 });
  try {
    const reply = await client.send(new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(request) }));
    const text = Buffer.from(reply.Payload ?? []).toString() || "null";
    const payload: unknown = JSON.parse(text);
    if (reply.FunctionError === undefined) return payload;
    const message = isRecord(payload) ? payload["errorMessage"] : undefined;
    throw new UsageError(`The function ${name} failed: ${String(message ?? text)}`);
  } finally {
    client.destroy();
  }
}

/** The reason why a command cannot call AWS, as advice; an error of no service stays as it is. */
export function awsAdvice(error: unknown, refused: (text: string) => string): unknown {
  if (error instanceof UsageError || !(error instanceof Error)) return error;
  if ("code" in error && error.code === "ECONNREFUSED") return new UsageError(noService);
  if (error.name === "CredentialsProviderError") {
    return new UsageError(
      "There are no AWS credentials: sign in to AWS, or use --local for the service that runs here.",
    );
  }
  if (error.message === "Region is missing") return new UsageError("No AWS region is set: set AWS_REGION.");
  return "$metadata" in error ? new UsageError(refused(error.message)) : error;
}

function invocationFault(error: unknown, name: string): unknown {
  if (error instanceof Error && error.name === "ResourceNotFoundException") {
    return new UsageError(
      `There is no function ${name} in this account and region: deploy the stage, or set AWS_REGION.`,
    );
  }
  return awsAdvice(error, (text) => `The function ${name} could not be invoked: ${text}`);
}

/**
 * Invokes a function as the operator and returns its answer.
 * @throws UsageError a sentence that says what to do, or how the function failed
 */
export async function invokeFunction(name: string, request: unknown, config: LambdaClientConfig): Promise<unknown> {
  return invoked(name, request, config).catch((error: unknown) => {
    throw invocationFault(error, name);
  });
}
