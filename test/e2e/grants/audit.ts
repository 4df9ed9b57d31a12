import { expect } from "vitest";
import { routes } from "../../../shared/routes/index.ts";
import type { Stack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";
import { type StoryOptions, unused } from "./stack.ts";

/** A day that is sealed by two runs: the first one dies when its objects are written and their end is not noted. */
export async function tellOfSealing({ stack, saboteur }: StoryOptions): Promise<void> {
  const name = "brokerage-sandbox-seal-audit";
  const last = `${name} TransactWriteItems`;
  const seal = () => stack.cloud.invoke(name, { action: "seal" });
  await eventually(async () => {
    // The schedule may have sealed the last days of the brokerages that were there.
    await stack.newApplication();
    saboteur.targets.add(last);
    await seal().catch(() => undefined);
    saboteur.targets.delete(last);
    await seal();
    return unused(stack).some((grant) => grant.startsWith(name)) ? undefined : true;
  });
}

/**
 * Every row that needs a token or a secret, called from an address that its application may not call from, and a token
 * of an application that was revoked before the authorizer saw it: each reports that.
 */
export async function tellOfRefusals(stack: Stack): Promise<void> {
  const { api, application_id, tenant_id, credentials } = await stack.newApplication();
  const { api: admin } = await stack.newApplication({ tenant_id });
  const bound = await admin.call("PATCH", `/applications/${application_id}`, {
    body: { allowed_ips: ["192.0.2.0/24"] },
  });
  expect(bound.status, bound.text).toBe(200);
  for (const { method, path, auth, stages } of routes) {
    if (auth !== "token" || !stages.includes("sandbox")) continue;
    const { status, text } = await api.call(method, path.replaceAll(/\{\w+\}/g, "1"));
    expect([status, text]).toEqual([403, expect.stringContaining("address_not_allowed")]);
  }
  const asked = { "/oauth/token": { grant_type: "client_credentials" }, "/oauth/revoke": { token: "rt_unknown" } };
  for (const [path, fields] of Object.entries(asked)) {
    const body = new URLSearchParams({ ...fields, ...credentials });
    expect((await fetch(stack.baseUrl + path, { method: "POST", body })).status).toBe(401);
  }
  const gone = await stack.newApplication({ tenant_id });
  expect((await admin.call("DELETE", `/applications/${gone.application_id}`)).status).toBe(200);
  expect((await gone.api.call("GET", "/me")).status).toBe(401);
  // The second one of a minute changes the tally that the first one has made.
  await eventually(async () => {
    await api.call("GET", "/me");
    return !unused(stack).includes("brokerage-sandbox-record-refusals Update") || undefined;
  });
}
