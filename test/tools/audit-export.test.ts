import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { daysAfter } from "../../shared/calendar.ts";
import { canonicalJson } from "../../shared/domain/audit/canonical-json.ts";
import { chained } from "../../shared/domain/audit/chain.ts";
import { dayKeys } from "../../shared/domain/audit/seal.ts";
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
      expect(report?.faults[0]?.key).toBe(dayKeys.part(brokerage, day.day, part));
      if (line <= lines.length) expect(report?.faults[0]?.line).toBe(line - (part - 1) * partLines);
      expect(kinds).toContain(report?.faults[0]?.kind);
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
        const reports = await checkedExport(objectsOf(brokerage, days, days, partLines), days.at(-1)?.day);
        expect(reports).toMatchObject([{ brokerage, days: days.length, entries, last: { day: days.at(-1)?.day } }]);
        expect(reports[0]?.faults).toEqual([]);
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
  const dayAt = (at: number) => daysAfter(firstDay, at);
  const faultOf = async (found: ReadonlyMap<string, Uint8Array>) => (await checkedExport(found))[0]?.faults[0];
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

  it("are not taken where a part holds more or other bytes than the gzip of its lines", async () => {
    const one = objects().get(part(2, 1)) ?? new Uint8Array();
    const [first, ...rest] = gunzipSync(one)
      .toString()
      .split(/(?<=\n)/);
    const members = [gzipSync(first ?? ""), gzipSync(rest.join(""))];
    // A comment in the header, which no checksum covers.
    const commented = Buffer.concat([
      one.slice(0, 3),
      Buffer.from([16]),
      one.slice(4, 10),
      Buffer.from("note\0"),
      one.slice(10),
    ]);
    const flagged = Buffer.from(one).fill(1, 3, 4);
    const behind = Buffer.concat([one, Buffer.from("\0\0behind")]);
    for (const bytes of [behind, Buffer.concat(members), commented, flagged]) {
      expect(gunzipSync(bytes)).toEqual(gunzipSync(one));
      expect(await faultOf(having(part(2, 1), bytes))).toMatchObject({ key: part(2, 1), kind: "changed" });
    }
    const marked = gzipSync(Buffer.concat([Buffer.from("\uFEFF"), gunzipSync(one)]));
    expect(await faultOf(having(part(2, 1), marked))).toMatchObject({ key: part(2, 1), line: 1, kind: "changed" });
    const mark = Buffer.concat([Buffer.from("\uFEFF"), objects().get(manifest(2)) ?? new Uint8Array()]);
    expect(await faultOf(having(manifest(2), mark))).toMatchObject({ key: manifest(2), kind: "changed" });
  });

  it("are not taken where a byte was changed that is read as the character in its place", async () => {
    const replaced = exportedDays([1], "\uFFFD");
    const found = objectsOf(brokerage, replaced, replaced, 1);
    expect(await faultOf(found)).toBeUndefined();
    const text = gunzipSync(found.get(part(0, 1)) ?? new Uint8Array());
    const at = text.indexOf("\uFFFD");
    const forged = Buffer.concat([text.subarray(0, at), Buffer.from([0xff]), text.subarray(at + 3)]);
    expect(forged.toString()).toBe(text.toString());
    found.set(part(0, 1), gzipSync(forged));
    expect(await faultOf(found)).toMatchObject({ key: part(0, 1), kind: "changed" });
  });

  it("are not taken where an empty part was added and the manifest counts it", async () => {
    const text = Buffer.from(objects().get(manifest(2)) ?? []).toString();
    const found = having(part(2, 4), gzipSync(""));
    found.set(manifest(2), Buffer.from(text.replace('"parts":3', '"parts":4')));
    expect(await faultOf(found)).toMatchObject({ key: part(2, 4), kind: "changed" });
  });

  it("must reach the day until which they are wanted", async () => {
    const reaching = async (found: ReadonlyMap<string, Uint8Array>, at: number) =>
      (await checkedExport(found, dayAt(at)))[0]?.faults;
    expect(await reaching(objects(), 3)).toEqual([]);
    expect(await reaching(objects(), 4)).toMatchObject([{ key: manifest(4), kind: "removed" }]);
    expect(await reaching(without(manifest(3)), 2)).toEqual([]);
    expect(await reaching(without(manifest(3)), 3)).toMatchObject([{ key: manifest(3), kind: "removed" }]);
    const none = new Map([...objects()].filter(([key]) => !key.endsWith("manifest.json")));
    expect(await reaching(none, 3)).toMatchObject([{ key: manifest(0), kind: "removed" }]);
    const cut = new Map([...objects()].filter(([key]) => !key.includes(dayAt(2)) && !key.includes(dayAt(3))));
    expect(await reaching(cut, 1)).toEqual([]);
    expect(await reaching(cut, 3)).toMatchObject([{ key: manifest(2), kind: "removed" }]);
  });

  it("hold no entry of a later day that is over, and those of an earlier one or of a wrong clock", async () => {
    const [one, two, three, four] = days as [ExportedDay, ExportedDay, ExportedDay, ExportedDay];
    const lines = [...one.lines, ...three.lines];
    const early = [
      { ...one, head: three.head, lines },
      { ...two, start: three.head, head: three.head },
    ];
    const rest = [{ ...three, start: three.head, lines: [] }, four];
    const moved = [...early, ...rest];
    const kept = objectsOf(brokerage, moved, moved, 2);
    expect(await checkedExport(kept, dayAt(3))).toMatchObject([
      { days: 0, faults: [{ key: part(0, 2), line: 2, kind: "moved", what: expect.stringContaining("entry 4 ") }] },
    ]);
    // As long as the day of an entry is not over, only a wrong clock can have given it that time.
    expect(await checkedExport(kept, dayAt(1))).toMatchObject([{ days: 4, faults: [] }]);
    const late = [{ ...one, head: one.start, lines: [] }, { ...two, start: one.start, lines: one.lines }, three, four];
    expect(await checkedExport(objectsOf(brokerage, late, late, 2), dayAt(3))).toMatchObject([{ days: 4, faults: [] }]);
  });

  it("that are hostile end no check, and hide no fault of the others", async () => {
    const second = "brk_01JD0000000000000000000009";
    const nested = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const link = `{"hash":{"toString":1},"sequence":{"toString":1}}`;
    const lines = [
      ...[1000, 2000, 3000, 20_000].map((depth) => `{"at":${"[".repeat(depth)}${"]".repeat(depth)}}`),
      `{"hash":"","id":{"toString":1},"previous_hash":"","sequence":{"toString":1}}`,
      `{"hash":{},"id":"aud_1","previous_hash":{"toString":1},"sequence":"1"}`,
    ];
    const contents: [key: string, content: Uint8Array][] = [
      ...lines.map((line): [string, Uint8Array] => [part(0, 1), gzipSync(`${line}\n`)]),
      [manifest(0), Buffer.from(`{"object":${nested}}\n`)],
      [
        manifest(0),
        Buffer.from((objects().get(manifest(0)) ?? "").toString().replace(/"start":\{.*?\}/, `"start":${link}`)),
      ],
    ];
    for (const [key, content] of contents) {
      const found = new Map([...having(key, content), ...objectsOf(second, days, days, 2)]);
      found.delete(dayKeys.part(second, dayAt(2), 1));
      expect(await checkedExport(found)).toMatchObject([
        { brokerage, faults: [{ key, kind: "changed" }] },
        { brokerage: second, faults: [{ kind: "removed" }] },
      ]);
    }
  });

  it("of no day of the calendar are named next to the first fault of the days", async () => {
    for (const day of ["0000-00-00", "2026-02-30", "2026-13-01"]) {
      const strange = dayKeys.manifest(brokerage, day);
      const bytes = objects().get(manifest(0)) ?? new Uint8Array();
      const inserted = { key: strange, kind: "inserted" };
      expect(await checkedExport(having(strange, bytes))).toMatchObject([{ brokerage, days: 4, faults: [inserted] }]);
      const both = new Map([...without(part(2, 2)), [strange, bytes] as const]);
      expect(await checkedExport(both)).toMatchObject([{ days: 2, faults: [{ key: part(2, 2) }, inserted] }]);
    }
    const [near, far] = [`${brokerage}!/x`, "readme"];
    const bytes = new Uint8Array();
    expect(await checkedExport(new Map([...objects(), [brokerage, bytes], [near, bytes], [far, bytes]]))).toMatchObject(
      [
        { brokerage, days: 4, faults: [{ key: brokerage }] },
        { brokerage: `${brokerage}!`, days: 0, faults: [{ key: near }] },
        { brokerage: far, days: 0, faults: [{ key: far }] },
      ],
    );
  });

  it("of several brokerages are checked each by themselves, and a last day may be in the making", async () => {
    const second = "brk_01JD0000000000000000000009";
    const both = new Map([...without(part(2, 2)), ...objectsOf(second, days, days, 3)]);
    both.delete(dayKeys.manifest(second, dayAt(3)));
    expect(await checkedExport(both)).toMatchObject([
      { brokerage, days: 2, faults: [{ kind: "removed" }] },
      { brokerage: second, days: 3, entries: 8, unsealed: dayAt(3) },
    ]);
  });
});
