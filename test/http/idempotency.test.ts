import type { APIGatewayProxyEvent } from "aws-lambda";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { idempotencyScope } from "../../shared/http/idempotency.ts";
import { HttpProblem } from "../../shared/http/problem.ts";
import { limits } from "../../shared/limits.ts";
import { newCaller, proxyEvent } from "../support/emulator/request.ts";

const application = { type: "application", id: "app_1", name: "Test" } as const;

function requestWith(key: string | undefined, header = "Idempotency-Key"): APIGatewayProxyEvent {
  const headers = key === undefined ? {} : { [header]: key };
  return proxyEvent(newCaller(), "POST", "/clients", { body: "{}", headers }).event;
}

function scopeOf(key: string | undefined, body = "{}", id = "app_1") {
  return idempotencyScope(requestWith(key), { ...application, id }, body);
}

const visible = fc.stringMatching(/^[\x21\x23-\x7e]{1,255}$/);

describe("an Idempotency-Key", () => {
  it("is optional", () => {
    expect(scopeOf(undefined)).toBeUndefined();
  });

  it("is the same bare and in one pair of quotes, and is kept as a hash only", () => {
    fc.assert(
      fc.property(visible, (key) => {
        const bare = scopeOf(key);
        expect(scopeOf(`"${key}"`)).toEqual(bare);
        expect(bare?.key_hash).toMatch(/^[0-9a-f]{64}$/);
        if (key.length > 8) expect(JSON.stringify(bare)).not.toContain(JSON.stringify(key).slice(1, -1));
      }),
    );
  });

  it("is found whatever the case of the header's name", () => {
    for (const name of ["idempotency-key", "IDEMPOTENCY-KEY", "Idempotency-key"]) {
      expect(idempotencyScope(requestWith("k", name), application, "{}")).toEqual(scopeOf("k"));
    }
  });

  it.each([
    ["an empty one", ""],
    ["quotes around nothing", '""'],
    ["a space", "a b"],
    ["a control character", "a\u0001"],
    ["a letter beyond ASCII", "schlüssel"],
    ["one character too many", "k".repeat(limits.idempotency.max_key_characters + 1)],
  ])("is refused: %s", (_, key) => {
    try {
      scopeOf(key);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(HttpProblem);
      expect(error).toMatchObject({
        code: "idempotency_key_invalid",
        details: { errors: [{ header: "Idempotency-Key" }] },
      });
    }
  });

  it("is required where a row asks for it", () => {
    const { event } = proxyEvent(newCaller(), "POST", "/clients", { body: "{}" });
    expect(idempotencyScope(event, application, "{}")).toBeUndefined();
    const problem = {
      code: "idempotency_key_invalid",
      details: { errors: [{ header: "Idempotency-Key", code: "required", detail: "is required" }] },
    };
    const taken = () => idempotencyScope(event, application, "{}", { required: true });
    expect(taken).toThrow(expect.objectContaining(problem));
  });

  it.each([
    [{ "Idempotency-Key": ["a", "b"] }],
    [{ "Idempotency-Key": ["a", "a"] }],
    [{ "idempotency-key": ["a", "b", "a"] }],
    [{ "Idempotency-Key": "a", "idempotency-key": "b" }],
  ])("is refused when there are two: %o", (headers) => {
    const { event } = proxyEvent(newCaller(), "POST", "/clients", { body: "{}", headers });
    const problem = {
      code: "idempotency_key_invalid",
      details: { errors: [{ header: "Idempotency-Key", code: "repeated", detail: "is given more than once" }] },
    };
    expect(() => idempotencyScope(event, application, "{}")).toThrow(expect.objectContaining(problem));
  });

  it("of the largest size is taken, quoted too", () => {
    const key = "k".repeat(limits.idempotency.max_key_characters);
    expect(scopeOf(`"${key}"`)).toEqual(scopeOf(key));
  });

  it("belongs to one application", () => {
    expect(scopeOf("k", "{}", "app_2")?.application_id).toBe("app_2");
  });
});

describe("the fingerprint of a request", () => {
  it("changes with any byte of the body, the path and the method", () => {
    const event = requestWith("k");
    const at = (change: Partial<APIGatewayProxyEvent>, body = "{}") =>
      idempotencyScope({ ...event, ...change }, application, body)?.fingerprint;
    const all = [
      at({}),
      at({}, "{ }"),
      at({}, "{}\n"),
      at({ path: "/accounts" }),
      at({ httpMethod: "PATCH" }),
      at({ path: "/clients/cli_1" }),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(at({})).toBe(at({}));
  });
});
