import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { afterAll, describe, expect, it } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi();
const service = await startTokenService(api);
afterAll(async () => api.stop());
const { handler: authorize } = await import("../../../functions/oauth/authorize.ts");

const scopes = ["accounts:read", "transactions:read", "transactions:write", "transactions:approve", "admin"];

/** The application as the authorizer lets it in, with a token by its secret. */
async function callerBy(admin: TestCaller): Promise<TestCaller & { readonly path: string }> {
  const made = await service.application({ scopes }, admin);
  const { body } = await service.grant(made);
  const event = {
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:test/v2/GET/clients",
    multiValueHeaders: { Authorization: [`Bearer ${body.access_token}`] },
  };
  const { context } = await authorize(event as unknown as APIGatewayRequestAuthorizerEvent);
  const operator_ids = String(context?.["operator_ids"] ?? "").split(" ");
  const { operator: _operator, ...caller } = admin;
  return { ...caller, application_id: made.id, scopes, operator_ids, path: `/applications/${made.id}` };
}

describe("an application that an operator created", () => {
  it("is that person where four eyes are required: as maker, approver, and through its own application", async () => {
    const terminal = newCaller();
    const [max, mia] = ["Max", "Mia"].map((name) => asOperator(terminal, name, "owner"));
    if (max === undefined || mia === undefined) throw new Error("Two owners are needed.");
    const first = await callerBy(max);
    const second = await callerBy(first);
    expect([first.operator_ids, second.operator_ids]).toEqual([[max.operator?.id], [max.operator?.id]]);
    const shown = await brokerage(api, terminal).get(second.path);
    expect([shown.created_by, shown.operator_ids]).toEqual([
      { type: "application", id: first.application_id, name: "Test", operator_ids: [max.operator?.id] },
      [max.operator?.id],
    ]);

    await api.call(terminal, "PATCH", "/settings", { body: { four_eyes: true } });
    const account = await brokerage(api, terminal).account();
    const approved = async (maker: TestCaller, approver: TestCaller) => {
      const deposit = await brokerage(api, maker).deposit(account, "1.00");
      const queue = (await brokerage(api, approver).get("/transactions/queue")).data as { id: string }[];
      const { status, body } = await brokerage(api, approver).move(deposit, "approved");
      expect(queue.some(({ id }) => id === deposit.id)).toBe(status === 200);
      return [status, body.code ?? body.status];
    };
    for (const [maker, approver] of [
      [max, first],
      [first, max],
      [first, second],
      [second, max],
      [max, second],
    ] as const) {
      expect(await approved(maker, approver)).toEqual([403, "four_eyes_required"]);
    }
    for (const [maker, approver] of [
      [max, mia],
      [mia, first],
      [second, mia],
      [max, terminal],
      [terminal, first],
    ] as const) {
      expect(await approved(maker, approver)).toEqual([200, "approved"]);
    }
  });
});
