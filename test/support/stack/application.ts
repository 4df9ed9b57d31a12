import type { Cloud } from "../../../infra/local/cloud.ts";
import { accessToken, type Credentials } from "../../../infra/tools/api-call.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { type ApiClient, apiClient } from "./api-client.ts";

/** Options of an application. */
export interface ApplicationOptions {
  readonly tenant_id?: string;
  readonly scopes?: readonly string[];
  /** Email address of the first owner of a new tenant. */
  readonly owner?: string;
}

/** An application with a client that holds its token. */
export interface Application {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly credentials: Credentials;
  readonly api: ApiClient;
}

/** Makes an application of a tenant of its own, or of the named one, as an operator does. */
export async function newApplication(
  cloud: Cloud,
  { tenant_id, scopes, owner }: ApplicationOptions = {},
  stage: Stage = "sandbox",
): Promise<Application> {
  const answer = await cloud.invoke(`brokerage-${stage}-provision`, {
    action: "create_application",
    tenant_id: tenant_id ?? null,
    name: "Test",
    scopes: scopes ?? null,
    ...(owner === undefined ? {} : { owner }),
  });
  const made = answer.payload as { tenant_id: string; application_id: string } & Credentials;
  if (answer.functionError !== undefined) throw new Error(JSON.stringify(answer.payload));
  const credentials = { client_id: made.client_id, client_secret: made.client_secret };
  const api = apiClient(cloud.baseUrl, await accessToken(cloud.baseUrl, credentials));
  return { tenant_id: made.tenant_id, application_id: made.application_id, credentials, api };
}
