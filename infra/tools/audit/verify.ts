import { gunzipSync, inflateRawSync } from "node:zlib";
import { daysAfter } from "../../../shared/calendar.ts";
import { continues, DayCheck, dayIn, type ExportFault } from "../../../shared/domain/audit/export-check.ts";
import { dayKeys, type SealedDay } from "../../../shared/domain/audit/seal.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { type DayObjects, daysOf, type ExportSource } from "./days.ts";

/** Result of the check of one brokerage. */
export interface BrokerageReport {
  readonly brokerage: string;
  /** Days that are whole and linked, up to the first fault. */
  readonly days: number;
  readonly entries: number;
  readonly first?: SealedDay;
  readonly last?: SealedDay;
  /** The first fault of the days, of the history of the objects, and the first object that none of the days has. */
  readonly faults: readonly ExportFault[];
  /** A day that is being written and has not ended. */
  readonly unsealed?: string;
}

/** Options of a check. */
interface VerifyOptions {
  readonly prefix: string;
  /** The days must reach this one, `2026-11-23`. */
  readonly until: string;
  /** Told after each part that was read. */
  readonly progress: (brokerage: string, day: string, entries: number) => void;
  /** Told every sealed day that is in order. */
  readonly sealed: (day: SealedDay) => void;
  /** Further faults by brokerage: of the history of the objects. */
  readonly further?: ReadonlyMap<string, ExportFault>;
}

/** Parts are no larger (`limits.audit.part_bytes` and a line); what unpacks to more was not written by the service. */
const maxPartBytes = 64 * 1024 * 1024;

/** Checks the export of each brokerage, one after the other and day by day, up to the first fault of its days. */
export async function* verifyExport(source: ExportSource, options: VerifyOptions): AsyncGenerator<BrokerageReport> {
  const strange = new Map<string, ExportFault>();
  const further = new Map(options.further);
  const withOthers = (report: BrokerageReport): BrokerageReport => {
    const { brokerage, faults } = report;
    const others = [further, strange].flatMap((each) => each.get(brokerage) ?? []);
    for (const each of [further, strange]) each.delete(brokerage);
    return { ...report, faults: [...faults, ...others] };
  };
  let chain: BrokerageCheck | undefined;
  for await (const found of daysOf(source, options.prefix)) {
    if ("strange" in found) {
      const { brokerage, strange: key } = found;
      const what = "the object is none that the service writes";
      if (!strange.has(brokerage)) strange.set(brokerage, { key, kind: "inserted", what });
      continue;
    }
    if (chain?.brokerage !== found.brokerage) {
      if (chain !== undefined) yield withOthers(chain.end());
      chain = new BrokerageCheck(found.brokerage, source, options);
    }
    await chain.add(found);
  }
  if (chain !== undefined) yield withOthers(chain.end());
  for (const brokerage of new Set([...further.keys(), ...strange.keys()])) {
    yield withOthers({ brokerage, days: 0, entries: 0, faults: [] });
  }
}

/** The days of one brokerage, checked in their order. */
class BrokerageCheck {
  readonly brokerage: string;
  private readonly source: ExportSource;
  private readonly options: VerifyOptions;
  private days = 0;
  private entries = 0;
  private first: SealedDay | undefined;
  private last: SealedDay | undefined;
  private fault: ExportFault | undefined;
  private unsealed: string | undefined;

  constructor(brokerage: string, source: ExportSource, options: VerifyOptions) {
    this.brokerage = brokerage;
    this.source = source;
    this.options = options;
  }

  /** The result, after the last day. */
  end(): BrokerageReport {
    const { brokerage, days, entries, first, last, unsealed } = this;
    const fault = this.fault ?? this.faultAfter();
    return {
      ...{ brokerage, days, entries, faults: fault === undefined ? [] : [fault] },
      ...(first && { first }),
      ...(last && { last }),
      ...(unsealed !== undefined && { unsealed }),
    };
  }

  async add(objects: DayObjects): Promise<void> {
    if (this.fault !== undefined) return;
    this.fault = this.faultBefore(objects);
    if (this.fault !== undefined) return;
    if (!objects.hasManifest) {
      this.unsealed = objects.day;
      return;
    }
    const found = await this.check(objects);
    if ("kind" in found) {
      this.fault = found;
      return;
    }
    this.first ??= found;
    this.last = found;
    this.days += 1;
    this.options.sealed(found);
  }

  /** A day before this one that is missing. */
  private faultBefore({ day }: DayObjects): ExportFault | undefined {
    const { unsealed, last } = this;
    const expected = last && daysAfter(last.day, 1);
    if (unsealed === undefined && (expected === undefined || expected === day)) return undefined;
    return this.missing("and later days are there");
  }

  /** The fault at the end: each day that must be sealed by now and is not. */
  private faultAfter(): ExportFault | undefined {
    const { last, unsealed } = this;
    const { until } = this.options;
    const expected = unsealed ?? (last && daysAfter(last.day, 1));
    return expected !== undefined && expected <= until ? this.missing(`and ${until} must be there`) : undefined;
  }

  /** The day that should come next, or the manifest where its parts are there. */
  private missing(why: string): ExportFault {
    const { brokerage, unsealed, last } = this;
    const day = unsealed ?? daysAfter((last as SealedDay).day, 1);
    const what = `the ${unsealed === undefined ? "day" : "manifest of"} ${day} is missing, ${why}`;
    return { key: dayKeys.manifest(brokerage, day), kind: "removed", what };
  }

  private async check({ day, parts }: DayObjects): Promise<SealedDay | ExportFault> {
    const { brokerage, source, last } = this;
    const key = dayKeys.manifest(brokerage, day);
    const sealed = dayIn(textIn(await source.read(key)) ?? "", brokerage, day);
    if (sealed === undefined) return { key, kind: "changed", what: "the manifest is not as the service writes it" };
    const zeros = { sequence: "0", hash: "0".repeat(64) };
    const isLinked = last === undefined ? sealed.start.sequence !== "0" || continues(sealed, zeros) : undefined;
    if (!(isLinked ?? continues(sealed, (last as SealedDay).head))) {
      return { key, kind: "changed", what: `${day} does not begin at the head of the day before` };
    }
    return partFault(brokerage, sealed, parts) ?? (await this.faultInside(sealed)) ?? sealed;
  }

  private async faultInside(sealed: SealedDay): Promise<ExportFault | undefined> {
    const { brokerage, source } = this;
    const check = new DayCheck(sealed, { until: this.options.until, digest: sha256 });
    let empty: ExportFault | undefined;
    for (let part = 1; part <= sealed.parts; part += 1) {
      const key = dayKeys.part(brokerage, sealed.day, part);
      const lines = linesOf(await source.read(key));
      if (lines === undefined) return { key, kind: "changed", what: "the object is no gzip of whole lines" };
      if (lines.length === 0) empty ??= { key, kind: "changed", what: "the object is empty" };
      if (!check.add(key, lines)) break;
      this.entries += lines.length;
      this.options.progress(brokerage, sealed.day, this.entries);
    }
    // Where the lines of a part were removed, the entries name the first of them.
    return check.end() ?? empty;
  }
}

/** A part that the manifest names and that is not there, or the other way round. */
function partFault(brokerage: string, { day, parts: count }: SealedDay, parts: readonly number[]) {
  const keyOf = (part: number) => dayKeys.part(brokerage, day, part);
  for (let part = 1; part <= count; part += 1) {
    if (!parts.includes(part)) {
      return { key: keyOf(part), kind: "removed", what: `part ${part} of ${day} is missing` } as const;
    }
  }
  const extra = parts.find((part) => part < 1 || part > count);
  if (extra === undefined) return undefined;
  return { key: keyOf(extra), kind: "inserted", what: `part ${extra} is none of ${day}` } as const;
}

/** The lines of a part; undefined where it is not one gzip of lines that all end, and nothing else. */
function linesOf(bytes: Uint8Array): string[] | undefined {
  const content = unpacked(bytes);
  const text = content && textIn(content);
  if (text === "") return [];
  return text?.endsWith("\n") ? text.slice(0, -1).split("\n") : undefined;
}

/** Bytes of a gzip before and behind its deflated content, where its header has no optional member (RFC 1952). */
const gzipHeaderBytes = 10;
const gzipTrailerBytes = 8;

/**
 * The content of a gzip of one member. Bytes behind that member are no part of its checksum: the published decoder
 * leaves them out, or takes them for content.
 */
function unpacked(bytes: Uint8Array): Uint8Array | undefined {
  const options = { maxOutputLength: maxPartBytes, info: true };
  try {
    const content = gunzipSync(bytes, { maxOutputLength: maxPartBytes });
    // With `info` the result is another one than its published type says.
    const { engine } = inflateRawSync(bytes.subarray(gzipHeaderBytes), options) as unknown as {
      readonly engine: { readonly bytesWritten: number };
    };
    const used = gzipHeaderBytes + engine.bytesWritten + gzipTrailerBytes;
    const [, , , flags] = bytes;
    return flags === 0 && used === bytes.length ? content : undefined;
  } catch {
    return undefined;
  }
}

/** The text of bytes in UTF-8; undefined where they are not, since a replaced character would hide what was changed. */
function textIn(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
