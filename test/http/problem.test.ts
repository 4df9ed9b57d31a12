import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { failedFields } from "../../shared/domain/kernel/decision.ts";
import type { Request } from "../../shared/http/exchange.ts";
import { problemDocument } from "../../shared/http/problem.ts";
import { routes } from "../../shared/routes/index.ts";
import { route } from "../../shared/routes/route.ts";
import { problemCodes as codes, problemKind, problemType } from "../../shared/schema/problem.ts";

const where = { path: "/v2/clients", request_id: "req-1" };

describe("a problem document", () => {
  it.each(codes)("of %s has the members of RFC 9457 in one order, with the code's own status and title", (code) => {
    const errors = [{ pointer: "#/a", code: "required", detail: "is required" }];
    const document = problemDocument(code, "What happened.", where, { errors, extra: { allowed: ["x"] } });
    expect(Object.keys(document)).toEqual([
      "type",
      "title",
      "status",
      "detail",
      "instance",
      "code",
      "request_id",
      "errors",
      "allowed",
    ]);
    expect(document).toMatchObject({
      type: problemType(code),
      title: problemKind(code).title,
      status: problemKind(code).status,
      detail: "What happened.",
      instance: where.path,
      code,
      request_id: where.request_id,
      errors,
    });
    expect(new URL(problemType(code)).protocol).toBe("https:");
    expect(problemKind(code).title).toMatch(/^[A-Z].*\.$/);
    expect(code).toMatch(/^[a-z_]+$/);
  });

  it("has no errors where there are none", () => {
    expect(problemDocument("not_found", "Nothing.", where)).not.toHaveProperty("errors");
  });

  it("has a type of its own for every code", () => {
    expect(new Set(codes.map(problemType)).size).toBe(codes.length);
  });

  it("counts failed fields in words that fit", () => {
    expect([failedFields(1), failedFields(2)]).toEqual(["1 field failed validation.", "2 fields failed validation."]);
  });
});

const declared = {
  id: "get_a",
  method: "GET",
  path: "/a/{id}/b/{name}",
  tag: "A",
  summary: "Get a",
  file: "a/get",
  scope: null,
  grants: [],
  reply: z.object({}),
} as const;

describe("a row", () => {
  it("has the defaults of what it leaves out, and the compiler refuses to see one repeated", () => {
    const defaults = { auth: "token", rate: "standard", status: 200, refusals: [], emits: [] };
    expect(route(declared)).toMatchObject({ ...defaults, stages: ["sandbox", "production"] });
    // @ts-expect-error: 200 is the default.
    expect(route({ ...declared, status: 200 })).toEqual(route(declared));
    expect(route({ ...declared, status: 201 }).status).toBe(201);
  });

  it("types the path parameters of its handler", () => {
    const row = route(declared);
    const show = ({ id, name }: Request<typeof row>["path"]) => `${id} ${name}`;
    // @ts-expect-error: the path has no such parameter.
    const misspelt = ({ other }: Request<typeof row>["path"]) => other;
    expect([show({ id: "1", name: "x" }), misspelt({ id: "1", name: "x" })]).toEqual(["1 x", undefined]);
  });
});

describe("the route table", () => {
  it("lists with every row only codes that exist", () => {
    for (const row of routes) for (const code of row.refusals) expect(codes).toContain(code);
  });
});
