import { afterAll, describe, expect, it } from "vitest";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import { atOnce, statusCounts } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startUserPool as startPoolUsers } from "../../support/emulator/user-pool.ts";
import { someAttempt, startTokenService } from "../../support/stack/token-service.ts";
import { signedToken, startUserPool } from "../../support/stack/user-pool.ts";

const [api, pool, users] = [await startApi(), await startUserPool(), await startPoolUsers()];
const service = await startTokenService(api);
Object.assign(process.env, users.environment);
process.env["POOL_ISSUER"] = pool.issuer;
process.env["POOL_CLIENT_ID"] = pool.client_id;
process.env["POOL_KEYS_URL"] = pool.keys_url;
afterAll(async () => {
  await Promise.all([api.stop(), pool.stop(), users.stop()]);
});

const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { authorizeBearer } = await import("../../../shared/oauth/authorize.ts");
const { changeItem } = await import("../../../shared/table/items.ts");
const { operatorKeys, operators, tenants } = await import("../../../shared/table/entities.ts");
const { readKeys } = await import("../../../shared/table/store.ts");

let people = 0;
const newEmail = () => {
  people += 1;
  return `reset-${people}@example.com`;
};

/** An operator of a brokerage of their own who has signed in as the user with this email. */
async function member(email: string, role = "finance", admin: TestCaller = newCaller()) {
  const { id } = (await api.call(admin, "POST", "/operators", { body: { email, name: "Ana", role } })).body;
  const key = operators.key(admin.tenant_id, id);
  await settleOperator(key);
  await changeItem(operatorKeys.key(admin.tenant_id), { set: { api_key_id: "key" } });
  const { text, status, body } = await signIn(email, admin);
  expect([status, text]).toEqual([200, text]);
  return { id, admin, key, token: String(body.access_token) };
}

const subjectOf = (email: string) => String(users.users.find(email)?.sub);
const tokenOf = (subject: string) => signedToken(pool.claims(subject), pool.key);

let addresses = 0;
/** An exchange of a fresh id token of the user with this email, or of this subject. */
function signIn(email: string, { tenant_id }: TestCaller, subject = subjectOf(email)) {
  addresses += 1;
  const types = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
  };
  const sourceIp = `198.51.100.${addresses % 250}`;
  return service.post(
    "/oauth/token",
    { ...types, subject_token: tokenOf(subject), brokerage_id: tenant_id },
    { sourceIp },
  );
}

const reset = ({ admin, id }: { admin: TestCaller; id: string }) =>
  api.call(admin, "POST", `/operators/${id}/reset_credentials`);
const stored = async (key: ReturnType<typeof operators.key>) => (await readKeys([key]))[0] as Operator;
const mailsTo = (email: string) => users.mailed.filter((one) => one === email).length;

describe("credentials that are reset", () => {
  it("end with the commit: tokens, and sign-ins with the user of before", async () => {
    const email = newEmail();
    const ana = await member(email);
    const before = subjectOf(email);
    expect(await authorizeBearer([`Bearer ${ana.token}`], someAttempt)).toMatchObject({ actor: { id: ana.id } });
    expect((await reset(ana)).status).toBe(200);
    expect((await signIn(email, ana.admin)).status).toBe(400);
    await settleOperator(ana.key);
    expect(users.users.find(email)).toMatchObject({ status: "FORCE_CHANGE_PASSWORD", totp_secret: null });
    expect(subjectOf(email)).not.toBe(before);
    expect(mailsTo(email)).toBe(2);
    expect((await signIn(email, ana.admin, before)).status).toBe(400);
    expect((await signIn(email, ana.admin)).status).toBe(200);
    expect(await stored(ana.key)).toMatchObject({ status: "active", pool_state: "ready", wake_at: null });
  });

  it("leave an entry of the audit with who asked, and none of an identity", async () => {
    const ana = await member(newEmail());
    await reset(ana);
    const audit = (await scanTable(api.emulator)).map((item) => JSON.stringify(item));
    const [entry, ...more] = audit.filter((one) => one.includes("reset_operator_credentials") && one.includes(ana.id));
    expect(more).toEqual([]);
    expect(entry).not.toContain((await stored(ana.key)).pool_subject);
  });

  it("are reset once and mailed once, also where the function ends after any step", async () => {
    const email = newEmail();
    const ana = await member(email);
    for (const [failing, done] of [
      ["AdminCreateUser", "AdminDeleteUser"],
      ["AdminGetUser", "AdminCreateUser"],
    ] as const) {
      const mails = mailsTo(email);
      const before = subjectOf(email);
      await reset(ana);
      users.asked.length = 0;
      users.meanwhile = async (at, name) => {
        users.failing ||= at === "before" && name === failing && users.asked.includes(done);
      };
      await expect(settleOperator(ana.key)).rejects.toThrow();
      Object.assign(users, { meanwhile: undefined, failing: false });
      await settleOperator(ana.key);
      expect([subjectOf(email) === before, mailsTo(email)]).toEqual([false, mails + 1]);
      expect(await stored(ana.key)).toMatchObject({ pool_state: "ready", pool_subject: subjectOf(email) });
      await changeItem(ana.key, { remove: ["mails"] });
    }
  });

  it("of a person of two brokerages let them in where they were reset, and elsewhere once they are there", async () => {
    const email = newEmail();
    const ofA = await member(email);
    const ofB = await member(email, "owner");
    const ofC = await member(email, "viewer");
    await reset(ofA);
    await settleOperator(ofA.key);
    const fresh = subjectOf(email);
    expect((await signIn(email, ofA.admin)).status).toBe(200);
    for (const other of [ofB, ofC]) expect((await signIn(email, other.admin)).status).toBe(400);
    // Whatever B and its provisioning do about their operator, C's operator keeps out who has the new credentials.
    for (const status of ["suspended", "active"] as const) {
      await changeItem(ofB.key, { set: { status, wake_at: new Date().toISOString() }, add: { version: 1 } });
      await settleOperator(ofB.key);
      await settleOperator(ofC.key);
    }
    for (const other of [ofB, ofC]) expect((await signIn(email, other.admin)).status).toBe(400);
    // B's own reset takes the person as they are: A's credentials stay, and there is no further email.
    const mails = mailsTo(email);
    await reset(ofB);
    await settleOperator(ofB.key);
    expect([subjectOf(email), mailsTo(email)]).toEqual([fresh, mails]);
    for (const each of [ofA, ofB]) expect((await signIn(email, each.admin)).status).toBe(200);
    expect((await signIn(email, ofC.admin)).status).toBe(400);
    await changeItem(ofC.key, { set: { status: "removed", wake_at: new Date().toISOString() }, add: { version: 1 } });
    await settleOperator(ofC.key);
    expect((await signIn(email, ofB.admin)).status).toBe(200);
  });

  it("of a person of two brokerages that reset at the same time are replaced once", async () => {
    const email = newEmail();
    const [one, other] = [await member(email), await member(email)];
    await Promise.all([reset(one), reset(other)]);
    users.meanwhile = async (at, name) => {
      if (at !== "after" || name !== "AdminGetUser") return;
      users.meanwhile = undefined;
      await settleOperator(other.key);
    };
    await settleOperator(one.key);
    await settleOperator(other.key);
    for (const each of [one, other]) expect((await signIn(email, each.admin)).status).toBe(200);
    expect(mailsTo(email)).toBe(2);
  });
});

describe("emails of a day", () => {
  it("are three to an operator: an invitation and two more, however many ask at the same time", async () => {
    const email = newEmail();
    const admin = newCaller();
    const { id } = (await api.call(admin, "POST", "/operators", { body: { email, name: "Ana", role: "viewer" } })).body;
    const key = operators.key(admin.tenant_id, id);
    await settleOperator(key);
    const again = () => api.call(admin, "POST", `/operators/${id}/invite`);
    await Promise.all([again(), again(), again()]);
    await settleOperator(key);
    await again();
    await settleOperator(key);
    const refused = await again();
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused.body.detail).toContain("At most 3 emails a day");
    expect(Number(refused.headers["Retry-After"])).toBeGreaterThan(0);
    expect(mailsTo(email)).toBe(3);
    await api.call(admin, "DELETE", `/operators/${id}`);
    await settleOperator(key);
    const invited = await api.call(admin, "POST", "/operators", { body: { email, name: "Ana", role: "viewer" } });
    expect([invited.status, invited.body.code]).toEqual([429, "rate_limit_exceeded"]);
  });

  it("are a hundred to a brokerage, of which one is left for five who ask at the same time", async () => {
    const admin = newCaller();
    await api.call(admin, "GET", "/operators");
    const today = { operator_mail_day: new Date().toISOString().slice(0, 10), operator_mails: 99 };
    await changeItem(tenants.key(admin.tenant_id), { set: today });
    const invite = () =>
      api.call(admin, "POST", "/operators", { body: { email: newEmail(), name: "Ana", role: "viewer" } });
    expect(statusCounts(await atOnce(5, invite))).toEqual({ 201: 1, 429: 4 });
    const settings = (await api.call(admin, "GET", "/settings")).body;
    expect(Object.keys(settings).filter((name) => name.includes("mail"))).toEqual([]);
  });
});
