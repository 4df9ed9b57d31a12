import { gunzipSync } from "node:zlib";
import { continues, DayCheck, dayIn, type ExportFault } from "../../../shared/domain/audit/export-check.ts";
import { dayAfter, dayKeys, type SealedDay } from "../../../shared/domain/audit/seal.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { type DayObjects, daysOf, type ExportSource } from "./days.ts";

/** What the check of one brokerage came to. */
export interface BrokerageReport {
  readonly brokerage: string;
  /** Days that are whole and linked, up to the first fault. */
  readonly days: number;
  readonly entries: number;
  readonly first?: SealedDay;
  readonly last?: SealedDay;
  readonly fault?: ExportFault;
  /** A day that is being written and has not ended. */
  readonly unsealed?: string;
}

/** What the caller may want of a check. */
interface VerifyOptions {
  readonly prefix: string;
  /** Told after each part that was read. */
  readonly progress: (brokerage: string, day: string, entries: number) => void;
  /** Told every sealed day that is in order. */
  readonly sealed: (day: SealedDay) => void;
}

/** Parts are no larger (`limits.audit.part_bytes` and a line); what unpacks to more was not written by the service. */
const maxPartBytes = 64 * 1024 * 1024;

/** Checks the export of each brokerage, one after the other and day by day, up to its first fault. */
export async function* verifyExport(source: ExportSource, options: VerifyOptions): AsyncGenerator<BrokerageReport> {
  let chain: BrokerageCheck | undefined;
  for await (const day of daysOf(source, options.prefix)) {
    if (chain?.brokerage !== day.brokerage) {
      if (chain !== undefined) yield chain.report;
      chain = new BrokerageCheck(day.brokerage, source, options);
    }
    await chain.add(day);
  }
  if (chain !== undefined) yield chain.report;
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

  get report(): BrokerageReport {
    const { brokerage, days, entries, first, last, fault, unsealed } = this;
    return {
      ...{ brokerage, days, entries },
      ...(first && { first }),
      ...(last && { last }),
      ...(fault && { fault }),
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

  /** What is wrong before the day itself is read: strange objects, or a day before it that is missing. */
  private faultBefore({ day, strange: [strange] }: DayObjects): ExportFault | undefined {
    const { brokerage, unsealed, last } = this;
    if (strange !== undefined) {
      return { key: strange, kind: "inserted", what: "the object is none that the service writes" };
    }
    if (unsealed !== undefined) {
      const key = dayKeys.manifest(brokerage, unsealed);
      return { key, kind: "removed", what: `the manifest of ${unsealed} is missing, and later days are there` };
    }
    const expected = last && dayAfter(last.day);
    if (expected === undefined || expected === day) return undefined;
    const key = dayKeys.manifest(brokerage, expected);
    return { key, kind: "removed", what: `the day ${expected} is missing, and later days are there` };
  }

  private async check({ day, parts }: DayObjects): Promise<SealedDay | ExportFault> {
    const { brokerage, source, last } = this;
    const key = dayKeys.manifest(brokerage, day);
    const sealed = dayIn(Buffer.from(await source.read(key)).toString(), brokerage, day);
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
    const check = new DayCheck(sealed, sha256);
    for (let part = 1; part <= sealed.parts; part += 1) {
      const key = dayKeys.part(brokerage, sealed.day, part);
      const lines = linesOf(await source.read(key));
      if (lines === undefined) return { key, kind: "changed", what: "the object is no gzip of whole lines" };
      if (!check.add(key, lines)) break;
      this.entries += lines.length;
      this.options.progress(brokerage, sealed.day, this.entries);
    }
    return check.end();
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

/** The lines of a part; undefined where it is not the gzip of lines that all end. */
function linesOf(bytes: Uint8Array): string[] | undefined {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: maxPartBytes }).toString();
    if (text === "") return [];
    return text.endsWith("\n") ? text.slice(0, -1).split("\n") : undefined;
  } catch {
    return undefined;
  }
}
