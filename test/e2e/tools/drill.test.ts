import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drills } from "../../../infra/tools/drill/drills.ts";
import { Session, send } from "../../../infra/tools/smoke/session.ts";
import { answerWith, startReceiver } from "../../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { arrivals } from "../../support/stack/webhooks.ts";

let stack: Stack;
let session: Session;
beforeAll(async () => {
  stack = await sharedStack();
  const { credentials } = await stack.newApplication();
  session = new Session(stack.baseUrl, credentials);
});
afterAll(async () => stack?.stop());

const idIn = (lines: readonly string[], pattern: RegExp) => pattern.exec(lines.join("\n"))?.[0] ?? "";

describe("npm run drill", () => {
  it("makes a receiver that is down, and the runbook's replay delivers what it missed", async () => {
    const lines = await drills["receiver-down"].make(session);
    const id = idIn(lines, /whe_\w+/);
    const delivery = await session.call("GET", `/deliveries/${idIn(lines, /dlv_\w+/)}`);
    expect(delivery.body.attempts[0]).toMatchObject({ error: "connection_refused", http_status: null });
    const receiver = await startReceiver();
    try {
      receiver.answer = answerWith(200);
      await session.call("PATCH", `/webhook_endpoints/${id}`, { body: { url: `${receiver.url}/drill` } });
      const replayed = await session.call("POST", `/webhook_endpoints/${id}/replay`, { body: { after_sequence: "0" } });
      expect([replayed.status, replayed.body.queued]).toEqual([202, 1]);
      const [call] = await arrivals(receiver, "/drill", 1);
      expect(JSON.parse(call?.body ?? "{}")).toMatchObject({ type: "client.created" });
      expect((await session.call("DELETE", `/webhook_endpoints/${id}`)).status).toBe(200);
    } finally {
      await receiver.stop();
    }
  });

  it("leaks a secret, and the runbook's rotation ends it", async () => {
    const lines = await drills["leaked-secret"].make(session);
    expect(lines[0]).toMatch(/works until .* is answered 200\.$/);
    const [id, client_id, client_secret] = [/app_[0-9A-Z]{26}/, /app_[0-9A-Za-z]{24}$/m, /sec_\w+/].map((pattern) =>
      idIn(lines, pattern),
    );
    const path = `/applications/${id}/rotate_secret`;
    expect((await session.call("POST", path, { body: { grace_seconds: 0 } })).status).toBe(200);
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const body = `grant_type=client_credentials&client_id=${client_id}&client_secret=${client_secret}`;
    const refused = await send(`${stack.baseUrl}/oauth/token`, "POST", { headers, body });
    expect([refused.status, refused.body.error]).toEqual([401, "invalid_client"]);
  });

  it("states the command by which the numbers of events go on after a restore", async () => {
    const text = (await drills.restore.make(session)).join(" ");
    const [, lastValid, after] = /--last-valid (\d+) .*--after (\d+) /.exec(text) ?? [];
    expect(Number(after)).toBeGreaterThanOrEqual(Number(lastValid) + 2);
    const lost = [...text.matchAll(/cli_\w+/g)].map(([id]) => id);
    const path = `/events?type=client.created&after_sequence=${lastValid}`;
    const { body } = await session.call("GET", path);
    expect(body.data.map(({ resource }: { resource: { id: string } }) => resource.id)).toEqual(lost);
  });

  it("floods the service, which serves another application meanwhile", async () => {
    const lines = await drills.flood.make(session);
    expect(lines[0]).toMatch(/^\d+ of 150 requests were answered 429, with Retry-After: (?:\d+|none)\.$/);
    expect(lines[1]).toBe("Another application was answered 200 meanwhile.");
  });
});
