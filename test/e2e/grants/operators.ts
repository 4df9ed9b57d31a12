import type { Stack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

/** Waits until the user of the pool is as provisioning makes it. */
async function poolHas({ cloud }: Stack, email: string, wanted: boolean | undefined): Promise<void> {
  const { admin, settings } = cloud.pool ?? {};
  await eventually(() => {
    try {
      const { Enabled } = admin?.call("AdminGetUser", { UserPoolId: settings?.id, Username: email }) ?? {};
      return Enabled === wanted || undefined;
    } catch {
      return wanted === undefined || undefined;
    }
  });
}

/** The audit of a person, in a list and by itself: the values of a new client are opened by its key. */
export async function tellOfPersons({ api, newApplication }: Stack, client_id: string): Promise<void> {
  await newApplication({ owner: "first@example.com" });
  const id = await eventually(async () => {
    const { body } = await api.call<{ data: { id: string }[] }>("GET", `/audit_log?resource=${client_id}`);
    return body.data[0]?.id;
  });
  await api.call("GET", `/audit_log/${id}`);
}

/** An operator from the invitation over a suspension to the removal, and one who stays; returns the latter. */
export async function tellOfOperators(stack: Stack): Promise<string> {
  const { api } = stack;
  const call = (method: string, address: string, body?: object) =>
    api.call<{ id: string }>(method, address, {
      ...(body === undefined ? {} : { body }),
      headers: { "Idempotency-Key": `${method}${address}${JSON.stringify(body)}` },
    });
  const invite = (email: string) => call("POST", "/operators", { email, name: "Story", role: "viewer" });
  const email = "removed@example.com";
  const { body: removed } = await invite(email);
  await poolHas(stack, email, true);
  await call("POST", `/operators/${removed.id}/invite`);
  await call("PATCH", `/operators/${removed.id}`, { status: "suspended" });
  await poolHas(stack, email, false);
  await call("PATCH", `/operators/${removed.id}`, { name: "Renamed", status: "active" });
  await poolHas(stack, email, true);
  await call("DELETE", `/operators/${removed.id}`);
  await poolHas(stack, email, undefined);
  return (await invite("stays@example.com")).body.id;
}
