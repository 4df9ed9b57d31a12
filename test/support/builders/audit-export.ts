import { gzipSync } from "node:zlib";
import type { ExportSource } from "../../../infra/tools/audit/days.ts";
import { type BrokerageReport, verifyExport } from "../../../infra/tools/audit/verify.ts";
import { daysAfter } from "../../../shared/calendar.ts";
import { canonicalJson } from "../../../shared/domain/audit/canonical-json.ts";
import { beginning, chained, type Link } from "../../../shared/domain/audit/chain.ts";
import { dayKeys, type SealedDay, sealedDay } from "../../../shared/domain/audit/seal.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";

/** The first day of every export that is made here, in UTC. */
export const firstDay = "2026-02-27";

/** A day of an export as its lines, and how many of them an object holds. */
export interface ExportedDay {
  readonly day: string;
  readonly start: Link;
  readonly head: Link;
  readonly lines: readonly string[];
}

/** Days of a brokerage one after the other, with so many entries each. */
export function exportedDays(counts: readonly number[], word = "made"): ExportedDay[] {
  let head: Link = beginning;
  return counts.map((count, at) => {
    const day = daysAfter(firstDay, at);
    const start = head;
    const lines = Array.from({ length: count }, (_, place) => {
      const members = { id: `aud_${head.sequence + 1}`, at: `${day}T10:00:00.000Z`, action: `${word}_${place}` };
      const entry = chained(members, head, sha256);
      head = { sequence: Number(entry.sequence), hash: entry.hash };
      return canonicalJson(entry);
    });
    return { day, start, head, lines };
  });
}

/** The objects of an export, so many lines to a part; a day of `shown` is written with the manifest of `sealed`. */
export function objectsOf(
  brokerage: string,
  sealed: readonly ExportedDay[],
  shown: readonly ExportedDay[],
  partLines: number,
): Map<string, Uint8Array> {
  const objects = new Map<string, Uint8Array>();
  for (const [at, { day, lines }] of shown.entries()) {
    const own = sealed[at] as ExportedDay;
    const parts = Math.ceil(own.lines.length / partLines);
    for (let part = 1; part <= parts; part += 1) {
      // Additions are in the last part.
      const end = part === parts ? lines.length : part * partLines;
      const text = lines.slice((part - 1) * partLines, end).map((line) => `${line}\n`);
      objects.set(dayKeys.part(brokerage, day, part), gzipSync(text.join("")));
    }
    const seal = { id: "", tenant_id: brokerage, day, ...own.start, created_at: "", updated_at: "", version: 1 };
    objects.set(dayKeys.manifest(brokerage, day), Buffer.from(`${canonicalJson(sealedDay(seal, own.head, parts))}\n`));
  }
  return objects;
}

/** Objects in memory, as they lie in a bucket. */
function memorySource(objects: ReadonlyMap<string, Uint8Array>): ExportSource {
  return {
    name: "memory",
    async *keys(prefix) {
      yield* [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted((a, b) => (a < b ? -1 : 1));
    },
    read: async (key) => objects.get(key) ?? new Uint8Array(),
  };
}

/** Verdict of the check of an export on each brokerage, whose days must reach the first one, or a later one. */
export async function checkedExport(
  objects: ReadonlyMap<string, Uint8Array>,
  until = firstDay,
): Promise<BrokerageReport[]> {
  return (await reportsOf(memorySource(objects), "", until)).reports;
}

/** Verdict of the check on the brokerages whose keys begin like this, and the days that it finds in order. */
export async function reportsOf(source: ExportSource, prefix: string, until: string) {
  const sealed: string[] = [];
  const reports: BrokerageReport[] = [];
  const options = { prefix, until, progress: () => undefined, sealed: ({ day }: SealedDay) => void sealed.push(day) };
  for await (const report of verifyExport(source, options)) reports.push(report);
  return { reports, sealed };
}
