import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { accessToken, type Credentials } from "../../infra/tools/api-call.ts";
import { someClient } from "../support/stack/api-client.ts";
import { findCanaries, ownSecrets, searchedPlaces } from "../support/stack/canary.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

const canaries = new Map<string, string>();
const note = (what: string, secret: string) => canaries.set(what, secret);

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Asks an OAuth endpoint and notes every token of the answer. */
async function ask(what: string, path: string, fields: Record<string, string>, headers = {}): Promise<Tokens> {
  const reply = await fetch(`${stack.baseUrl}/oauth/${path}`, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers,
  });
  const text = await reply.text();
  const tokens = (text === "" ? {} : JSON.parse(text)) as Tokens;
  if (tokens.access_token !== undefined) {
    note(`the access token of ${what}`, tokens.access_token.split(".")[2] ?? "");
    note(`the refresh token of ${what}`, tokens.refresh_token.slice(-43));
  }
  return tokens;
}

/** Everything that hands out or takes in a secret: done well, done wrongly, and done twice under one key. */
async function handOutSecrets(): Promise<void> {
  const { api, credentials } = stack;
  note("the first client secret", credentials.client_secret);
  note("the first access token", api.token.split(".")[2] ?? "");
  const made: (Credentials & { id: string })[] = [];
  for (const turn of [1, 2]) {
    const key = "raw-idempotency-key-of-the-application";
    note("the Idempotency-Key", key);
    const { body } = await api.call<Credentials & { id: string }>("POST", "/applications", {
      body: { name: "Canary", scopes: ["clients:read", "clients:write"] },
      headers: { "Idempotency-Key": key },
    });
    note(`the client secret of answer ${turn}`, body.client_secret);
    made.push(body);
  }
  const [application] = made;
  if (application === undefined) throw new Error("No application was made.");
  const { client_id, client_secret, id } = application;
  await accessToken(stack.baseUrl, application);
  const basic = { Authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}` };
  const first = await ask("Basic", "token", { grant_type: "client_credentials" }, basic);
  const body = { client_id, client_secret };
  const second = await ask("the body", "token", { grant_type: "refresh_token", ...body, ...pick(first) });
  await ask("a repeat", "token", { grant_type: "refresh_token", ...body, ...pick(first) });
  await ask("a successor", "token", { grant_type: "refresh_token", ...body, ...pick(second) });
  // The reuse ends the family and writes a line to the log; the other mistakes come with secrets in wrong places.
  await ask("a reuse", "token", { grant_type: "refresh_token", ...body, ...pick(first) });
  await ask("a wrong place", `token?client_secret=${client_secret}`, { grant_type: "client_credentials", ...body });
  await ask("a wrong secret", "token", {
    grant_type: "client_credentials",
    client_id,
    client_secret: first.refresh_token,
  });
  await ask("a wrong scope", "token", { grant_type: "client_credentials", ...body, scope: client_secret });
  await ask("a revocation", "revoke", { ...body, token: second.access_token });
  const { access_token } = await ask("a last grant", "token", { grant_type: "client_credentials", ...body });
  await fetch(`${stack.baseUrl}/clients?${new URLSearchParams({ access_token })}`);
  await fetch(`${stack.baseUrl}/clients`, {
    method: "POST",
    headers: { Authorization: `Bearer ${access_token}`, "Content-Type": "application/json" },
    body: JSON.stringify(someClient()),
  });
  const rotated = await api.call<Credentials>("POST", `/applications/${id}/rotate_secret`, {
    body: {},
    headers: { "Idempotency-Key": "raw-idempotency-key-of-the-rotation" },
  });
  note("the rotated client secret", rotated.body.client_secret);
  await stack.cloud.rotateSecrets();
  await ask("the new signing key", "token", {
    grant_type: "client_credentials",
    client_id,
    client_secret: rotated.body.client_secret,
  });
  await api.call("DELETE", `/applications/${id}`);
}

function pick({ refresh_token }: Tokens): { refresh_token: string } {
  return { refresh_token };
}

it("no secret, token or key is in clear in a table, a stream, a queue or a log", async () => {
  await handOutSecrets();
  // Work behind the requests is searched too: events are published, the API key is made and deleted.
  await eventually(async () =>
    (await stack.api.call("GET", "/events")).text.includes("client.created") ? true : undefined,
  );
  const all = new Map([...canaries, ...ownSecrets(stack)]);
  expect(all.size).toBeGreaterThan(20);
  for (const [what, secret] of all) expect([what, secret.length >= 24]).toEqual([what, true]);
  const searched = await searchedPlaces(stack);
  const places = [...searched].filter(([, size]) => size > 100).map(([place]) => place);
  for (const kind of [
    /^table .*Main/,
    /^stream of .*Main/,
    /^table .*Volatile/,
    /^log .*create-token/,
    /^log .*authorize/,
  ]) {
    expect(places).toContainEqual(expect.stringMatching(kind));
  }
  expect(await findCanaries(stack, all)).toEqual([]);
  const log = readFileSync(join(stack.dataDir, "logs", "brokerage-sandbox-create-token.log"), "utf8");
  expect(log).toMatch(/security: a refresh token was misused.*"reason":"reuse".*"family_ended":true/);
}, 60_000);

it("a secret that is there is found, also in base64", async () => {
  const { body } = await stack.api.call<{ id: string }>("POST", "/clients", {
    body: {
      ...someClient(),
      metadata: { plain: "planted-canary-number-one", coded: btoa(" planted-canary-number-two") },
    },
  });
  expect(body.id).toMatch(/^cli_/);
  const planted = new Map([
    ["the first", "planted-canary-number-one"],
    ["the second", "planted-canary-number-two"],
    ["the third", "planted-canary-number-three"],
  ]);
  const found = await findCanaries(stack, planted);
  expect(found).toContainEqual(expect.stringMatching(/^the first is in the table/));
  expect(found).toContainEqual(expect.stringMatching(/^the second is in the stream/));
  expect(found.filter((sentence) => sentence.startsWith("the third"))).toEqual([]);
});
