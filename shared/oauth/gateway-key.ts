import {
  APIGatewayClient,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  GetApiKeysCommand,
} from "@aws-sdk/client-api-gateway";
import { limits } from "../limits.ts";
import { bounded } from "../runtime/budget.ts";
import { env } from "../runtime/env.ts";
import { keyTag } from "../schema/provision.ts";
import { unless } from "./unless.ts";

const gateway = bounded(
  new APIGatewayClient({ maxAttempts: limits.calls.attempts, requestHandler: limits.calls.slow_handler }),
);

/**
 * Makes the API key of an application and puts it into the usage plan; returns the gateway's id of it. Each step finds
 * what an earlier try has done, so it can run again after a crash anywhere.
 */
export async function ensureGatewayKey(applicationId: string, value: string): Promise<string> {
  const id = await ensureKey(applicationId, value);
  await unless("ConflictException", () =>
    gateway.send(new CreateUsagePlanKeyCommand({ usagePlanId: env.usagePlanId, keyId: id, keyType: "API_KEY" })),
  );
  return id;
}

/** Takes every API key of an application out of the usage plan and deletes it; what is gone already is no fault. */
export async function removeGatewayKeys(applicationId: string): Promise<void> {
  for (const id of await keyIdsOf(applicationId)) {
    const inPlan = { usagePlanId: env.usagePlanId, keyId: id };
    await unless("NotFoundException", () => gateway.send(new DeleteUsagePlanKeyCommand(inPlan)));
    await unless("NotFoundException", () => gateway.send(new DeleteApiKeyCommand({ apiKey: id })));
  }
}

async function ensureKey(name: string, value: string): Promise<string> {
  const made = await unless("ConflictException", () =>
    gateway.send(new CreateApiKeyCommand({ name, value, enabled: true, tags: { [keyTag]: env.stage } })),
  );
  const id = made?.id ?? (await keyIdsOf(name))[0];
  if (id === undefined) throw new Error(`The API key of ${name} is neither new nor there.`);
  return id;
}

async function keyIdsOf(name: string): Promise<readonly string[]> {
  const { items = [] } = await gateway.send(new GetApiKeysCommand({ nameQuery: name, limit: 10 }));
  return items.flatMap((key) => (key.name === name && key.id !== undefined ? [key.id] : []));
}
