import type { APIGatewayProxyEvent } from "aws-lambda";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { entityTag, matchesVersion, noneMatch, notModified, resourceReply } from "../../shared/http/reply.ts";
import { absolute } from "../../shared/runtime/links.ts";
import { Links } from "../../shared/schema/fields.ts";
import { inOrder, memberOrder } from "../../shared/schema/member-order.ts";

process.env["PUBLIC_BASE_URL"] = "https://api.test.example/v2";

describe("an entity tag", () => {
  it("is the version, and for computed fields also a hash of the body", () => {
    expect(entityTag({ object: "transaction", version: 3 }, "{}")).toBe('"3"');
    expect(entityTag({ object: "account", version: 3 }, "{}")).toMatch(/^"3-[0-9a-f]{8}"$/);
    expect(entityTag({ object: "account", version: 3 }, "{}")).not.toBe(
      entityTag({ object: "account", version: 3 }, "{ }"),
    );
    expect(entityTag({ object: "event" }, "{}")).toBeUndefined();
  });
});

describe("If-Match", () => {
  it.each([
    ['"3"', true],
    ["*", true],
    [" * ", true],
    ['"2", "3"', true],
    ['"3-0123abcd"', true],
    ['"30"', false],
    ['"03"', false],
    ['"2"', false],
    ['W/"3"', false],
    ["3", false],
    ['"3-nothex00"', false],
    ['"3-"', false],
    ['""', false],
    ["", false],
    ['"*"', false],
  ])("%s lets version 3 be changed: %s", (header, lets) => {
    expect(matchesVersion(header, 3)).toBe(lets);
  });
});

describe("If-None-Match", () => {
  it.each([
    ['"3"', true],
    ['W/"3"', true],
    ["*", true],
    ['"1", W/"3"', true],
    ['"4"', false],
    ["3", false],
    ["", false],
  ])('%s names "3": %s', (header, names) => {
    expect(noneMatch(header, '"3"')).toBe(names);
  });
});

describe("the reply of a resource", () => {
  const body = {
    object: "client",
    version: 1,
    _links: { self: { href: "https://api.test.example/v2/clients/cli_1" } },
  };

  it("has a Location if the resource was created, and only then", () => {
    expect(resourceReply(201, body).headers["Location"]).toBe("https://api.test.example/v2/clients/cli_1");
    expect(resourceReply(200, body).headers).not.toHaveProperty("Location");
  });
});

describe("the order of members", () => {
  const schema = z.object({
    b: z.string(),
    a: z.nullable(z.object({ d: z.optional(z.int()), c: z.int() })),
    list: z.array(z.object({ y: z.int(), x: z.int() })),
    map: z.record(z.string(), z.string()),
    any: z.record(z.string(), z.unknown()),
  });
  const value = {
    b: "1",
    a: { d: 1, c: 2 },
    list: [{ y: 1, x: 2 }],
    map: { p: "1", q: "2" },
    any: { z: 1, m: { k: 1 } },
  };

  it("is that of the schema, at every depth, whatever order the members have", () => {
    const shuffled = (given: unknown): fc.Arbitrary<unknown> => {
      if (Array.isArray(given)) return fc.tuple(...given.map(shuffled));
      if (typeof given !== "object" || given === null) return fc.constant(given);
      const entries = Object.entries(given);
      return fc
        .tuple(
          fc.shuffledSubarray(entries, { minLength: entries.length }),
          fc.tuple(...entries.map(([, v]) => shuffled(v))),
        )
        .map(([order, values]) => Object.fromEntries(order.map((each) => [each[0], values[entries.indexOf(each)]])));
    };
    const { any: _any, ...ordered } = value;
    fc.assert(
      fc.property(shuffled(ordered), (mixed) => {
        expect(JSON.stringify(inOrder(memberOrder(schema), mixed, absolute))).toBe(JSON.stringify(ordered));
      }),
    );
  });

  it("of a value of any type is kept", () => {
    expect(JSON.stringify(inOrder(memberOrder(schema), value, absolute))).toBe(JSON.stringify(value));
  });

  it("shows no member that the schema does not have, and omits missing ones", () => {
    const stored = { a: null, b: "1", tenant_id: "brk_1", map: { p: "1" }, list: [{ x: 1, y: 2, secret: 3 }] };
    expect(inOrder(memberOrder(schema), stored, absolute)).toEqual({
      a: null,
      b: "1",
      map: { p: "1" },
      list: [{ x: 1, y: 2 }],
    });
  });
});

describe("the links of an answer", () => {
  const order = memberOrder(z.object({ list: z.array(z.object({ _links: Links })), any: z.unknown(), _links: Links }));
  const href = (path: string) => ({ self: { href: path } });

  it("are absolute, built from the configured address, wherever the schema has links and nowhere else", () => {
    const [relative, whole] = [href("/v2/clients/cli_1"), href("https://api.test.example/v2/clients/cli_1")];
    const shown = inOrder(order, { list: [{ _links: relative }], any: { _links: relative }, _links: whole }, absolute);
    expect(shown).toEqual({ list: [{ _links: whole }], any: { _links: relative }, _links: whole });
  });
});

describe("a 304", () => {
  it("has the caching headers of the answer that it replaces, and no other", () => {
    const kept = { ETag: '"3"', "Cache-Control": "public, max-age=300", Vary: "Accept-Encoding" };
    const answer = { status: 200, headers: { ...kept, "Content-Type": "application/json" }, body: "{}" };
    const event = { headers: { "If-None-Match": '"3"' }, multiValueHeaders: {} } as unknown as APIGatewayProxyEvent;
    expect(notModified(event, answer)).toEqual({ status: 304, headers: kept, body: "" });
  });
});
