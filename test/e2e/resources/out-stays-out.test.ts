import { once } from "node:events";
import { ErrorResponse } from "oidc-client-ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { accessToken } from "../../../infra/tools/api-call.ts";
import { type ApiClient, apiClient, fundedAccount } from "../../support/stack/api-client.ts";
import { newOperator, type OperatorUser } from "../../support/stack/operator-user.ts";
import { poolClient } from "../../support/stack/pool-client.ts";
import { Browser, signIn } from "../../support/stack/sign-in.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { openStream } from "../../support/stack/stream-client.ts";
import { eventually } from "../../support/wait.ts";

/** People and programs whose access ends, on the running stack, and how soon: the sweeps come after a minute. */
let stack: Stack;
const lines: string[] = [];
beforeAll(async () => {
  stack = await sharedStack();
  // A brokerage keeps one active owner.
  await tokenOf(await newOperator(stack, "owner"));
});
afterAll(async () => {
  process.stdout.write(`${lines.join("\n")}\n`);
  await stack?.stop();
});

const withinMs = 10_000;

/** The time of something that follows at once, and not by a sweep. */
async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  lines.push(`${what}: ${ms.toFixed(0)} ms`);
  expect([what, ms < withinMs]).toEqual([what, true]);
}

function pool() {
  if (stack.cloud.pool === undefined) throw new Error("The stack has no user pool.");
  return stack.cloud.pool;
}

/** Signs in at the pool's pages; undefined where the password, or the code that was got by it, is not good. */
async function idToken(user: OperatorUser): Promise<string | undefined> {
  const client = poolClient(pool().addresses, new URL("/signed-in", stack.cloud.dashboardUrl).href);
  const { url } = await client.createSigninRequest({});
  const end = await signIn(new Browser(), url, user).catch(() => "");
  if (!end.includes("code=")) return undefined;
  // A user who is removed between the two requests holds a code that the token endpoint refuses.
  return client.processSigninResponse(end).then(
    ({ id_token }) => id_token,
    (error: unknown) => {
      if (error instanceof ErrorResponse && error.error === "invalid_grant") return undefined;
      throw error;
    },
  );
}

async function exchange(subject_token: string, brokerage_id?: string) {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    ...{ subject_token, ...(brokerage_id !== undefined && { brokerage_id }) },
  });
  const answer = await fetch(`${stack.baseUrl}/oauth/token`, { method: "POST", body });
  return { status: answer.status, body: (await answer.json()) as { access_token?: string } };
}

async function tokenOf(user: OperatorUser, brokerage?: string): Promise<string> {
  const { status, body } = await exchange((await idToken(user)) ?? "", brokerage);
  expect(status).toBe(200);
  return body.access_token ?? "";
}

/** A stream with this token, and the end of it. */
async function stream(token: string) {
  const opened = await openStream(stack.cloud.streamUrl ?? "", token);
  await opened.next(({ type }) => type === "hello");
  return { ended: once(opened.socket, "close") };
}

const refusedCommand = async (api: ApiClient, method: "POST" | "DELETE" | "PATCH", path: string, body?: object) => {
  const { status } = await api.call(method, path, body === undefined ? {} : { body });
  expect([401, 403]).toContain(status);
};
const invite = (api: ApiClient, email: string) =>
  api.call<{ id: string }>("POST", "/operators", { body: { email, name: "Max", role: "viewer" } });

it("a removed owner commands nothing, follows nothing, and signs in no more", async () => {
  const owner = await newOperator(stack, "owner");
  const token = await tokenOf(owner);
  const api = apiClient(stack.baseUrl, token);
  expect((await api.call("GET", "/me")).status).toBe(200);
  const { ended } = await stream(token);
  expect((await stack.api.call("DELETE", `/operators/${owner.id}`)).status).toBe(200);
  await timed("removed owner, command refused", () =>
    refusedCommand(api, "POST", "/operators", { email: "a@example.com", name: "A", role: "viewer" }),
  );
  await timed("removed owner, stream closed", () => ended);
  await timed("removed owner, password gone", () =>
    eventually(async () => ((await idToken(owner)) === undefined ? true : undefined)),
  );
});

it("a revoked application commands nothing, follows nothing, and gets no token", async () => {
  const body = { name: "Leaves", scopes: ["applications:write", "events:read"] };
  const made = (
    await stack.api.call<{ id: string; client_id: string; client_secret: string }>("POST", "/applications", { body })
  ).body;
  const token = await accessToken(stack.baseUrl, made);
  const api = apiClient(stack.baseUrl, token);
  expect((await api.call("GET", "/me")).status).toBe(200);
  const { ended } = await stream(token);
  expect((await stack.api.call("DELETE", `/applications/${made.id}`)).status).toBe(200);
  await timed("revoked application, command refused", () =>
    refusedCommand(api, "POST", "/applications", { name: "Another", scopes: ["events:read"] }),
  );
  await timed("revoked application, stream closed", () => ended);
  await timed("revoked application, token refused", async () => {
    const { client_id, client_secret } = made;
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    expect((await fetch(`${stack.baseUrl}/oauth/token`, { method: "POST", body: form })).status).toBe(401);
  });
});

it("a suspended approver approves nothing, and what waits still waits", async () => {
  const finance = await newOperator(stack, "finance");
  const token = await tokenOf(finance);
  const api = apiClient(stack.baseUrl, token);
  const { account_id } = await fundedAccount(stack.api, "1000.00");
  const { body } = await stack.api.call<{ id: string }>("POST", "/transactions/withdrawal", {
    body: { account_id, amount: "60.00" },
  });
  expect((await api.call("GET", `/transactions/${body.id}`)).status).toBe(200);
  const { ended } = await stream(token);
  await stack.api.call("PATCH", `/operators/${finance.id}`, { body: { status: "suspended" } });
  await timed("suspended approver, approval refused", () =>
    refusedCommand(api, "POST", `/transactions/${body.id}/approve`),
  );
  await timed("suspended approver, stream closed", () => ended);
  const { body: kept } = await stack.api.call<{ status: string }>("GET", `/transactions/${body.id}`);
  expect(kept.status).toBe("pending");
});

it("an invitation from another brokerage keeps no removed password alive, and breaks no sign-in", async () => {
  const person = await newOperator(stack, "owner");
  const [inviting, other] = [await stack.newApplication(), await stack.newApplication()];
  const token = await tokenOf(person, stack.tenant_id);
  expect((await invite(inviting.api, person.email)).status).toBe(201);
  // A person who is active at one brokerage signs in there without a choice, while another one invites them.
  const still = await eventually(async () => {
    const { status, body } = await exchange((await idToken(person)) ?? "");
    return status === 200 ? body.access_token : undefined;
  });
  expect((await apiClient(stack.baseUrl, still).call<{ tenant_id: string }>("GET", "/me")).body.tenant_id).toBe(
    stack.tenant_id,
  );
  expect((await stack.api.call("DELETE", `/operators/${person.id}`)).status).toBe(200);
  await timed("removed and invited elsewhere, command refused", () =>
    refusedCommand(apiClient(stack.baseUrl, token), "POST", "/operators", {}),
  );
  await timed("removed and invited elsewhere, old password gone", () =>
    eventually(async () => ((await idToken(person)) === undefined ? true : undefined)),
  );
  // The pool invites them again, for the brokerage that did.
  await eventually(async () => {
    try {
      const found = pool().admin.call("AdminGetUser", { UserPoolId: pool().settings.id, Username: person.email });
      return found["UserStatus"] === "FORCE_CHANGE_PASSWORD" || undefined;
    } catch {
      return undefined;
    }
  });

  // A person of a third brokerage keeps the sign-in that they have there.
  const second = await newOperator(stack, "owner");
  await tokenOf(second, stack.tenant_id);
  await invite(other.api, second.email);
  await eventually(async () => {
    const { status } = await exchange((await idToken(second)) ?? "", other.tenant_id);
    return status === 200 || undefined;
  });
  await invite(inviting.api, second.email);
  await stack.api.call("DELETE", `/operators/${second.id}`);
  const kept = await tokenOf(second);
  expect((await apiClient(stack.baseUrl, kept).call<{ tenant_id: string }>("GET", "/me")).body.tenant_id).toBe(
    other.tenant_id,
  );
});

it("who signs out commands nothing with the token and follows nothing, also at another machine", async () => {
  const person = await newOperator(stack, "owner");
  const token = await tokenOf(person);
  const api = apiClient(stack.baseUrl, token);
  expect((await api.call("GET", "/me")).status).toBe(200);
  const { ended } = await stream(token);
  const signedOut = await fetch(`${stack.baseUrl}/oauth/revoke`, {
    method: "POST",
    body: new URLSearchParams({ token }),
  });
  expect(signedOut.status).toBe(200);
  await timed("signed out, command refused", () =>
    refusedCommand(api, "POST", "/operators", { email: "a@example.com", name: "A", role: "viewer" }),
  );
  await timed("signed out, stream closed", () => ended);
});

it("whose credentials are reset is out with them, and in with the new ones", async () => {
  const person = await newOperator(stack, "developer");
  const token = await tokenOf(person);
  const api = apiClient(stack.baseUrl, token);
  expect((await api.call("GET", "/me")).status).toBe(200);
  const { ended } = await stream(token);
  expect((await stack.api.call("POST", `/operators/${person.id}/reset_credentials`)).status).toBe(200);
  await timed("reset, command refused", () =>
    refusedCommand(api, "POST", "/applications", { name: "Mine", scopes: ["events:read"] }),
  );
  await timed("reset, stream closed", () => ended);
  await timed("reset, password gone", () =>
    eventually(async () => ((await idToken(person)) === undefined ? true : undefined)),
  );
});
