import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwsError } from "../../../infra/local/aws-error.ts";
import { Secrets, secretOperations } from "../../../infra/local/secrets/secrets.ts";

/** Secrets Manager as the local runner has it, for functions that run inside the test process. */
export interface SecretsManager {
  /** The variables by which functions find it and their two secrets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
  /** Operations that were asked, in order. */
  readonly asked: string[];
  /** While true, every call is answered by an error of the service. */
  failing: boolean;
  readonly stop: () => Promise<void>;
}

const signingKey = { Name: "test/signing-key", GenerateSecretString: { SecretStringTemplate: "{}" } };
const serviceKey = { Name: "test/service-key", GenerateSecretString: { PasswordLength: 64 } };

/** Starts it on a free port of 127.0.0.1, with a signing key that is not made yet and a service key. */
export async function startSecretsManager(): Promise<SecretsManager> {
  const folder = mkdtempSync(join(tmpdir(), "brokerage-secrets-"));
  const resources = [signingKey, serviceKey].map((properties) => ({
    path: properties.Name,
    type: "AWS::SecretsManager::Secret",
    physical_id: `arn:aws:secretsmanager:eu-west-1:000000000000:secret:${properties.Name}-abcdef`,
    properties,
    attributes: {},
  }));
  const secrets = new Secrets(resources, folder);
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    running.asked.push(operation);
    const reply = answer(secrets, operation, JSON.parse(text), running.failing);
    response.writeHead(reply.status, { "Content-Type": "application/x-amz-json-1.1" }).end(JSON.stringify(reply.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const running: SecretsManager = {
    environment: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SIGNING_KEY_SECRET_ID: signingKey.Name,
      SERVICE_KEY_SECRET_ID: serviceKey.Name,
    },
    secrets,
    asked: [],
    failing: false,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return running;
}

function answer(secrets: Secrets, name: string, body: Record<string, unknown>, failing: boolean) {
  const operation = secretOperations.find((one) => one === name);
  try {
    if (failing || operation === undefined) throw new AwsError(500, "InternalServiceError", "The service failed.");
    return { status: 200, body: secrets.call(operation, body) };
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return { status: error.status, body: { __type: error.type, message: error.message } };
  }
}
