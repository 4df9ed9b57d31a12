import { afterAll, describe, expect, it } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { atOnce, statusCounts } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";

const api = await startApi();
afterAll(async () => api.stop());

const admin = newCaller();
const create = (more: object = {}, as: TestCaller = admin, headers: Record<string, string> = {}) =>
  api.call(as, "POST", "/applications", { body: { name: "CRM", scopes: ["clients:read"], ...more }, headers });
const rotate = (id: string, body: object = {}, as: TestCaller = admin, headers: Record<string, string> = {}) =>
  api.call(as, "POST", `/applications/${id}/rotate_secret`, { body, headers });
const itemOf = async (id: string) => (await scanTable(api.emulator)).find((each) => each["id"] === id);

describe("an application cannot be given", () => {
  it.each([
    ["no name", { name: undefined }, "#/name", "required"],
    ["a blank name", { name: "  " }, "#/name", "too_small"],
    ["no scopes", { scopes: undefined }, "#/scopes", "required"],
    ["an empty list of scopes", { scopes: [] }, "#/scopes", "too_small"],
    ["an unknown scope", { scopes: ["root"] }, "#/scopes/0", "invalid_value"],
    ["a secret of the caller's choice", { client_secret: "mine" }, "#/client_secret", "unknown_field"],
    ["another tenant", { tenant_id: "brk_1" }, "#/tenant_id", "unknown_field"],
    ...[
      "10.0.0.0/33",
      "10.0.0/8",
      "::1/129",
      "10.0.0.1/",
      "10.0.0.1/8/8",
      "example.com",
      "",
      "fe80::1%eth0",
      "1.2.3.4/08",
    ].map((range) => [`the range "${range}"`, { allowed_ips: [range] }, "#/allowed_ips/0", "invalid_format"] as const),
    ["more ranges than may be", { allowed_ips: Array(51).fill("10.0.0.1") }, "#/allowed_ips", "too_big"],
  ] as const)("%s", async (_, body, pointer, code) => {
    const answer = await create(body);
    expect([answer.status, answer.body.errors]).toEqual([422, [expect.objectContaining({ pointer, code })]]);
  });

  it("a scope that the token of its maker lacks, at its making or later", async () => {
    const less = withScopes(admin, "applications:write", "clients:read");
    const refused = await create({ scopes: ["clients:read", "transactions:approve"] }, less);
    expect([refused.status, refused.body.code, refused.body.scope]).toEqual([
      403,
      "insufficient_scope",
      "transactions:approve",
    ]);
    const { id } = (await create({}, less)).body;
    const patch = (scopes: string[]) => api.call(less, "PATCH", `/applications/${id}`, { body: { scopes } });
    expect((await patch(["clients:read", "events:read"])).status).toBe(403);
    expect((await patch(["clients:read", "applications:write"])).status).toBe(200);
  });

  it("a new secret, other addresses, another name or its end by a token that lacks one of its scopes", async () => {
    const { id } = (await create({ scopes: ["transactions:approve", "clients:read"] })).body;
    const less = withScopes(admin, "applications:write", "clients:read");
    expect((await rotate(id, {}, less)).body.code).toBe("insufficient_scope");
    const path = `/applications/${id}`;
    for (const body of [{ allowed_ips: ["10.0.0.0/8"] }, { allowed_ips: null, name: "CRM 2" }, { name: "Renamed" }]) {
      const { status, body: problem } = await api.call(less, "PATCH", path, { body });
      expect([status, problem.code, problem.scope]).toEqual([403, "insufficient_scope", "transactions:approve"]);
    }
    const kept = await api.call(less, "DELETE", path);
    expect([kept.status, kept.body.code]).toEqual([403, "insufficient_scope"]);
    expect((await api.call(less, "GET", path)).body).toMatchObject({ status: "active", version: 1, name: "CRM" });
    expect((await rotate(id)).status).toBe(200);
  });
});

describe("an application", () => {
  it("shows its secret once, and is stored with its hash alone", async () => {
    const made = await create({ scopes: ["events:read", "clients:read", "events:read"], allowed_ips: ["10.0.0.0/8"] });
    const { client_secret, ...rest } = made.body;
    expect(made.status).toBe(201);
    expect(client_secret).toMatch(/^sec_sandbox_[A-Za-z0-9]{43}$/);
    expect(made.headers["Location"]).toBe(`https://api.test.example/v2/applications/${rest.id}`);
    expect(rest).toMatchObject({
      client_id: expect.stringMatching(/^app_[A-Za-z0-9]{24}$/),
      scopes: ["clients:read", "events:read"],
      allowed_ips: ["10.0.0.0/8"],
      status: "active",
      access_token_ttl: 3600,
      refresh_token_ttl: 2_592_000,
      last_used_at: null,
      rate: { per_minute: 1000, burst: 50, quotes_per_second: 100 },
      version: 1,
    });
    const shown = await api.call(admin, "GET", `/applications/${rest.id}`);
    expect(shown.body).toEqual(rest);
    const listed = await api.call(admin, "GET", "/applications?limit=1");
    expect(listed.body.data).toEqual([rest]);
    expect(JSON.stringify(await scanTable(api.emulator))).not.toContain(client_secret.slice(12));
    expect(await itemOf(rest.id)).toMatchObject({ api_key_id: null, wake_at: rest.created_at });
  });

  it("is made once under one key, with its secret in every answer and in no record", async () => {
    const answers = await atOnce(8, () => create({ name: "Once" }, admin, { "Idempotency-Key": "make-one" }));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(statusCounts(answers)).toEqual({ 201: 8 });
    expect(answers.filter(({ headers }) => headers["Idempotent-Replayed"] === undefined)).toHaveLength(1);
    const items = await scanTable(api.emulator);
    expect(items.filter((item) => item["name"] === "Once")).toHaveLength(1);
    expect(JSON.stringify(items)).not.toContain(answers[0]?.body.client_secret);
    const other = await create({ name: "Twice" }, admin, { "Idempotency-Key": "make-one" });
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
  });

  it("is listed newest first by status, to its own brokerage alone", async () => {
    const own = newCaller();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.unshift((await create({}, own)).body.id);
    await api.call(own, "DELETE", `/applications/${ids[1]}`);
    const walk = async (query: string) => {
      const found: string[] = [];
      let address: string | undefined = `/applications?limit=2${query}`;
      while (address !== undefined) {
        const { body } = await api.call(own, "GET", address);
        found.push(...body.data.map(({ id }: { id: string }) => id));
        address = body._links.next?.href.replace("https://api.test.example/v2", "");
      }
      return found;
    };
    expect(await walk("")).toEqual(ids);
    expect(await walk("&status=revoked")).toEqual([ids[1]]);
    expect(await walk("&status=active")).toEqual(ids.filter((id) => id !== ids[1]));
    expect((await api.call(admin, "GET", `/applications/${ids[0]}`)).status).toBe(404);
    expect((await rotate(ids[0] ?? "")).status).toBe(404);
  });

  it("is changed under its version, and by an empty patch not at all", async () => {
    const { id } = (await create()).body;
    const address = `/applications/${id}`;
    const tag = (await api.call(admin, "GET", address)).headers["ETag"] ?? "";
    const patch = (body: object, headers: Record<string, string> = {}) =>
      api.call(admin, "PATCH", address, { body, headers });
    expect((await patch({}, { "If-Match": tag })).headers["ETag"]).toBe(tag);
    expect((await patch({ scopes: ["clients:read"], allowed_ips: null })).body.version).toBe(1);
    const changed = await patch({ name: "New", allowed_ips: ["::/0", "::/0"] }, { "If-Match": tag });
    expect(changed.body).toMatchObject({ name: "New", allowed_ips: ["::/0"], version: 2 });
    expect((await patch({ name: "Late" }, { "If-Match": tag })).status).toBe(412);
    expect((await api.call(admin, "DELETE", address, { headers: { "If-Match": tag } })).status).toBe(412);
    expect((await patch({ allowed_ips: null })).body).toMatchObject({ allowed_ips: [], version: 3 });
    expect((await patch({ client_id: "app_x" })).body.code).toBe("immutable_field");
  });

  it("is revoked for good: it shows so, keeps its name, and gets no new secret", async () => {
    const { id } = (await create()).body;
    await rotate(id);
    const address = `/applications/${id}`;
    const first = await api.call(admin, "DELETE", address);
    const again = await api.call(admin, "DELETE", address);
    expect(first.body).toMatchObject({ status: "revoked", version: 3, previous_secret_expires_at: null });
    expect(first.body.revoked_at).toBe(first.body.updated_at);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const renamed = await api.call(admin, "PATCH", address, { body: { name: "Back" } });
    expect([renamed.status, renamed.body.code]).toEqual([409, "application_revoked"]);
    expect((await rotate(id)).body.code).toBe("application_revoked");
    expect(await itemOf(id)).toMatchObject({ wake_at: expect.any(String), previous_secret_sha256: null });
  });

  it("gets a second new secret only when the one before is over", async () => {
    const { id, client_secret } = (await create()).body;
    const key = { "Idempotency-Key": "rotate-once" };
    const first = await rotate(id, { grace_seconds: 60 }, admin, key);
    const replayed = await rotate(id, { grace_seconds: 60 }, admin, key);
    expect(first.body).toMatchObject({ version: 2, secret_rotated_at: first.body.updated_at });
    expect(first.body.client_secret).not.toBe(client_secret);
    expect([replayed.text, replayed.headers["Idempotent-Replayed"]]).toEqual([first.text, "true"]);
    const { previous_secret_expires_at: until } = first.body;
    expect(Date.parse(until)).toBe(Date.parse(first.body.secret_rotated_at) + 60_000);
    const second = await rotate(id);
    expect([second.status, second.body.code, second.body.previous_secret_expires_at]).toEqual([
      409,
      "secret_rotation_in_progress",
      until,
    ]);
    for (const grace_seconds of [-1, 1.5, 604_801, "60", null])
      expect((await rotate(id, { grace_seconds })).status).toBe(422);
    const other = (await create()).body.id;
    expect((await rotate(other, { grace_seconds: 0 })).body.previous_secret_expires_at).toBeNull();
    expect((await rotate(other, { grace_seconds: 0 })).status).toBe(200);
    const answers = await atOnce(6, () => rotate(other));
    expect(statusCounts(answers)).toEqual({ 200: 1, 409: 5 });
  });

  it("is one of a hundred at most, also when they are made at once, and a revoked one makes room", async () => {
    const crowded = newCaller();
    const most = limits.applications.max_active;
    const made: string[] = [];
    while (made.length < most - 3) {
      const answers = await atOnce(Math.min(10, most - 3 - made.length), () => create({}, crowded));
      made.push(...answers.flatMap(({ status, body }) => (status === 201 ? [body.id] : [])));
    }
    const rest = await atOnce(6, () => create({}, crowded));
    expect(statusCounts(rest)).toEqual({ 201: 3, 409: 3 });
    expect(rest.find(({ status }) => status === 409)?.body.code).toBe("too_many_applications");
    for (let turn = 0; turn < 2; turn += 1) await api.call(crowded, "DELETE", `/applications/${made[0]}`);
    expect(statusCounts(await atOnce(2, () => create({}, crowded)))).toEqual({ 201: 1, 409: 1 });
  }, 60_000);
});
