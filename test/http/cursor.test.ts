import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCursor, encodeCursor, listFingerprint } from "../../shared/table/cursor.ts";
import { feedRejects, snapshots, symbols } from "../../shared/table/entities.ts";
import { brokerNames } from "../support/builders/symbol-names.ts";

const identifier = fc.stringMatching(/^[0-9A-Z|]{1,64}$/);
const named = fc.constantFrom(...brokerNames).map((name) => symbols.key("brk_1", name).sk);
const snapshot = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") }).map((at) => {
  const named = { tenant_id: "brk_1", source_id: "src_1", snapshot_id: "S-1", as_of_seq: "9".repeat(15) };
  const taken = { taken_at: at.toISOString(), complete: true, parts: 1, created_at: at.toISOString(), expires_at: 0 };
  return snapshots.indexesOf({ ...named, ...taken }).list_sk ?? "";
});
const reject = fc.stringMatching(/^[1-9]\d{0,14}(?:\.[0-9a-f]{16})?$/).map((id) => feedRejects.sortOf(id));
const position = fc.oneof(identifier, named, snapshot, reject);
const direction = fc.constantFrom("next" as const, "prev" as const);
const fingerprint = listFingerprint("/v2/clients", {});

/** A cursor text of any content, as a forger would make it. */
function forged(content: unknown): string {
  return Buffer.from(typeof content === "string" ? content : JSON.stringify(content)).toString("base64url");
}

describe("a cursor", () => {
  it("is read back as it was made, in characters that need no escape in a URL", () => {
    fc.assert(
      fc.property(position, direction, fc.boolean(), (place, way, inclusive) => {
        const text = encodeCursor({ direction: way, position: place, inclusive }, fingerprint);
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeCursor(text, fingerprint)).toEqual({ direction: way, position: place, inclusive });
      }),
    );
  });

  it("is good for the list that it was made for and for no other", () => {
    const place = { direction: "next", position: "01JD", inclusive: false } as const;
    const text = encodeCursor(place, listFingerprint("/v2/clients", { sort: "created_at" }));
    const others = [
      listFingerprint("/v2/clients", {}),
      listFingerprint("/v2/clients", { sort: "-created_at" }),
      listFingerprint("/v2/accounts", { sort: "created_at" }),
    ];
    for (const other of others) expect(decodeCursor(text, other)).toBeUndefined();
  });

  it("goes on with another limit: the limit is no part of which list it is", () => {
    const filters = { sort: "created_at" };
    expect(listFingerprint("/v2/clients", { ...filters, limit: "5", cursor: "x" })).toBe(
      listFingerprint("/v2/clients", filters),
    );
  });

  it("does not depend on the order in which the filters were given", () => {
    expect(listFingerprint("/v2/x", { a: "1", b: "2" })).toBe(listFingerprint("/v2/x", { b: "2", a: "1" }));
  });

  it.each([
    ["no base64url", "a b"],
    ["padding", `${forged([1, "n", "A", fingerprint])}==`],
    ["no JSON", forged("nonsense")],
    ["an object", forged({})],
    ["too few members", forged([1, "n", "A"])],
    ["too many members", forged([1, "n", "A", fingerprint, 1])],
    ["another version", forged([2, "n", "A", fingerprint])],
    ["a version as text", forged(["1", "n", "A", fingerprint])],
    ["another direction", forged([1, "x", "A", fingerprint])],
    ["two directions", forged([1, "nn", "A", fingerprint])],
    ["no position", forged([1, "n", "", fingerprint])],
    ["a position that is a number", forged([1, "n", 5, fingerprint])],
    ["a position that is a key", forged([1, "n", "brk_01JD#cli_01", fingerprint])],
    ["half a character", forged([1, "n", "A\ud800", fingerprint])],
    ["a control character", forged([1, "n", "A\u0000", fingerprint])],
    ["a position too long", forged([1, "n", "A".repeat(129), fingerprint])],
    ["no fingerprint", forged([1, "n", "A", null])],
  ])("is refused with %s", (_, text) => {
    expect(decodeCursor(text, fingerprint)).toBeUndefined();
  });

  it("of any characters is refused or a position, and never an error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.jsonValue().map(forged)), (text) => {
        const cursor = decodeCursor(text, fingerprint);
        if (cursor !== undefined) expect(cursor.position).toMatch(/^[^\p{Cc}#]{1,128}$/u);
      }),
    );
  });

  it("holds no key and nothing of a tenant", () => {
    const text = encodeCursor({ direction: "next", position: "01JD", inclusive: false }, fingerprint);
    expect(Buffer.from(text, "base64url").toString()).toBe(`[1,"n","01JD","${fingerprint}"]`);
  });
});
