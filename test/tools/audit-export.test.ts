import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../shared/domain/audit/canonical-json.ts";
import { chained } from "../../shared/domain/audit/chain.ts";
import { dayAfter, dayKeys } from "../../shared/domain/audit/seal.ts";
import { sha256 } from "../../shared/runtime/digest.ts";
import {
  checkedExport,
  type ExportedDay,
  exportedDays,
  firstDay,
  objectsOf,
} from "../support/builders/audit-export.ts";

const brokerage = "brk_01JD0000000000000000000000";

interface Picked {
  readonly days: readonly ExportedDay[];
  /** The day that is changed, and two places in it. */
  readonly at: number;
  readonly place: number;
  readonly other: number;
  readonly partLines: number;
}

/** Random days, of which one with two entries at least is picked. */
const picked: fc.Arbitrary<Picked> = fc
  .array(fc.nat(7), { minLength: 1, maxLength: 5 })
  .chain((counts) => fc.record({ counts: fc.constant(counts), at: fc.nat(counts.length - 1) }))
  .chain(({ counts, at }) => {
    const own = counts.with(at, Math.max(2, counts[at] ?? 0));
    const last = (own[at] ?? 2) - 1;
    const days = fc.constant(exportedDays(own));
    const places = { place: fc.nat(last), other: fc.nat(last) };
    return fc.record({ days, at: fc.constant(at), ...places, partLines: fc.integer({ min: 1, max: 4 }) });
  });

/** Changes the lines of the picked day, and expects the fault at a line of it, or behind its last one. */
async function finds(
  change: (lines: readonly string[], picked: Picked) => readonly string[],
  kinds: readonly string[],
  lineAt: (picked: Picked) => number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(picked, async (one) => {
      const { days, at, partLines } = one;
      const day = days[at] as ExportedDay;
      const lines = change(day.lines, one);
      const shown = days.with(at, { ...day, lines });
      const [report] = await checkedExport(objectsOf(brokerage, days, shown, partLines));
      const line = lineAt(one);
      const parts = Math.ceil(day.lines.length / partLines);
      const part = Math.min(parts, Math.ceil(line / partLines));
      expect(report?.fault?.key).toBe(dayKeys.part(brokerage, day.day, part));
      if (line <= lines.length) expect(report?.fault?.line).toBe(line - (part - 1) * partLines);
      expect(kinds).toContain(report?.fault?.kind);
      expect(report?.days).toBe(at);
    }),
  );
}

/** An entry with another action, under its own hashes. */
function changedLine(line: string): string {
  return canonicalJson({ ...JSON.parse(line), action: "forged" });
}

describe("an export", () => {
  it("of random days is in order, whatever its parts are", async () => {
    await fc.assert(
      fc.asyncProperty(picked, async ({ days, partLines }) => {
        const entries = days.reduce((sum, { lines }) => sum + lines.length, 0);
        const reports = await checkedExport(objectsOf(brokerage, days, days, partLines));
        expect(reports).toMatchObject([{ brokerage, days: days.length, entries, last: { day: days.at(-1)?.day } }]);
        expect(reports[0]?.fault).toBeUndefined();
      }),
    );
  });

  it("of which one line was changed is broken there", async () => {
    const at = ({ place }: Picked) => place + 1;
    const change =
      (to: (line: string) => string) =>
      (lines: readonly string[], { place }: Picked) =>
        lines.with(place, to(lines[place] ?? ""));
    await finds(change(changedLine), ["changed"], at);
    await finds(
      change((line) => line.replace("{", "{ ")),
      ["changed"],
      at,
    );
    await finds(
      change(() => "no entry"),
      ["changed"],
      at,
    );
    await finds(
      change(() => "null"),
      ["changed"],
      at,
    );
  });

  it("of which one line was changed together with its hash is broken there", async () => {
    const rehashed = (line: string) => {
      const { hash: _hash, previous_hash, sequence, ...rest } = JSON.parse(line);
      const before = { sequence: Number(sequence) - 1, hash: previous_hash };
      return canonicalJson(chained({ ...rest, action: "forged" }, before, sha256));
    };
    const change = (lines: readonly string[], { place }: Picked) => lines.with(place, rehashed(lines[place] ?? ""));
    await finds(change, ["changed"], ({ place }) => place + 1);
  });

  it("of which one line was removed is broken there", async () => {
    await finds(
      (lines, { place }) => lines.toSpliced(place, 1),
      ["removed"],
      ({ place }) => place + 1,
    );
  });

  it("into which a line was inserted is broken there, be it a stranger or a copy", async () => {
    const stranger = (lines: readonly string[], { place }: Picked) =>
      lines.toSpliced(place, 0, changedLine(lines[place] ?? ""));
    await finds(stranger, ["inserted"], ({ place }) => place + 1);
    const garbage = (lines: readonly string[], { place }: Picked) => lines.toSpliced(place, 0, "{}");
    await finds(garbage, ["inserted"], ({ place }) => place + 1);
    // A copy right before its original takes its place, and the original is the one too many.
    const copy = (lines: readonly string[], { place, other }: Picked) => lines.toSpliced(place, 0, lines[other] ?? "");
    await finds(copy, ["inserted", "moved"], ({ place, other }) => (place === other ? place + 2 : place + 1));
  });

  it("of which two lines were exchanged is broken at the first of them", async () => {
    const exchange = (lines: readonly string[], { place, other }: Picked) => {
      const second = other === place ? (place === 0 ? 1 : place - 1) : other;
      return lines.with(place, lines[second] ?? "").with(second, lines[place] ?? "");
    };
    const first = ({ place, other }: Picked) =>
      Math.min(place, other === place ? (place === 0 ? 1 : place - 1) : other);
    await finds(exchange, ["moved"], (one) => first(one) + 1);
  });
});

describe("the objects of an export", () => {
  const days = exportedDays([3, 0, 5, 2]);
  const objects = () => objectsOf(brokerage, days, days, 2);
  const dayAt = (at: number) => dayAfter(firstDay, at);
  const faultOf = async (found: ReadonlyMap<string, Uint8Array>) => (await checkedExport(found))[0]?.fault;
  const without = (...keys: string[]) => new Map([...objects()].filter(([key]) => !keys.includes(key)));
  const having = (key: string, content: Uint8Array) => new Map([...objects(), [key, content]]);
  const part = (at: number, number: number) => dayKeys.part(brokerage, dayAt(at), number);
  const manifest = (at: number) => dayKeys.manifest(brokerage, dayAt(at));

  it("are missed, each of them, and a day between two others", async () => {
    expect(await faultOf(without(part(2, 2)))).toMatchObject({ key: part(2, 2), kind: "removed" });
    expect(await faultOf(without(part(2, 3)))).toMatchObject({ key: part(2, 3), kind: "removed" });
    expect(await faultOf(without(manifest(0)))).toMatchObject({ key: manifest(0), kind: "removed" });
    expect(await faultOf(without(manifest(1)))).toMatchObject({ key: manifest(1), kind: "removed" });
  });

  it("are found where none belongs", async () => {
    const bytes = gzipSync("{}\n");
    expect(await faultOf(having(part(1, 1), bytes))).toMatchObject({ key: part(1, 1), kind: "inserted" });
    expect(await faultOf(having(part(2, 0), bytes))).toMatchObject({ key: part(2, 0), kind: "inserted" });
    const strange = `${brokerage}/${dayAt(2)}/000001.ndjson`;
    expect(await faultOf(having(strange, bytes))).toMatchObject({ key: strange, kind: "inserted" });
  });

  it("are found in another order, cut short, or no gzip", async () => {
    const [one = new Uint8Array(), two = new Uint8Array()] = [part(2, 1), part(2, 2)].map((key) => objects().get(key));
    const turned = new Map([...objects(), [part(2, 1), two], [part(2, 2), one]]);
    expect(await faultOf(turned)).toMatchObject({ key: part(2, 1), line: 1, kind: "moved" });
    expect(await faultOf(having(part(2, 1), one.slice(0, -9)))).toMatchObject({ key: part(2, 1), kind: "changed" });
    const cut = gzipSync(gunzipSync(one).subarray(0, -1));
    expect(await faultOf(having(part(2, 1), cut))).toMatchObject({ key: part(2, 1), kind: "changed" });
  });

  it("say in each manifest what no other one may", async () => {
    const text = Buffer.from(objects().get(manifest(2)) ?? []).toString();
    const other = exportedDays([3, 0, 5, 2], "other")[2]?.head.hash ?? "";
    for (const changed of [
      text.replace('"entries":5', '"entries":6'),
      text.replace('"parts":3', '"parts":-1'),
      text.replace(dayAt(2), dayAt(3)),
      text.replace(brokerage, "brk_01JD0000000000000000000001"),
      text.replace("{", "{ "),
      text.replace('{"', '{"added":1,"'),
      text.trim(),
      text.replace(/"sequence":"3"/, '"sequence":"4"'),
      text.replaceAll(days[2]?.start.hash ?? "", other),
    ]) {
      const fault = await faultOf(having(manifest(2), Buffer.from(changed)));
      expect([changed, fault]).toEqual([changed, { key: manifest(2), kind: "changed", what: expect.any(String) }]);
    }
    const head = text.replaceAll(days[2]?.head.hash ?? "", other);
    expect(await faultOf(having(manifest(2), Buffer.from(head)))).toMatchObject({ key: part(2, 3), kind: "changed" });
  });

  it("of several brokerages are checked each by themselves, and a last day may be in the making", async () => {
    const second = "brk_01JD0000000000000000000009";
    const both = new Map([...without(part(2, 2)), ...objectsOf(second, days, days, 3)]);
    both.delete(dayKeys.manifest(second, dayAt(3)));
    expect(await checkedExport(both)).toMatchObject([
      { brokerage, days: 2, fault: { kind: "removed" } },
      { brokerage: second, days: 3, entries: 8, unsealed: dayAt(3) },
    ]);
  });
});
