import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { limits } from "../../../shared/limits.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { type OwnApplication, startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi("stream", "watched");
const service = await startTokenService(api);
afterAll(api.stop);
afterEach(() => {
  vi.useRealTimers();
  api.queues.takeMessages();
  api.queues.interfere = () => undefined;
});

const { handler: authorize } = await import("../../../functions/oauth/authorize.ts");
const { publishing } = await import("../../support/emulator/publishing.ts");
const { recordAll } = await import("../../support/emulator/refusals.ts");
const work = publishing(api);

const reported = () => api.queues.takeFrom("refusals").map(({ body }) => body as unknown as PolicyRefusal);

/** The reported refusals; none of them has a secret or a token of the application. */
function reportedOf({ credentials }: OwnApplication, ...tokens: string[]): (string | null)[][] {
  const refusals = reported();
  const text = JSON.stringify(refusals);
  for (const secret of [credentials.client_secret, ...tokens]) expect(text).not.toContain(secret);
  return refusals.map(({ action, code, actor }) => [action, code, actor.id]);
}

function authorizing(token: string): Promise<unknown> {
  const event = {
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:test/v2/GET/clients",
    headers: { "User-Agent": "bridge/2" },
    multiValueHeaders: { Authorization: [`Bearer ${token}`] },
    requestContext: { requestId: "req-1", identity: { sourceIp: "203.0.113.9" } },
  };
  return authorize(event as unknown as APIGatewayRequestAuthorizerEvent);
}

const unknown = [401, "invalid_client"];

describe("an application that knows its secret and is refused access leaves an entry", () => {
  it("for a scope that it does not hold, in a new token and in one that is refreshed", async () => {
    const own = await service.application();
    const { refresh_token } = (await service.grant(own)).body;
    const wide = { scope: "clients:read clients:write" };
    const answers = [await service.grant(own, wide), await service.refresh(own, refresh_token, wide)];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual(Array(2).fill([400, "invalid_scope"]));
    expect(reportedOf(own, refresh_token)).toEqual(Array(2).fill(["create_token", "invalid_scope", own.id]));
  });

  it("for a refresh token of a revoked family; the request that revokes it has its entry of that", async () => {
    const own = await service.application();
    const first = (await service.grant(own)).body.refresh_token;
    const second = (await service.refresh(own, first)).body.refresh_token;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + (limits.refresh.grace_seconds + 1) * 1000 });
    expect((await service.refresh(own, first)).body.error).toBe("invalid_grant");
    expect(reported()).toEqual([]);
    for (const token of [first, second]) {
      expect((await service.refresh(own, token)).body.error).toBe("invalid_grant");
    }
    expect(reportedOf(own, first, second)).toEqual(Array(2).fill(["create_token", "invalid_grant", own.id]));
  });

  it("for an address that it may not call from, at both endpoints, in the words for a stranger", async () => {
    const own = await service.application({ allowed_ips: ["192.0.2.0/24"] });
    const answers = [
      await service.grant(own),
      await service.post("/oauth/revoke", { ...own.credentials, token: "rt_1" }),
    ];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual([unknown, unknown]);
    expect(reportedOf(own)).toEqual([
      ["create_token", "address_not_allowed", own.id],
      ["revoke_token", "address_not_allowed", own.id],
    ]);
  });

  it("for a secret whose overlap has ended", async () => {
    const own = await service.application();
    const path = `/applications/${own.id}/rotate_secret`;
    await api.call(own.admin, "POST", path, { body: { grace_seconds: 60 } });
    expect((await service.grant(own)).status).toBe(200);
    expect(reported()).toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    const { status, body } = await service.grant(own);
    expect([status, body.error]).toEqual(unknown);
    expect(reportedOf(own)).toEqual([["create_token", "invalid_client", own.id]]);
  });

  it("after it was revoked, by its secret and by a token, also in the audit log", async () => {
    const own = await service.application();
    const { access_token } = (await service.grant(own)).body;
    expect(await authorizing(access_token)).toMatchObject({ principalId: own.id });
    expect(reported()).toEqual([]);
    await api.call(own.admin, "DELETE", `/applications/${own.id}`);
    const { status, body } = await service.grant(own);
    expect([status, body.error]).toEqual(unknown);
    await expect(authorizing(access_token)).rejects.toThrow("Unauthorized");
    const sent = reported();
    expect(JSON.stringify(sent)).not.toContain(access_token);
    expect(await recordAll(sent)).toEqual([]);
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) => eventName === "INSERT" && image?.["et"]?.S === "OUTBOX",
    );
    await work.publish(waiting);
    const kept = await api.call(own.admin, "GET", `/audit_log?actor=${own.id}&outcome=refused&sort=sequence`);
    const actor = { type: "application", id: own.id, name: "Test" };
    const refusal = { actor, resource: null, outcome: "refused", code: "application_revoked", changes: [], count: 1 };
    // Messages of two functions are recorded in either order.
    const data: readonly { readonly action: string }[] = kept.body.data;
    expect(data.toSorted((a, b) => (a.action < b.action ? -1 : 1))).toEqual([
      expect.objectContaining({
        ...{ ...refusal, action: "authenticate", ip: "203.0.113.9", user_agent: "bridge/2", request_id: "req-1" },
      }),
      expect.objectContaining({ ...refusal, action: "create_token" }),
    ]);
  });

  it("and gets the same answer when the queue does not take the message", async () => {
    const own = await service.application();
    const refused = async () => {
      const { status, body } = await service.grant(own, { scope: "clients:write" });
      return { status, body };
    };
    const usual = await refused();
    api.queues.interfere = () => "unavailable";
    expect(await refused()).toEqual(usual);
  });
});

describe("no entry is left", () => {
  it("by a caller who proved nothing: a wrong secret, an unknown client, a token that is not ours", async () => {
    const own = await service.application({ allowed_ips: ["192.0.2.0/24"] });
    await service.grant(own, { client_secret: "wrong" });
    await service.grant(own, { client_id: `app_${"0".repeat(24)}` });
    await service.post("/oauth/revoke", { ...own.credentials, client_secret: "wrong", token: "rt_1" });
    await expect(authorizing("a.b.c")).rejects.toThrow("Unauthorized");
    expect(reported()).toEqual([]);
  });

  it("by a request that is wrong: an unknown or expired refresh token, an expired access token", async () => {
    const own = await service.application();
    const { refresh_token, access_token } = (await service.grant(own)).body;
    await service.refresh(own, "rt_unknown");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + (limits.refresh.token_seconds + 1) * 1000 });
    expect((await service.refresh(own, refresh_token)).body.error).toBe("invalid_grant");
    await expect(authorizing(access_token)).rejects.toThrow("Unauthorized");
    expect(reported()).toEqual([]);
  });

  it("by a request beyond the rate limit: those that it lets through have one each", async () => {
    const own = await service.application();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const count = limits.rate.burst_per_second + 5;
    const answers = await Promise.all(
      Array.from({ length: count }, () => service.grant(own, { scope: "clients:write" })),
    );
    const refused = answers.filter(({ body }) => body.error === "invalid_scope");
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(count - refused.length);
    expect(refused.length).toBeLessThan(count);
    expect(reportedOf(own)).toHaveLength(refused.length);
  });
});
