import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../shared/domain/audit/canonical-json.ts";
import { beginning, type ChainedEntry, chained, checkChain, type Link } from "../../../shared/domain/audit/chain.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";

type Entry = ChainedEntry & { readonly action: string };

const linkOf = ({ sequence, hash }: Entry): Link => ({ sequence: Number(sequence), hash });
const headOf = (entries: readonly Entry[]) => linkOf(entries.at(-1) as Entry);

/** A chain of entries with these actions. */
function chainOf(actions: readonly string[], start: Link = beginning): Entry[] {
  let head = start;
  return actions.map((action) => {
    const entry = chained({ id: `aud_${head.sequence + 1}`, action }, head, sha256);
    head = linkOf(entry);
    return entry;
  });
}

/** The same entry with another action, under its old hash, or under one that was made again for it. */
function forged({ hash, previous_hash, sequence, ...entry }: Entry, rehashed: boolean): Entry {
  const other = { ...entry, action: `${entry.action}!` };
  return rehashed
    ? chained(other, { sequence: Number(sequence) - 1, hash: previous_hash }, sha256)
    : { ...other, sequence, previous_hash, hash };
}

const chains = fc
  .array(fc.string(), { minLength: 3, maxLength: 12 })
  .chain((actions) =>
    fc.record({ entries: fc.constant(chainOf(actions)), at: fc.nat(actions.length - 1), rehashed: fc.boolean() }),
  );

function checked(entries: readonly Entry[], head?: Link) {
  return checkChain(entries, { digest: sha256, ...(head === undefined ? {} : { head }) });
}

/** A chain that was changed, and what must be said of it. */
function finds(change: (entries: readonly Entry[], at: number, rehashed: boolean) => readonly Entry[], kind: string) {
  fc.assert(
    fc.property(chains, ({ entries, at, rehashed }) => {
      const entry = entries[at] as Entry;
      const { broken } = checked(change(entries, at, rehashed), headOf(entries));
      expect(broken).toMatchObject({ kind, sequence: Number(entry.sequence), place: at + 1 });
      expect(broken?.id).toBe(kind === "removed" ? null : entry.id);
    }),
  );
}

describe("the chain of the audit", () => {
  it("is whole as it was made, from its beginning or from any entry on", () => {
    fc.assert(
      fc.property(chains, ({ entries, at }) => {
        const head = headOf(entries);
        const report = { checked: entries.length, head, broken: null };
        expect(checked(entries, head)).toEqual(report);
        const rest = checkChain(entries.slice(at + 1), { start: linkOf(entries[at] as Entry), head, digest: sha256 });
        expect(rest).toEqual({ ...report, checked: entries.length - at - 1 });
      }),
    );
  });

  it("names an entry that was changed, also under a hash that was made again", () => {
    finds((entries, at, rehashed) => entries.with(at, forged(entries[at] as Entry, rehashed)), "changed");
  });

  it("names the number of an entry that was removed, the last one by the head", () => {
    finds((entries, at) => entries.toSpliced(at, 1), "removed");
  });

  it("names an entry that was inserted, a copy or one of its own hash before the true one", () => {
    finds((entries, at) => {
      const forgery = { ...forged(entries[at] as Entry, true), id: (entries[at] as Entry).id };
      return entries.toSpliced(at, 0, forgery);
    }, "inserted");
    fc.assert(
      fc.property(chains, ({ entries, at }) => {
        const copy = entries[at] as Entry;
        const { broken } = checked(entries.toSpliced(at, 0, copy), headOf(entries));
        expect(broken).toMatchObject({ kind: "inserted", id: copy.id, place: at + 2 });
      }),
    );
  });

  it("names an entry that was appended behind the head", () => {
    fc.assert(
      fc.property(chains, ({ entries }) => {
        const head = headOf(entries);
        const more = chained({ id: "aud_more", action: "more" }, head, sha256);
        expect(checked([...entries, more], head).broken).toMatchObject({ kind: "inserted", id: "aud_more" });
      }),
    );
  });

  it("names the first of two entries that stand in each other's place", () => {
    fc.assert(
      fc.property(chains, fc.nat(), ({ entries, at }, other) => {
        const [low, high] = [at, other % entries.length].toSorted((a, b) => a - b) as [number, number];
        fc.pre(low < high);
        const swapped = entries.with(low, entries[high] as Entry).with(high, entries[low] as Entry);
        expect(checked(swapped, headOf(entries)).broken).toEqual({
          kind: "moved",
          sequence: high + 1,
          id: entries[high]?.id,
          place: low + 1,
        });
      }),
    );
  });

  it("does not end in another head than the one that is known from elsewhere", () => {
    const entries = chainOf(["a", "b", "c"]);
    const rewritten = chainOf(["a", "x", "c"]);
    expect(checked(rewritten).broken).toBeNull();
    expect(checked(rewritten, headOf(entries)).broken).toMatchObject({ kind: "changed", sequence: 3 });
  });
});

describe("canonical JSON", () => {
  it("orders members by code units at any depth and writes numbers and texts as RFC 8785 does", () => {
    // RFC 8785 3.2.2 and 3.2.3.
    const numbers = [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001];
    const string = "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/";
    const given = { numbers, string, literals: [null, true, false] };
    expect(canonicalJson(given)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const names = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };
    expect(Object.values(JSON.parse(canonicalJson(names)))).toHaveLength(7);
    expect(canonicalJson(names)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  });

  it("is one text for equal values, whatever the order of their members, and is read as the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned = JSON.parse(JSON.stringify(value), (_name, member) =>
          member !== null && typeof member === "object" && !Array.isArray(member)
            ? Object.fromEntries(Object.entries(member).toReversed())
            : member,
        );
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("refuses a number that JSON cannot hold", () => {
    expect(() => canonicalJson({ a: Number.NaN })).toThrow("finite");
  });
});
