import { afterAll, describe, expect, it } from "vitest";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startStreamGateway } from "../../support/emulator/stream-gateway.ts";
import { startUserPool as startPoolUsers } from "../../support/emulator/user-pool.ts";
import { someAttempt, startTokenService } from "../../support/stack/token-service.ts";
import { type Claims, signedToken, startUserPool } from "../../support/stack/user-pool.ts";

const [api, pool, users] = [await startApi("watched"), await startUserPool(), await startPoolUsers()];
const service = await startTokenService(api);
const gateway = await startStreamGateway();
Object.assign(process.env, users.environment);
process.env["POOL_ISSUER"] = pool.issuer;
process.env["POOL_CLIENT_ID"] = pool.client_id;
process.env["POOL_KEYS_URL"] = pool.keys_url;
afterAll(async () => {
  await Promise.all([gateway.stop(), api.stop(), pool.stop(), users.stop()]);
});

const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { authorizeBearer } = await import("../../../shared/oauth/authorize.ts");
const { endStreams } = await import("../../../shared/stream/ended-access.ts");
const { changeItem } = await import("../../../shared/table/items.ts");
const { operatorKeys, operators } = await import("../../../shared/table/entities.ts");

let made = 0;
const newEmail = () => {
  made += 1;
  return `leaves-${made}@example.com`;
};
/** Moments of sign-ins, which differ: the sign-ins of one second are one. */
const started = Math.floor(Date.now() / 1000) - 3600;

/** An operator of a brokerage whose user has this email. */
async function member(email: string, admin: TestCaller = newCaller()) {
  const { id } = (await api.call(admin, "POST", "/operators", { body: { email, name: "Ana", role: "owner" } })).body;
  await settleOperator(operators.key(admin.tenant_id, id));
  await changeItem(operatorKeys.key(admin.tenant_id), { set: { api_key_id: "key" } });
  return { id, email, admin, key: operators.key(admin.tenant_id, id) };
}
type Member = Awaited<ReturnType<typeof member>>;

function exchange({ email, admin }: Member, auth_time: number, more: Claims = {}) {
  const subject_token = signedToken(
    pool.claims(String(users.users.find(email)?.sub), { auth_time, ...more }),
    pool.key,
  );
  return service.post("/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    ...{ subject_token, brokerage_id: admin.tenant_id },
  });
}
async function tokenOf(of: Member, auth_time: number): Promise<string> {
  const { status, text, body } = await exchange(of, auth_time);
  expect([status, text]).toEqual([200, text]);
  return body.access_token;
}
const authorize = (token: string) => authorizeBearer([`Bearer ${token}`], someAttempt);
const signOut = (token: string, more: object = {}, options = {}) =>
  service.post("/oauth/revoke", { token, token_type_hint: "access_token", ...more }, options);

describe("a sign-out", () => {
  it("ends every token of the sign-in, in all brokerages of the person, and no other sign-in", async () => {
    const email = newEmail();
    const [one, other] = [await member(email), await member(email)];
    const tokens = [await tokenOf(one, started), await tokenOf(one, started), await tokenOf(other, started)];
    const elsewhere = await tokenOf(one, started + 1);
    const { status, text } = await signOut(tokens[0] ?? "");
    expect([status, text]).toEqual([200, ""]);
    for (const token of tokens) expect(await authorize(token)).toBeUndefined();
    for (const of of [one, other]) {
      const refused = await exchange(of, started);
      expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
    }
    expect(await authorize(elsewhere)).toMatchObject({ actor: { id: one.id } });
    expect((await exchange(other, started + 2)).status).toBe(200);
  });

  it("changes nothing when it is repeated, and leaves one entry of the audit in each brokerage", async () => {
    const email = newEmail();
    const people = [await member(email), await member(email)];
    const [token = ""] = await Promise.all(people.map((of) => tokenOf(of, started)));
    await Promise.all([signOut(token), signOut(token), signOut(token)]);
    const entries = (await scanTable(api.emulator)).map((item) => JSON.stringify(item));
    for (const { id } of people) {
      expect(entries.filter((one) => one.includes("revoke_token") && one.includes(id))).toHaveLength(1);
    }
  });

  it("refuses the commands of a caller whom the authorizer still remembers", async () => {
    const of = await member(newEmail());
    const token = await tokenOf(of, started);
    const { session = "" } = (await authorize(token)) ?? {};
    expect(session).not.toBe("");
    const operator = { id: of.id, name: "Ana", role: "owner", session } as const;
    const caller = { ...of.admin, operator };
    const invite = () =>
      api.call(caller, "POST", "/operators", { body: { email: newEmail(), name: "Max", role: "viewer" } });
    expect((await invite()).status).toBe(201);
    await signOut(token);
    const refused = await invite();
    expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
    expect(refused.body.detail).toBe("The sign-in behind the token has ended.");
  });

  it("takes the token that has expired, and neither a forged one nor one with a client's authentication", async () => {
    const of = await member(newEmail());
    const token = await tokenOf(of, started);
    const forged = `${token.slice(0, -4)}${token.endsWith("AAAA") ? "BBBB" : "AAAA"}`;
    expect((await signOut(forged)).status).toBe(401);
    const application = await service.application({}, of.admin);
    expect((await signOut(token, application.credentials)).status).toBe(200);
    expect(await authorize(token)).toBeDefined();
    await signOut(token, {}, { browserIp: "198.51.100.9" });
    expect(await authorize(token)).toBeUndefined();
  });

  it("closes the streams of the sign-in, says why, and leaves those of others", async () => {
    const of = await member(newEmail());
    const [token, other] = [await tokenOf(of, started), await tokenOf(of, started + 1)];
    const [own, kept] = await Promise.all(
      [token, other].map((each) => gateway.open({ authorization: [`Bearer ${each}`] })),
    );
    expect([own?.status, kept?.status]).toEqual([200, 200]);
    await signOut(token);
    await settleOperator(of.key, endStreams);
    const calls = gateway.connections.takeCalls();
    const closed = calls.filter(({ method }) => method === "DELETE").map(({ connection_id }) => connection_id);
    expect(closed).toEqual([own?.connection.id]);
    expect(JSON.stringify(calls)).toContain("access_ended");
    expect((await gateway.open({ authorization: [`Bearer ${token}`] })).status).toBe(401);
  });

  it("lets no ticket of the sign-in open a stream", async () => {
    const of = await member(newEmail());
    const token = await tokenOf(of, started);
    const { session = "" } = (await authorize(token)) ?? {};
    const caller = { ...of.admin, operator: { id: of.id, name: "Ana", role: "owner", session } as const };
    const ticketOf = async () => (await api.call(caller, "POST", "/stream_tickets", { atMs: Date.now() })).body.ticket;
    const [first, second] = [await ticketOf(), await ticketOf()];
    expect((await gateway.open({ query: { ticket: [first] } })).status).toBe(200);
    await signOut(token);
    expect((await gateway.open({ query: { ticket: [second] } })).status).toBe(401);
  });
});

describe("streams", () => {
  it.each(["suspended", "removed"] as const)("of one who is %s are closed by provisioning", async (status) => {
    const of = await member(newEmail());
    const opened = await gateway.open({ authorization: [`Bearer ${await tokenOf(of, started)}`] });
    gateway.connections.takeCalls();
    await changeItem(of.key, { set: { status, wake_at: new Date().toISOString() }, add: { version: 1 } });
    await settleOperator(of.key, endStreams);
    const closed = gateway.connections.takeCalls().filter(({ method }) => method === "DELETE");
    expect(closed.map(({ connection_id }) => connection_id)).toEqual([opened.connection.id]);
  });
});
