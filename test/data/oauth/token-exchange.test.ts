import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startUserPool as startPoolUsers } from "../../support/emulator/user-pool.ts";
import { someAttempt, startTokenService } from "../../support/stack/token-service.ts";
import { type Claims, newPoolKey, type PoolKey, signedToken, startUserPool } from "../../support/stack/user-pool.ts";

const [api, pool, otherPool] = [await startApi("watched"), await startUserPool(), await startUserPool()];
const poolUsers = await startPoolUsers();
const service = await startTokenService(api);
Object.assign(process.env, poolUsers.environment);
process.env["POOL_ISSUER"] = pool.issuer;
process.env["POOL_CLIENT_ID"] = pool.client_id;
process.env["POOL_KEYS_URL"] = pool.keys_url;
afterAll(async () => {
  await Promise.all([api.stop(), pool.stop(), otherPool.stop(), poolUsers.stop()]);
});
afterEach(() => {
  pool.answer = undefined;
  vi.useRealTimers();
});

const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { authorizeBearer } = await import("../../../shared/oauth/authorize.ts");
const { changeItem } = await import("../../../shared/table/items.ts");
const { operatorKeys, operators } = await import("../../../shared/table/entities.ts");

const types = {
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
};

let address = 0;

/** An exchange, from an address of its own: refusals are counted by it. */
function exchange(subject_token: string, more: object = {}) {
  address += 1;
  const sourceIp = `198.51.${100 + Math.floor(address / 250)}.${address % 250}`;
  return service.post("/oauth/token", { ...types, subject_token, ...more }, { sourceIp });
}

interface Person {
  readonly id: string;
  readonly email: string;
  readonly subject: string;
  readonly admin: TestCaller;
  /** A fresh id token. */
  readonly token: (more?: Claims, key?: PoolKey, header?: Claims) => string;
}

let people = 0;

/** An operator who is invited and whose user of the pool is made. */
async function person(role: Role = "finance", admin = newCaller(), known?: string): Promise<Person> {
  people += 1;
  const email = known ?? `user-${people}@example.com`;
  const body = { email, name: "Ana", role };
  const { id } = (await api.call(admin, "POST", "/operators", { body })).body;
  await settleOperator(operators.key(admin.tenant_id, id));
  const subject = String(poolUsers.users.find(email)?.sub);
  await changeItem(operatorKeys.key(admin.tenant_id), { set: { api_key_id: "key" } });
  const token: Person["token"] = (more, key = pool.key, header) => signedToken(pool.claims(subject, more), key, header);
  return { id, email, subject, admin, token };
}

const authorize = (token: string) => authorizeBearer([`Bearer ${token}`], someAttempt);
const patch = ({ id, admin }: Person, body: object) => api.call(admin, "PATCH", `/operators/${id}`, { body });

describe("an exchange of an id token", () => {
  it("gives a token of 15 minutes with the scopes of the role, and makes the invited active", async () => {
    const owner = await person("owner");
    const { status, body, headers } = await exchange(owner.token());
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ token_type: "Bearer", expires_in: 900, scope: scopesOf("owner", "sandbox").join(" ") },
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    expect(body).not.toHaveProperty("refresh_token");
    expect([headers["Cache-Control"], headers["X-RateLimit-Limit"]]).toEqual(["no-store", "60"]);
    expect(await authorize(body.access_token)).toMatchObject({
      ...{ tenant_id: owner.admin.tenant_id, actor: { type: "operator", id: owner.id, name: "Ana" } },
      ...{ scopes: [...scopesOf("owner", "sandbox")], allowed_ips: [] },
    });
    const shown = (await api.call(owner.admin, "GET", `/operators/${owner.id}`)).body;
    expect(shown).toMatchObject({ status: "active", last_seen_at: expect.any(String), version: 2 });
    expect((await exchange(owner.token())).status).toBe(200);
    const tenant = (await scanTable(api.emulator)).find((item) => item["pk"] === owner.admin.tenant_id);
    expect(tenant).toMatchObject({ active_owners: { number: "1" }, operators: { number: "1" } });
  });

  it("narrows to the scopes that are asked for, and gives none beyond the role", async () => {
    const one = await person("support");
    expect((await exchange(one.token(), { scope: "clients:read" })).body.scope).toBe("clients:read");
    const refused = await exchange(one.token(), { scope: "clients:read transactions:approve" });
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_scope"]);
  });

  it("names the brokerage where the person is an operator of several", async () => {
    const one = await person("viewer");
    const two = await person("owner", newCaller(), one.email);
    await api.call(two.admin, "PATCH", "/settings", { body: { name: "Second Markets" } });
    const unnamed = await exchange(one.token());
    expect([unnamed.status, unnamed.body.error]).toEqual([400, "invalid_request"]);
    expect(unnamed.body.brokerage_names).toEqual({ [two.admin.tenant_id]: "Second Markets" });
    const brokerages = [one.admin.tenant_id, two.admin.tenant_id];
    expect([...unnamed.body.brokerage_ids].sort()).toEqual(brokerages.toSorted());
    for (const each of [one, two]) {
      const named = await exchange(each.token(), { brokerage_id: each.admin.tenant_id });
      expect((await authorize(named.body.access_token))?.tenant_id).toBe(each.admin.tenant_id);
    }
  });

  it("goes to the brokerage where the person is active, also while others invite them", async () => {
    const one = await person("viewer");
    await exchange(one.token());
    const two = await person("owner", newCaller(), one.email);
    const tenantOf = async (more: object = {}) =>
      (await authorize((await exchange(one.token(), more)).body.access_token))?.tenant_id;
    expect(await tenantOf()).toBe(one.admin.tenant_id);
    // The invitation is accepted by its name.
    expect(await tenantOf({ brokerage_id: two.admin.tenant_id })).toBe(two.admin.tenant_id);
    expect((await exchange(one.token())).body.brokerage_ids).toHaveLength(2);
  });

  it("waits for the API key of the operators", async () => {
    const one = await person();
    await changeItem(operatorKeys.key(one.admin.tenant_id), { set: { api_key_id: null } });
    expect((await exchange(one.token())).status).toBe(503);
  });

  it("is not known where the stack has no pool", async () => {
    const one = await person();
    Reflect.deleteProperty(process.env, "POOL_KEYS_URL");
    const { status, body } = await exchange(one.token()).finally(() => {
      process.env["POOL_KEYS_URL"] = pool.keys_url;
    });
    expect([status, body.error]).toEqual([400, "unsupported_grant_type"]);
  });
});

describe("a token of an operator", () => {
  it("loses at once what the role loses, and ends with a suspension and with a removal", async () => {
    const one = await person("support");
    const { access_token } = (await exchange(one.token())).body;
    await patch(one, { role: "viewer" });
    expect((await authorize(access_token))?.scopes).toEqual([
      ...["clients:read", "accounts:read", "transactions:read", "settings:read", "events:read"],
      ...["trading:read", "quotes:read"],
    ]);
    await patch(one, { status: "suspended" });
    expect(await authorize(access_token)).toBeUndefined();
    await patch(one, { status: "active" });
    expect(await authorize(access_token)).toBeDefined();
    await api.call(one.admin, "DELETE", `/operators/${one.id}`);
    expect(await authorize(access_token)).toBeUndefined();
  });

  it("ends after 15 minutes", async () => {
    const { access_token } = (await exchange((await person()).token())).body;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 906_000 });
    expect(await authorize(access_token)).toBeUndefined();
  });
});

const now = () => Math.floor(Date.now() / 1000);
const forged = newPoolKey(pool.key.kid);
const removed = newPoolKey();

/** Tokens that are refused, with what is wrong with each. */
const bad: Readonly<Record<string, (one: Person) => string>> = {
  "of another pool": ({ subject }) => signedToken(otherPool.claims(subject), otherPool.key),
  "of another pool, under our issuer": ({ token }) => token({}, otherPool.key),
  "with a signature of another key under our key id": ({ token }) => token({}, forged),
  "with an unknown key id": ({ token }) => token({}, removed),
  "without a key id": ({ token }) => token({}, pool.key, { kid: undefined }),
  "with changed claims": ({ token }) => {
    const [head, , signature] = token().split(".");
    const [, claims] = token({ sub: "someone-else" }).split(".");
    return [head, claims, signature].join(".");
  },
  "with a changed signature": ({ token }) => `${token().slice(0, -8)}AAAAAAAA`,
  "that is not signed": ({ token }) => token({}, pool.key, { alg: "none" }),
  "that says it is not signed, with a signature": ({ token }) =>
    token().replace(/^[^.]+/, Buffer.from('{"alg":"none"}').toString("base64url")),
  "signed with HS256 by the public key": ({ token }) => token({}, pool.key, { alg: "HS256" }),
  "signed with RS512": ({ token }) => token({}, pool.key, { alg: "RS512" }),
  "with a header that must be understood": ({ token }) => token({}, pool.key, { crit: ["b64"], b64: true }),
  "of another issuer": ({ token }) => token({ iss: "https://pool.example" }),
  "without an issuer": ({ token }) => token({ iss: undefined }),
  "for another client": ({ token }) => token({ aud: "another" }),
  "for two clients": ({ token }) => token({ aud: [pool.client_id, "another"] }),
  "without an audience": ({ token }) => token({ aud: undefined }),
  "that is an access token": ({ token }) => token({ token_use: "access" }),
  "that does not say its use": ({ token }) => token({ token_use: undefined }),
  "that has expired": ({ token }) => token({ iat: now() - 120, exp: now() - 60 }),
  "without an expiry": ({ token }) => token({ exp: undefined }),
  "that is older than five minutes": ({ token }) => token({ iat: now() - 301 }),
  "of the future": ({ token }) => token({ iat: now() + 60 }),
  "without its time": ({ token }) => token({ iat: undefined }),
  "whose time is text": ({ token }) => token({ iat: String(now()) }),
  "that is not valid yet": ({ token }) => token({ nbf: now() + 60 }),
  "without an identifier": ({ token }) => token({ jti: undefined }),
  "without a subject": ({ token }) => token({ sub: undefined }),
  "whose subject is too long": ({ token }) => token({ sub: "x".repeat(256) }),
  "of a user who is no operator": ({ token }) => token({ sub: "stranger" }),
  "that is too long": ({ token }) => token({ more: "x".repeat(9000) }),
  "that is no token": () => "rt_0000",
  "with a fourth part": ({ token }) => `${token()}.AAAA`,
};

describe("a subject token is refused in the same words", () => {
  let one: Person;
  beforeAll(async () => {
    one = await person();
    expect((await exchange(one.token())).status).toBe(200);
  });

  const refusal = { error: "invalid_grant", error_description: "The subject token is not valid." };

  it.each(Object.entries(bad))("%s", async (_, tokenOf) => {
    const { status, body } = await exchange(tokenOf(one));
    expect([status, body]).toEqual([400, refusal]);
  });

  it("that was used before, also by ten requests at the same time", async () => {
    const token = one.token();
    // Audit records of sign-ins of this person.
    const kept = async () =>
      (await scanTable(api.emulator)).filter(
        ({ et, pk, audit }) =>
          et === "OUTBOX" && String(pk).endsWith(one.id) && String(audit).includes('"create_token"'),
      ).length;
    const before = await kept();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await exchange(token)).body).toEqual(refusal);
    expect(await kept()).toBe(before + 1);
  });

  it("for a brokerage of which the person is no operator", async () => {
    const another = await person();
    for (const brokerage_id of [another.admin.tenant_id, "brk_1", "*"]) {
      expect((await exchange(one.token(), { brokerage_id })).body).toEqual(refusal);
    }
  });

  it.each(["suspended", "invited and suspended", "removed"])("of an operator who is %s", async (state) => {
    const two = await person();
    if (state === "suspended") await exchange(two.token());
    if (state === "removed") await api.call(two.admin, "DELETE", `/operators/${two.id}`);
    else await patch(two, { status: "suspended" });
    expect((await exchange(two.token())).body).toEqual(refusal);
  });

  it("of a person who is invited and has no user of the pool yet", async () => {
    const admin = newCaller();
    const body = { email: "late@example.com", name: "Eva", role: "viewer" };
    expect((await api.call(admin, "POST", "/operators", { body })).status).toBe(201);
    expect((await exchange(one.token({ sub: "late@example.com" }))).body).toEqual(refusal);
  });

  it("and more than ten in a minute from one address are too many", async () => {
    const sent = { ...types, subject_token: "bad" };
    const statuses = [];
    for (let turn = 0; turn < 11; turn += 1) {
      statuses.push((await service.post("/oauth/token", sent, { sourceIp: "192.0.2.77" })).status);
    }
    expect(statuses.slice(-2)).toEqual([400, 429]);
  });
});

describe("a person who proved who they are and is refused access leaves an entry", () => {
  const reported = () => api.queues.takeFrom("refusals").map(({ body }) => body as unknown as PolicyRefusal);
  const told = (refusals: readonly PolicyRefusal[]) =>
    refusals.map(({ tenant_id, action, code, actor }) => [tenant_id, action, code, actor.id]);
  beforeEach(reported);

  it("for a scope beyond the role, and for a token that was used before, once for each request", async () => {
    const one = await person("support");
    const wide = one.token();
    expect((await exchange(wide, { scope: "settings:write" })).body.error).toBe("invalid_scope");
    expect(told(reported())).toEqual([[one.admin.tenant_id, "create_token", "invalid_scope", one.id]]);
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange(wide)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const replays = reported();
    const replay = [one.admin.tenant_id, "create_token", "invalid_grant", one.id];
    expect(told(replays)).toEqual(Array(4).fill(replay));
    for (const text of [wide, "Ana", one.email, "198.51."]) expect(JSON.stringify(replays)).not.toContain(text);
  });

  it.each(["suspended", "removed"])("after they were %s, by an id token and by an access token", async (state) => {
    const one = await person();
    const { access_token } = (await exchange(one.token())).body;
    if (state === "removed") await api.call(one.admin, "DELETE", `/operators/${one.id}`);
    else await patch(one, { status: "suspended" });
    expect((await exchange(one.token())).status).toBe(400);
    expect(await authorize(access_token)).toBeUndefined();
    const refusals = reported();
    expect(told(refusals)).toEqual([
      [one.admin.tenant_id, "create_token", `operator_${state}`, one.id],
      [one.admin.tenant_id, "authenticate", `operator_${state}`, one.id],
    ]);
    expect(JSON.stringify(refusals)).not.toContain("Ana");
  });

  it("in the brokerages alone that they were operators of", async () => {
    const one = await person();
    const two = await person("viewer", newCaller(), one.email);
    const stranger = await person();
    await patch(one, { status: "suspended" });
    // Another brokerage lets them in: no one refuses them.
    expect((await exchange(one.token())).status).toBe(200);
    expect(reported()).toEqual([]);
    await patch(two, { status: "suspended" });
    for (const brokerage_id of [stranger.admin.tenant_id, "brk_1"]) await exchange(one.token(), { brokerage_id });
    expect(reported()).toEqual([]);
    await exchange(one.token());
    const tenants = told(reported()).map(([tenant]) => tenant);
    expect(tenants.toSorted()).toEqual([one.admin.tenant_id, two.admin.tenant_id].toSorted());
  });

  it("and none where nothing is proven", async () => {
    const one = await person();
    for (const tokenOf of Object.values(bad)) await exchange(tokenOf(one));
    expect(reported()).toEqual([]);
  });
});

describe("a request without", () => {
  it.each([
    ["a subject token", { subject_token: "" }],
    ["the type of an id token", { subject_token_type: "urn:ietf:params:oauth:token-type:access_token" }],
    ["a type of the subject token", { subject_token_type: "" }],
    ["a token type that is issued", { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }],
    ["being alone", { actor_token: "x", actor_token_type: "y" }],
    ["being public", { client_secret: "x" }],
  ])("%s is an invalid request", async (_, more) => {
    const { status, body } = await exchange("x", more);
    expect([status, body.error]).toEqual([400, "invalid_request"]);
  });
});

describe("the key set of the pool", () => {
  it("is read once a minute at most for unknown keys, and brings a new key after that", async () => {
    const one = await person();
    const rotated = newPoolKey();
    pool.published.push(rotated);
    const reads = pool.reads;
    for (let turn = 0; turn < 5; turn += 1) await exchange(one.token({}, newPoolKey()));
    expect(pool.reads).toBe(reads);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect((await exchange(one.token({}, rotated))).status).toBe(200);
    expect(pool.reads).toBe(reads + 1);
  });

  it.each([
    ["fails", { status: 500, body: "" }],
    ["redirects", { status: 302, body: "" }],
    ["is no JSON", { status: 200, body: "<html>" }],
    ["is too large", { status: 200, body: `{"keys":[],"more":"${"x".repeat(70_000)}"}` }],
  ])("that %s makes a new key wait, and none that is known", async (_, answer) => {
    const one = await person();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 122_000 });
    pool.answer = answer;
    expect((await exchange(one.token({}, newPoolKey()))).status).toBe(503);
    expect((await exchange(one.token())).status).toBe(200);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect((await exchange(one.token())).status).toBe(200);
  });

  it("serves its other keys when one entry is malformed", async () => {
    const [one, rotated] = [await person(), newPoolKey()];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 183_000 });
    const good = { ...rotated.publicKey.export({ format: "jwk" }), kid: rotated.kid, use: "sig" };
    const malformed = [null, "key", { ...good, kid: "without-modulus", n: "" }, { ...good, kid: "text", e: "*" }];
    pool.answer = { status: 200, body: JSON.stringify({ keys: [...malformed, good] }) };
    expect((await exchange(one.token({}, rotated))).status).toBe(200);
  });
});
