import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { afterAll, describe, expect, it } from "vitest";
import { routes } from "../../../shared/routes/index.ts";
import { isOfSource } from "../../../shared/routes/route.ts";
import { startApi } from "../../support/emulator/api.ts";
import { addressOf, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi();
const service = await startTokenService(api);
afterAll(async () => api.stop());
const { handler: authorize } = await import("../../../functions/oauth/authorize.ts");

const admin = newCaller();
const scopes = ["feed:read", "feed:write", "transactions:settle"];
const sourceNamed = async (name: string) => {
  const { body } = await api.call(admin, "POST", "/feed/sources", { body: { name, platform: "mt5" } });
  return String(body.id);
};
const [own, other] = [await sourceNamed("mt5:own"), await sourceNamed("mt5:other")];
const bridge = await service.application({ name: "Bridge", scopes, source_ids: [own] }, admin);
const path = `/applications/${bridge.id}`;

/** The application as the authorizer lets it in now. */
async function admitted(): Promise<TestCaller> {
  const { body } = await service.grant(bridge);
  const event = {
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:test/v2/GET/clients",
    multiValueHeaders: { Authorization: [`Bearer ${body.access_token}`] },
    requestContext: { requestId: "test" },
  };
  const { context } = await authorize(event as unknown as APIGatewayRequestAuthorizerEvent);
  const source_ids = context?.["source_ids"];
  return {
    ...newCaller({ tenant_id: admin.tenant_id, application_id: bridge.id, scopes }),
    ...(source_ids === undefined ? {} : { source_ids: String(source_ids).split(" ") }),
  };
}

/** The answer of a row at a source; what is sent is of no matter. */
async function statusAt(row: (typeof routes)[number], source: string, caller: TestCaller) {
  const { status, body } = await api.call(caller, row.method, addressOf(row, source), { body: row.example });
  return status === 403 ? body.code : status;
}

describe("an application that is bound to a feed source", () => {
  it("shows it, at its making and after a change", async () => {
    expect((await api.call(admin, "GET", path)).body.source_ids).toEqual([own]);
    const both = await api.call(admin, "PATCH", path, { body: { source_ids: [own, other] } });
    expect([both.status, both.body.source_ids]).toEqual([200, [own, other]]);
    expect((await admitted()).source_ids).toEqual([own, other]);
    const unbound = await api.call(admin, "PATCH", path, { body: { source_ids: null } });
    expect([unbound.status, unbound.body.source_ids]).toEqual([200, []]);
    expect((await admitted()).source_ids).toBeUndefined();
    const again = await api.call(admin, "PATCH", path, { body: { source_ids: [own] } });
    expect([again.status, again.body.source_ids]).toEqual([200, [own]]);
  });

  it.each(routes.filter(isOfSource).map((row) => [`${row.method} ${row.path}`, row] as const))(
    "is refused at another one, and at its own as before: %s",
    async (_, row) => {
      const caller = await admitted();
      expect(await statusAt(row, other, caller)).toBe("source_not_allowed");
      expect(await statusAt(row, other, { ...caller, source_ids: [] })).not.toBe("source_not_allowed");
      if (row.path.includes("{id}")) expect(await statusAt(row, own, caller)).not.toBe("source_not_allowed");
    },
  );

  it("is refused with the name of its own, and lists no other", async () => {
    const caller = await admitted();
    const refused = await api.call(caller, "GET", `/feed/sources/${other}`);
    expect(refused).toMatchObject({ status: 403, body: { detail: `The application is bound to ${own}.` } });
    const ids = async (as: TestCaller) =>
      (await api.call(as, "GET", "/feed/sources")).body.data.map(({ id }: { id: string }) => id);
    expect(await ids(caller)).toEqual([own]);
    expect(await ids(admin)).toEqual(expect.arrayContaining([own, other]));
  });
});
