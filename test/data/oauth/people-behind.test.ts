import type { APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { afterAll, describe, expect, it } from "vitest";
import { routes } from "../../../shared/routes/index.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { startBucketEndpoint } from "../../support/emulator/bucket-endpoint.ts";
import { asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { type OwnApplication, startTokenService } from "../../support/stack/token-service.ts";

const bucket = await startBucketEndpoint();
const api = await startApi();
Object.assign(process.env, bucket.environment);
const service = await startTokenService(api);
afterAll(async () => {
  await api.stop();
  await bucket.stop();
});
const { jobs } = await import("../../../shared/table/entities.ts");
const { changeItem } = await import("../../../shared/table/items.ts");
const { handler: authorize } = await import("../../../functions/oauth/authorize.ts");

const scopes = [
  ...["accounts:read", "transactions:read", "transactions:write", "transactions:approve", "applications:write"],
  ...["clients:read", "events:read", "webhooks:write", "reports:read", "reports:write"],
];

/** An application and a caller with its token. */
type MadeCaller = TestCaller & Pick<OwnApplication, "credentials"> & { readonly path: string };

/** An application that the caller makes, as the authorizer lets it in. */
async function callerBy(admin: TestCaller): Promise<MadeCaller> {
  const { id, credentials } = await service.application({ scopes }, admin);
  return signedIn({ ...admin, application_id: id, credentials, path: `/applications/${id}` });
}

/** The application as the authorizer lets it in with a token by this secret. */
async function signedIn(caller: MadeCaller): Promise<MadeCaller> {
  const { application_id: id, credentials } = caller;
  const { body } = await service.grant({ ...caller, id, admin: caller });
  const event = {
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:test/v2/GET/clients",
    multiValueHeaders: { Authorization: [`Bearer ${body.access_token}`] },
    requestContext: { requestId: "test" },
  };
  const { context } = await authorize(event as unknown as APIGatewayRequestAuthorizerEvent);
  const operator_ids = String(context?.["operator_ids"] ?? "").split(" ");
  const { operator: _operator, ...own } = caller;
  return { ...own, credentials, scopes, operator_ids };
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

describe("an answer that shows a secret, repeated under its Idempotency-Key", () => {
  const terminal = newCaller();
  const max = asOperator(terminal, "Max", "owner");
  const mia = asOperator(terminal, "Mia", "owner");
  const endpoint = { url: "https://receiver.example.com/hooks", event_types: ["client.created"] };

  /** The commands that show a secret, each with its body, and what each one needs first. */
  const commands: Record<string, (caller: TestCaller) => Promise<{ path: string; body: object | undefined }>> = {
    create_application: async () => ({ path: "/applications", body: { name: "Made", scopes: ["clients:read"] } }),
    rotate_application_secret: async (caller) => {
      const made = await service.application({}, caller);
      return { path: `/applications/${made.id}/rotate_secret`, body: {} };
    },
    create_webhook_endpoint: async () => ({ path: "/webhook_endpoints", body: endpoint }),
    rotate_webhook_secret: async (caller) => {
      const { body } = await api.call(caller, "POST", "/webhook_endpoints", { body: endpoint });
      return { path: `/webhook_endpoints/${body.id}/rotate_secret`, body: {} };
    },
    create_job_links: async (caller) => {
      const { body } = await api.call(caller, "POST", "/jobs", { body: { type: "clients", parameters: {} } });
      const manifest = { key: `${caller.tenant_id}/${body.id}/manifest`, sha256: "0".repeat(64) };
      const ended = { status: "succeeded", completed_at: new Date().toISOString(), wake_at: null, manifest };
      await changeItem(jobs.key(caller.tenant_id, body.id), { set: ended });
      return { path: `/jobs/${body.id}/links`, body: undefined };
    },
  };
  /** The part of an answer that no other person may see. */
  const hidden = ({ client_secret, secret, files }: TestAnswer["body"]): string =>
    client_secret ?? secret ?? files[0].signed_url;

  it("is tried for every row that shows one", () => {
    const showing = routes.filter((row) => "secret" in row).map(({ id }) => id);
    expect(Object.keys(commands).toSorted()).toEqual(showing.toSorted());
  });

  it.each(Object.entries(commands))("of %s is not given to a person who came in between", async (id, prepare) => {
    const first = await callerBy(max);
    const { path, body } = await prepare(first);
    const send = (caller: TestCaller) =>
      api.call(caller, "POST", path, { ...(body && { body }), headers: { "Idempotency-Key": `once-${id}` } });
    const shown = await send(first);
    expect(shown.status).toBeLessThan(300);
    expect(hidden(shown.body)).toEqual(expect.any(String));
    // The same person again, whichever token they use.
    for (const caller of [first, await signedIn(first)]) {
      const again = await send(caller);
      expect([again.status, again.text]).toEqual([shown.status, shown.text]);
    }
    const rotated = await api.call(mia, "POST", `${first.path}/rotate_secret`, { body: { grace_seconds: 3600 } });
    const { client_secret } = rotated.body;
    const joined = await signedIn({ ...first, credentials: { ...first.credentials, client_secret } });
    expect(joined.operator_ids).toEqual([max.operator?.id, mia.operator?.id]);
    const refused = await send(joined);
    expect([refused.status, refused.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(refused.text).not.toContain(hidden(shown.body));
  });
});
