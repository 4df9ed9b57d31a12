import {
  APIGatewayClient,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  GetApiKeysCommand,
} from "@aws-sdk/client-api-gateway";
import { env } from "../runtime/env.ts";

const gateway = new APIGatewayClient({ maxAttempts: 3 });

/**
 * Makes the API key of an application and puts it into the usage plan; returns the gateway's id of it. Each step finds
 * what an earlier try has done, so it can run again after a crash anywhere.
 */
export async function ensureGatewayKey(applicationId: string, value: string): Promise<string> {
  const id = await ensureKey(applicationId, value);
  try {
    await gateway.send(new CreateUsagePlanKeyCommand({ usagePlanId: env.usagePlanId, keyId: id, keyType: "API_KEY" }));
  } catch (error) {
    if ((error as Error).name !== "ConflictException") throw error;
  }
  return id;
}

async function ensureKey(name: string, value: string): Promise<string> {
  try {
    const { id } = await gateway.send(new CreateApiKeyCommand({ name, value, enabled: true }));
    if (id !== undefined) return id;
  } catch (error) {
    if ((error as Error).name !== "ConflictException") throw error;
  }
  const { items } = await gateway.send(new GetApiKeysCommand({ nameQuery: name, limit: 10 }));
  const found = items?.find((key) => key.name === name);
  if (found?.id === undefined) throw new Error(`The API key of ${name} is neither new nor there.`);
  return found.id;
}
