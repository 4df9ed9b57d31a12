import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { atOnce, statusCounts } from "../../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi("watched");
const service = await startTokenService(api);
afterAll(async () => api.stop());

// Every test begins at the first second of a minute of its own.
let hour = 0;
beforeEach(() => {
  hour += 1;
  const start = Math.ceil(Date.now() / 3_600_000) + hour;
  vi.useFakeTimers({ toFake: ["Date"], now: start * 3_600_000 });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const own = await service.application();
const grant = { grant_type: "client_credentials" };
const stranger = "app_AAAAAAAAAAAAAAAAAAAAAAAA";
const attempt = (client_id: string, sourceIp: string) =>
  service.post("/oauth/token", { ...grant, client_id, client_secret: "wrong" }, { sourceIp });
const rightOne = (sourceIp: string) => service.post("/oauth/token", { ...grant, ...own.credentials }, { sourceIp });
const told = ({ status, body }: TestAnswer) => [status, body.error];

describe("failed authentications", () => {
  it("are answered 401 ten times a minute and 429 after that, and a right secret passes all the while", async () => {
    const from = "198.51.100.20";
    for (let count = 0; count < 10; count += 1) {
      expect(told(await attempt(own.credentials.client_id, from))).toEqual([401, "invalid_client"]);
    }
    pass(20);
    const refused = await attempt(own.credentials.client_id, from);
    expect([...told(refused), refused.headers["Retry-After"]]).toEqual([429, "temporarily_unavailable", "40"]);
    expect((await rightOne(from)).status).toBe(200);
    pass(40);
    expect(told(await attempt(own.credentials.client_id, from))).toEqual([401, "invalid_client"]);
  });

  it("are counted per address over all client ids, known or not, and by revoking as well", async () => {
    const from = "198.51.100.21";
    for (let count = 0; count < 5; count += 1) {
      await attempt(`app_${String(count).repeat(24)}`, from);
      await service.post("/oauth/revoke", { token: "x", client_id: stranger, client_secret: "x" }, { sourceIp: from });
    }
    expect((await attempt(own.credentials.client_id, from)).status).toBe(429);
    expect((await attempt(own.credentials.client_id, "198.51.100.22")).status).toBe(401);
  });

  it("from one IPv6 network are one address's, since its owner has them all", async () => {
    for (let count = 0; count < 10; count += 1) await attempt(stranger, `2001:db8:1:2::${count + 1}`);
    expect((await attempt(stranger, "2001:db8:1:2:ffff::1")).status).toBe(429);
    expect((await attempt(stranger, "2001:db8:1:3::1")).status).toBe(401);
  });

  it("at once are counted exactly: of sixteen, ten are answered 401", async () => {
    const guess = () => attempt(stranger, "198.51.100.23");
    const answers = [...(await atOnce(8, guess)), ...(await atOnce(8, guess))];
    expect(statusCounts(answers)).toEqual({ 401: 10, 429: 6 });
  });

  it("cost the same reads whether the client is known or not", async () => {
    const operations = async (client_id: string) => {
      api.watched.takeCalls();
      await attempt(client_id, "198.51.100.24");
      return api.watched.takeCalls().map(({ operation }) => operation);
    };
    const known = await operations(own.credentials.client_id);
    expect(known.filter((name) => name === "BatchGetItem")).toHaveLength(2);
    expect(await operations(stranger)).toEqual(known);
  });
});

describe("a body above the bound", () => {
  it.each(["/oauth/token", "/oauth/revoke"] as const)(
    "of %s is refused in the form of RFC 6749, without a call of the table",
    async (path) => {
      api.watched.takeCalls();
      const answer = await service.post(path, { ...grant, ...own.credentials, token: "x".repeat(64 * 1024) });
      expect([answer.status, answer.body]).toEqual([
        413,
        { error: "invalid_request", error_description: "The body must not exceed 65536 bytes." },
      ]);
      expect(answer.headers).toMatchObject({ "Content-Type": "application/json", "Cache-Control": "no-store" });
      expect(api.watched.takeCalls()).toEqual([]);
    },
  );
});

describe("a repeated parameter", () => {
  it.each([
    ["in a form", "application/x-www-form-urlencoded", "token=a&grant_type=&grant_type=client_credentials"],
    ["in JSON", "application/json", '{"token":"a","grant_type":"x","grant_type":"client_credentials"}'],
    ["of any name", "application/x-www-form-urlencoded", "%22%5C%C3%A9%0A=a&%22%5C%C3%A9%0A=b"],
  ])("%s is refused by both endpoints, in the characters of RFC 6749", async (_, type, body) => {
    for (const path of ["/oauth/token", "/oauth/revoke"]) {
      const answer = await api.call(undefined, "POST", path, { body, headers: { "Content-Type": type } });
      expect(told(answer)).toEqual([400, "invalid_request"]);
      expect(answer.body.error_description).toMatch(/^[ !#-[\]-~]+$/);
    }
  });
});

describe("an application that may call from some addresses only", () => {
  it("gets, refreshes and revokes tokens from there and is unknown elsewhere", async () => {
    const application = await service.application({ allowed_ips: ["203.0.113.0/24", "2001:db8:7::/48"] });
    const fields = { ...grant, ...application.credentials };
    for (const sourceIp of ["203.0.113.9", "2001:db8:7:1::1"]) {
      expect((await service.post("/oauth/token", fields, { sourceIp })).status).toBe(200);
    }
    const { refresh_token } = (await service.post("/oauth/token", fields, { sourceIp: "203.0.113.9" })).body;
    const refresh = { ...application.credentials, grant_type: "refresh_token", refresh_token };
    const revoke = { ...application.credentials, token: refresh_token };
    for (const sourceIp of ["203.0.114.1", "2001:db8:8::1", "198.51.100.7"]) {
      expect(told(await service.post("/oauth/token", fields, { sourceIp }))).toEqual([401, "invalid_client"]);
      expect(told(await service.post("/oauth/token", refresh, { sourceIp }))).toEqual([401, "invalid_client"]);
      expect(told(await service.post("/oauth/revoke", revoke, { sourceIp }))).toEqual([401, "invalid_client"]);
    }
    expect((await service.post("/oauth/token", refresh, { sourceIp: "203.0.113.9" })).status).toBe(200);
  });

  it("gets tokens at the dashboard's address from a browser that may call, whatever it claims to forward", async () => {
    const application = await service.application({ allowed_ips: ["203.0.113.0/24"] });
    const fields = { ...grant, ...application.credentials };
    const from = async (browserIp: string, claimed: string) => {
      const headers = { "X-Forwarded-For": claimed };
      return (await service.post("/oauth/token", fields, { browserIp, sourceIp: "198.51.100.7", headers })).status;
    };
    expect(await from("203.0.113.9", "198.51.100.1")).toBe(200);
    expect(await from("198.51.100.1", "203.0.113.9")).toBe(401);
    const headers = { "X-Forwarded-For": "203.0.113.9", "X-Origin-Verify": "guessed" };
    expect((await service.post("/oauth/token", fields, { sourceIp: "198.51.100.7", headers })).status).toBe(401);
  });
});

describe("requests of an application that is who it says it is", () => {
  it("count per address, apart from its other requests, and every answer tells what is left", async () => {
    const application = await service.application();
    const first = await service.grant(application);
    expect(first.headers).toMatchObject({
      "X-RateLimit-Limit": "1000",
      "X-RateLimit-Remaining": "999",
      "X-RateLimit-Reset": String(Date.now() / 1000 + 60),
    });
    const refused = await service.grant(application, { scope: "nonsense" });
    expect([refused.status, refused.headers["X-RateLimit-Remaining"]]).toEqual([400, "998"]);
    const elsewhere = await service.post(
      "/oauth/token",
      { ...grant, ...application.credentials },
      { sourceIp: "203.0.113.77" },
    );
    expect(elsewhere.headers["X-RateLimit-Remaining"]).toBe("999");
    const answers: TestAnswer[] = [];
    while (answers.length < 60) {
      answers.push(...(await atOnce(5, () => service.grant(application, { scope: "nonsense" }))));
    }
    expect(statusCounts(answers)).toEqual({ 400: 48, 429: 12 });
    const late = answers.find(({ status }) => status === 429);
    expect([late?.body.error, late?.headers["Retry-After"]]).toEqual(["temporarily_unavailable", "1"]);
  });

  it("are answered 503 until the API key is made", async () => {
    const { newCaller } = await import("../../support/emulator/request.ts");
    const body = { name: "New", scopes: ["clients:read"] };
    const made = (await api.call(newCaller(), "POST", "/applications", { body })).body;
    const { client_id, client_secret } = made;
    const early = await service.post("/oauth/token", { ...grant, client_id, client_secret });
    expect([...told(early), early.headers["Retry-After"]]).toEqual([503, "temporarily_unavailable", "2"]);
  });

  it("note its use at most once in five minutes", async () => {
    const application = await service.application();
    const seen = async () => {
      const shown = await api.call(application.admin, "GET", `/applications/${application.id}`);
      return [shown.body.last_used_at, shown.body.version, shown.headers["ETag"]];
    };
    const [never, , tag] = await seen();
    expect(never).toBeNull();
    const begun = new Date().toISOString();
    const writes = () =>
      api.watched.takeCalls().filter(({ input }) => JSON.stringify(input).includes("#last_used_at = :v0")).length;
    writes();
    await atOnce(5, () => service.grant(application));
    expect(writes()).toBeGreaterThan(0);
    const used = await seen();
    expect(used.slice(0, 2)).toEqual([begun, 1]);
    expect(used[2]).not.toBe(tag);
    pass(299);
    await service.grant(application);
    expect(await seen()).toEqual(used);
    expect(writes()).toBe(0);
    pass(1);
    await service.grant(application);
    expect((await seen())[0]).toBe(new Date().toISOString());
    expect(writes()).toBeGreaterThan(0);
  });
});
