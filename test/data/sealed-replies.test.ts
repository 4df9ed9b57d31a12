import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { startApi } from "../support/emulator/api.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, proxyEvent } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(async () => api.stop());

const row = route({
  id: "show_secret",
  method: "POST",
  path: "/clients",
  tag: "Test",
  summary: "Shows a secret",
  file: "test",
  scope: "applications:write",
  grants: ["put"],
  secrets: ["service_key"],
  secret: true,
  body: z.object({ other: z.optional(z.boolean()) }),
  reply: z.object({ object: z.string(), id: z.string(), secret: z.string() }),
  status: 201,
  stages: ["sandbox"],
});

let made = 0;

/** A handler that shows another secret each time it is run. */
async function handlerOfSecrets() {
  const { secretCommand } = await import("../../shared/http/secret-command.ts");
  return secretCommand(
    row,
    async ({ load }) => {
      await load({});
      made += 1;
      return { ok: true, result: `canary-${made}`, changes: [], events: [] };
    },
    (secret) => ({ object: "test", id: "tst_1", secret }),
  );
}

const caller = newCaller();

async function send(key: string, body: object = {}) {
  const handler = await handlerOfSecrets();
  const { event } = proxyEvent(caller, "POST", "/clients", { body, headers: { "Idempotency-Key": key } });
  const answer = await handler(event, lambdaContext());
  return { status: answer.statusCode, body: answer.body, replayed: answer.headers?.["Idempotent-Replayed"] };
}

describe("the answer of an endpoint that shows a secret", () => {
  it("is given again under its key, and is nowhere in the table in clear", async () => {
    const key = newId("key");
    const first = await send(key);
    const again = await send(key);
    expect(first).toMatchObject({ status: 201, body: expect.stringContaining("canary-"), replayed: undefined });
    expect(again).toEqual({ ...first, replayed: "true" });
    const items = await scanTable(api.emulator);
    const stored = items.find(({ et }) => et === "IDEM");
    expect(stored?.["body"]).toMatch(/^v1\./);
    expect(JSON.stringify(items)).not.toContain("canary");
    expect(JSON.stringify(items)).not.toContain(key);
  });

  it("is one of ten requests' at once", async () => {
    const key = newId("key");
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(key)));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed === undefined)).toHaveLength(1);
  });

  it("is not given for another request under the same key", async () => {
    const key = newId("key");
    await send(key);
    expect(await send(key, { other: true })).toMatchObject({
      status: 422,
      body: expect.not.stringContaining("canary"),
    });
  });
});

it("a row that shows a secret cannot be made without sealing", async () => {
  const { command } = await import("../../shared/http/operations.ts");
  expect(() => command(row, async () => ({ ok: true, result: {}, changes: [], events: [] }), Object)).toThrow("seal");
});
