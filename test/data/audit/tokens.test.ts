import { afterAll, expect, it } from "vitest";
import { atOnce } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { readStream, scanTable } from "../../support/emulator/raw-table.ts";
import { auditsIn, judgeAudit } from "../../support/oracles/audit-oracle.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi("stream");
const service = await startTokenService(api);
afterAll(api.stop);

const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);

it("a token, its refresh by many at once and its revocation leave one entry each, and no token", async () => {
  const own = await service.application();
  const first = (await service.grant(own)).body;
  const answers = await atOnce(5, () => service.refresh(own, first.refresh_token));
  const [second] = answers.map(({ body }) => body);
  const revoked = await service.post("/oauth/revoke", { ...own.credentials, token: second.refresh_token });
  expect(revoked.status).toBe(200);
  // A second revocation finds nothing that lives, and a wrong secret belongs to no application.
  await service.post("/oauth/revoke", { ...own.credentials, token: second.refresh_token });
  await service.grant(own, { client_secret: "wrong" });
  const waiting = (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) => eventName === "INSERT" && image?.["et"]?.S === "OUTBOX",
  );
  await work.publish(waiting);
  const items = await scanTable(api.emulator);
  const entries = auditsIn(items);
  expect(entries.map(({ members }) => [members["action"], members["changes"]])).toEqual([
    ["create_application", expect.anything()],
    [
      "create_token",
      [expect.objectContaining({ after: expect.objectContaining({ grant_type: "client_credentials" }) })],
    ],
    ["create_token", [expect.objectContaining({ after: expect.objectContaining({ grant_type: "refresh_token" }) })]],
    ["revoke_token", [expect.objectContaining({ after: { revoked_for: "request" } })]],
  ]);
  expect(entries.slice(1).map(({ members }) => members["actor"])).toEqual(
    [1, 2, 3].map(() => ({ type: "application", id: own.id, name: "Test" })),
  );
  expect(judgeAudit(items)).toEqual([]);
  for (const token of [first.access_token, first.refresh_token, second.refresh_token, own.credentials.client_secret]) {
    expect(JSON.stringify(entries)).not.toContain(token);
  }
});
