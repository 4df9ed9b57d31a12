import { createApplication, ProvisionRequest, reconcileApplications } from "../../shared/oauth/provision.ts";

/** Invoked by the operator's command, and on a schedule: makes applications and their API keys. No route leads here. */
export async function handler(event: unknown): Promise<unknown> {
  const request = ProvisionRequest.parse(event);
  return request.action === "create_application" ? createApplication(request) : reconcileApplications();
}
