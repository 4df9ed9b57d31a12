import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { atOnce } from "../../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { closedDoor } from "../../support/emulator/watched-endpoint.ts";
import { someAttempt, startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi("watched");
const service = await startTokenService(api);
afterAll(async () => api.stop());

// Every test has days of its own, so that no counter and no cache of another one is met.
let day = 0;
beforeEach(() => {
  day += 2;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + day * 86_400_000 });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

const days = 86_400;
const own = await service.application();
const told = ({ status, body }: TestAnswer) => [status, body.error];
const refused = [400, "invalid_grant"];

async function familyItem(token: string) {
  const { fam } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { fam: string };
  return (await scanTable(api.emulator)).find((item) => item["et"] === "FAMILY" && item["id"] === fam);
}

describe("a refresh that the rate limit refuses when the family is already read", () => {
  const exhausted = {
    status: 400,
    body: {
      __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
      message: "The conditional request failed",
      Item: { n: { N: "1000" } },
    },
  };

  /**
   * The counter refuses once the third read, that of the family, is on its way; the writes that came nevertheless, and
   * the warnings.
   */
  async function refusedLate(send: () => Promise<TestAnswer>) {
    const read = closedDoor();
    const writes: string[] = [];
    let reads = 0;
    api.watched.interfere = async ({ operation, input }) => {
      if (operation === "BatchGetItem") {
        reads += 1;
        if (reads === 3) read.open();
      } else if (JSON.stringify(input).includes("|TOKEN|")) {
        await read.opened;
        return exhausted;
      } else writes.push(operation);
      return undefined;
    };
    const warned: string[] = [];
    vi.stubEnv("POWERTOOLS_LOG_LEVEL", "WARN");
    const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      if (/"level":"(?:WARN|ERROR)"/.test(String(text))) warned.push(String(text));
      return true;
    });
    const answer = await send();
    output.mockRestore();
    vi.unstubAllEnvs();
    api.watched.interfere = () => undefined;
    return [...told(answer), writes, warned];
  }

  it("does not use the token up, end the family of an old one, revoke anything or warn of it", async () => {
    const application = await service.application();
    const old = (await service.grant(application)).body;
    const { refresh_token: token } = (await service.refresh(application, old.refresh_token)).body;
    // Long enough for the next use to be noted.
    pass(limits.applications.last_used_seconds + 1);
    const busy = [429, "temporarily_unavailable", [], []];
    expect(await refusedLate(() => service.refresh(application, token))).toEqual(busy);
    expect(await refusedLate(() => service.refresh(application, old.refresh_token))).toEqual(busy);
    const revoke = () => service.post("/oauth/revoke", { ...application.credentials, token });
    expect(await refusedLate(revoke)).toEqual(busy);
    expect((await service.refresh(application, token)).status).toBe(200);
  });
});

describe("a refresh token that is not good", () => {
  it("is refused: of no form, cut, changed in any part, or made up", async () => {
    const { refresh_token: token } = (await service.grant(own)).body;
    const bytes = Buffer.from(token.slice(3), "base64url");
    const flipped = [0, 30, 55, 60, 87].map((at) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return `rt_${copy.toString("base64url")}`;
    });
    const last = token.slice(-1) === "A" ? "B" : "A";
    const wrong = [
      "x",
      token.slice(3),
      token.slice(0, -1),
      `${token}A`,
      token.slice(0, -1) + last,
      token.toUpperCase(),
      `rt_${"A".repeat(118)}`,
      ...flipped,
    ];
    for (const each of wrong) expect([each, ...told(await service.refresh(own, each))]).toEqual([each, ...refused]);
    expect((await service.refresh(own, token)).status).toBe(200);
  });

  it("is refused without the client's own credentials, and a missing one is named", async () => {
    const { refresh_token: token } = (await service.grant(own)).body;
    const wrong = await service.refresh(own, token, { client_secret: "wrong" });
    expect(told(wrong)).toEqual([401, "invalid_client"]);
    expect(told(await service.refresh(own, ""))).toEqual([400, "invalid_request"]);
    expect((await service.refresh(own, token)).status).toBe(200);
  });

  it("is refused after 30 days, and a family a year after its beginning, however often refreshed", async () => {
    const first = (await service.grant(own)).body;
    expect(first.refresh_token_expires_in).toBe(30 * days);
    pass(30 * days - 1);
    const second = (await service.refresh(own, first.refresh_token)).body;
    pass(30 * days);
    expect(told(await service.refresh(own, second.refresh_token))).toEqual(refused);
    let { refresh_token: token } = (await service.grant(own)).body;
    for (let month = 0; month < 13; month += 1) {
      pass(28 * days);
      const { status, body } = await service.refresh(own, token);
      expect(status).toBe(200);
      token = body.refresh_token;
      expect(body.refresh_token_expires_in).toBe(Math.min(30, 365 - (month + 1) * 28) * days);
    }
    pass(1 * days);
    expect(told(await service.refresh(own, token))).toEqual(refused);
  });

  it("ends the family when another application presents it, of the same brokerage or another", async () => {
    const sibling = await service.application({}, own.admin);
    const stranger = await service.application({}, newCaller());
    for (const thief of [sibling, stranger]) {
      const { access_token, refresh_token } = (await service.grant(own)).body;
      expect(told(await service.refresh(thief, refresh_token))).toEqual(refused);
      expect(told(await service.refresh(own, refresh_token))).toEqual(refused);
      expect(await service.accepts(access_token)).toBe(false);
      expect(await familyItem(access_token)).toMatchObject({ revoked_for: "other_client" });
    }
  });
});

describe("a refresh token", () => {
  it("gives twenty requests at once one and the same successor", async () => {
    const { refresh_token: token, access_token } = (await service.grant(own)).body;
    const answers = await atOnce(20, () => service.refresh(own, token));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(answers[0]?.body.refresh_token).not.toBe(token);
    expect(await familyItem(access_token)).toMatchObject({ generation: { number: "2" } });
    for (const { body } of answers) expect(await service.accepts(body.access_token)).toBe(true);
  });

  it("gives the same successor for 30 seconds; a second later it ends the family with its access tokens", async () => {
    const first = (await service.grant(own)).body;
    const second = (await service.refresh(own, first.refresh_token)).body;
    pass(30);
    const again = await service.refresh(own, first.refresh_token);
    expect([again.status, again.body.refresh_token]).toEqual([200, second.refresh_token]);
    pass(1);
    expect(await service.accepts(second.access_token)).toBe(true);
    expect(told(await service.refresh(own, first.refresh_token))).toEqual(refused);
    expect(told(await service.refresh(own, second.refresh_token))).toEqual(refused);
    for (const { access_token } of [first, second, again.body]) expect(await service.accepts(access_token)).toBe(false);
    expect(await familyItem(first.access_token)).toMatchObject({ revoked_for: "reuse" });
  });

  it("has no grace once its successor was used: only the immediate predecessor has", async () => {
    const first = (await service.grant(own)).body;
    const second = (await service.refresh(own, first.refresh_token)).body;
    const third = (await service.refresh(own, second.refresh_token)).body;
    expect(told(await service.refresh(own, first.refresh_token))).toEqual(refused);
    expect(told(await service.refresh(own, third.refresh_token))).toEqual(refused);
  });

  it("narrows the scope of an access token and never widens it; a refused scope does not use it up", async () => {
    const wide = (await service.grant(own)).body;
    const narrow = (await service.refresh(own, wide.refresh_token, { scope: "clients:read" })).body;
    expect(narrow.scope).toBe("clients:read");
    const again = (await service.refresh(own, narrow.refresh_token)).body;
    expect(again.scope).toBe("clients:read events:read");
    const started = (await service.grant(own, { scope: "clients:read" })).body;
    for (const scope of ["events:read", "clients:read events:read", "settings:write", "nonsense", " "]) {
      const answer = await service.refresh(own, started.refresh_token, { scope });
      expect([scope, ...told(answer)]).toEqual([scope, 400, "invalid_scope"]);
    }
    expect((await service.refresh(own, started.refresh_token)).body.scope).toBe("clients:read");
  });

  it("gives no scope any more that was taken from its application", async () => {
    const application = await service.application();
    const { refresh_token: token, access_token } = (await service.grant(application)).body;
    const path = `/applications/${application.id}`;
    const patched = await api.call(application.admin, "PATCH", path, { body: { scopes: ["events:read"] } });
    expect(patched.status).toBe(200);
    expect((await service.refresh(application, token)).body.scope).toBe("events:read");
    const { authorizeBearer } = await import("../../../shared/oauth/authorize.ts");
    const authorized = await authorizeBearer([`Bearer ${access_token}`], someAttempt);
    expect(authorized?.scopes).toEqual(["events:read"]);
  });

  it("is in no item of the table, nor is an access token", async () => {
    const first = (await service.grant(own)).body;
    const second = (await service.refresh(own, first.refresh_token)).body;
    const text = JSON.stringify(await scanTable(api.emulator));
    for (const { access_token, refresh_token } of [first, second]) {
      expect(text).not.toContain(refresh_token);
      expect(text).not.toContain(refresh_token.slice(-40));
      expect(text).not.toContain(access_token);
    }
  });
});

describe("revoking", () => {
  it("answers 200 without a body to everything from a client that is who it says it is", async () => {
    const stranger = await service.application();
    const { access_token, refresh_token } = (await service.grant(own)).body;
    for (const token of ["x", refresh_token.slice(0, -2), refresh_token, access_token]) {
      const { status, text, headers } = await service.post("/oauth/revoke", { token, ...stranger.credentials });
      expect([status, text, headers["Content-Type"], headers["Cache-Control"]]).toEqual([
        200,
        "",
        undefined,
        "no-store",
      ]);
    }
    expect(await service.accepts(access_token)).toBe(true);
    expect((await service.refresh(own, refresh_token)).status).toBe(200);
    expect(told(await service.post("/oauth/revoke", { ...own.credentials }))).toEqual([400, "invalid_request"]);
    const wrong = { token: refresh_token, ...own.credentials, client_secret: "wrong" };
    expect(told(await service.post("/oauth/revoke", wrong))).toEqual([401, "invalid_client"]);
  });

  it.each(["refresh_token", "access_token"])(
    "one %s ends the family, and does so twice without a fault",
    async (kind) => {
      const first = (await service.grant(own)).body;
      const second = (await service.refresh(own, first.refresh_token)).body;
      const other = (await service.grant(own)).body;
      for (const hint of [kind, "nonsense"]) {
        const fields = { token: first[kind], token_type_hint: hint, ...own.credentials };
        expect((await service.post("/oauth/revoke", fields)).status).toBe(200);
      }
      expect(told(await service.refresh(own, second.refresh_token))).toEqual(refused);
      expect(await service.accepts(second.access_token)).toBe(false);
      expect(await service.accepts(other.access_token)).toBe(true);
      expect(await familyItem(first.access_token)).toMatchObject({ revoked_for: "request" });
    },
  );
});
