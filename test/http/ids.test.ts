import fc from "fast-check";
import { decodeTime, encodeTime } from "ulid";
import { describe, expect, it } from "vitest";
import { newId, timePart } from "../../shared/runtime/ids.ts";

const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe("an identifier", () => {
  it("is a prefix and a ULID that tells when it was made", () => {
    fc.assert(
      fc.property(moment, (atMs) => {
        const id = newId("cli", atMs);
        expect(id).toMatch(/^cli_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
        expect(decodeTime(id.slice(4))).toBe(atMs);
        expect(timePart(atMs)).toBe(encodeTime(atMs, 10));
      }),
    );
  });

  it("sorts by its time", () => {
    fc.assert(
      fc.property(moment, moment, (one, other) => {
        fc.pre(one < other);
        expect(newId("cli", one) < newId("cli", other)).toBe(true);
      }),
    );
  });

  it("is another one each time, of all letters alike", () => {
    const ids = Array.from({ length: 4000 }, () => newId("cli", 0).slice(14));
    expect(new Set(ids).size).toBe(ids.length);
    const counts = new Map<string, number>();
    for (const letter of ids.join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).toBe(32);
    // 64,000 letters: 2,000 of each, give or take eight standard deviations of 44.
    for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(352);
  });
});
