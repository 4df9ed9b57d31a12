import { gunzipSync, gzipSync } from "node:zlib";
import { canonicalJson } from "../domain/audit/canonical-json.ts";
import type { Link } from "../domain/audit/chain.ts";
import {
  type AuditSeal,
  closeDay,
  dayKeys,
  endsDay,
  lastDayOver,
  newSeal,
  notePart,
  type OpenDay,
  openDay,
  sealedDay,
} from "../domain/audit/seal.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { putObjectOnce, readObject } from "../runtime/objects.ts";
import { outboxOf } from "../table/audit/announcement.ts";
import { readable } from "../table/audit-entry.ts";
import { entriesBetween, oldestPage } from "../table/audit-pages.ts";
import { onEveryBrokerage } from "../table/brokerages.ts";
import { systemContext } from "../table/context.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { auditSeals } from "../table/entities.ts";
import { changeVersion, putOnce } from "../table/items.ts";
import { eventCounter } from "../table/sequences.ts";
import { findAll } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { updateItem } from "../table/write.ts";

type OpenSeal = AuditSeal & { readonly open: OpenDay };

/**
 * Seals the days of every brokerage that are over, oldest first: writes their entries to the locked bucket and
 * announces the head of each. The next run seals the days that there was no time for. Returns how many days it sealed,
 * and how many brokerages it failed with.
 */
export function sealDays(hasTime: () => boolean): Promise<SweepResult> {
  return onEveryBrokerage(hasTime, (tenants) => sealTenants(tenants, hasTime));
}

/** Seals the days of these brokerages, some at a time. */
async function sealTenants(tenants: readonly string[], hasTime: () => boolean): Promise<SweepResult> {
  const last = lastDayOver(nowIso(), limits.audit.sealed_after_seconds);
  const known = new Map((await findAll(auditSeals, tenants.map(auditSeals.key))).map((seal) => [seal.tenant_id, seal]));
  return forEachOf(
    tenants.filter((id) => (known.get(id)?.day ?? "") < last),
    {
      parallel: limits.audit.sealed_in_parallel,
      run: async (id) => (hasTime() ? sealTenant(known.get(id) ?? (await begin(id, last)), last, hasTime) : 0),
      report: (tenant_id, error) =>
        log.error("The audit of a brokerage could not be sealed.", { tenant_id, ...causeOf(error) }),
    },
  );
}

async function begin(tenant: string, last: string): Promise<AuditSeal> {
  const page = await oldestPage(tenant);
  const oldest = page && {
    at: readable(page)[0]?.at ?? "",
    before: { sequence: page.first - 1, hash: Buffer.from(page.previous_hash).toString("hex") },
  };
  const seal = newSeal(oldest, last, systemContext(tenant, "audit_seal"));
  return (await putOnce(auditSeals, seal)) ?? seal;
}

/** How many days of a brokerage were sealed. */
async function sealTenant(from: AuditSeal, last: string, hasTime: () => boolean): Promise<number> {
  let seal: AuditSeal | undefined = from;
  let done = 0;
  while (seal !== undefined && seal.day < last && hasTime()) {
    const open = await openSealOf(seal);
    seal = open && (await sealDay(open, hasTime));
    if (seal !== undefined) done += 1;
  }
  return done;
}

/**
 * The seal with an open day. Where the chain ended then is kept before an object is written: a run that takes the day
 * up again writes the same objects, whatever was chained meanwhile. Undefined when another run is at it.
 */
async function openSealOf(seal: AuditSeal): Promise<OpenSeal | undefined> {
  if (seal.open !== undefined) return seal as OpenSeal;
  const { audit } = await eventCounter(seal.tenant_id);
  const open = openDay(seal, audit, nowIso());
  return (await changeVersion(auditSeals, seal, open)) ? open : undefined;
}

/** Writes the open day from where it is and closes it. Undefined when the time is over or another run is at it. */
async function sealDay(from: OpenSeal, hasTime: () => boolean): Promise<AuditSeal | undefined> {
  let seal = from;
  let part = new Part(seal.open.written);
  let head: Link = seal.open.cut;
  for await (const entry of entriesBetween(seal.tenant_id, seal.open.written.sequence, seal.open.cut.sequence)) {
    if (endsDay(seal.open, entry.at)) {
      head = part.last;
      break;
    }
    if (part.isFull) {
      await putPart(seal, part);
      const noted = notePart(seal, part.last, nowIso());
      if (!(await changeVersion(auditSeals, seal, noted)) || !hasTime()) return undefined;
      [seal, part] = [noted, new Part(part.last)];
    }
    part.add(`${canonicalJson(entry)}\n`, { sequence: Number(entry.sequence), hash: entry.hash });
  }
  if (!part.isEmpty) await putPart(seal, part);
  return close(seal, head, seal.open.parts + (part.isEmpty ? 0 : 1));
}

/** Writes what the day says of itself, then closes and announces it in one transaction. */
async function close(seal: OpenSeal, head: Link, parts: number): Promise<AuditSeal | undefined> {
  const sealed = sealedDay(seal, head, parts);
  const manifest = Buffer.from(`${canonicalJson(sealed)}\n`);
  const key = dayKeys.manifest(seal.tenant_id, sealed.day);
  await putSame(key, manifest, "application/json", (found) => manifest.equals(found));
  const context = systemContext(seal.tenant_id, "audit_seal");
  const closed = closeDay(seal, sealed, context.now);
  const items = [updateItem(auditSeals, seal, closed.seal), ...outboxOf([closed.event], context)];
  const outcome = await transactOnce(items);
  if (outcome.ok) return closed.seal;
  if (outcome.codes.includes("ConditionalCheckFailed")) return undefined;
  throw outcome.error;
}

async function putPart({ tenant_id, open }: OpenSeal, part: Part): Promise<void> {
  const lines = part.content();
  const key = dayKeys.part(tenant_id, open.day, open.parts + 1);
  // Another version of zlib may compress otherwise, so what is compared is what was compressed.
  await putSame(key, gzipSync(lines), "application/gzip", (found) => lines.equals(gunzipSync(found)));
}

/**
 * Puts an object, or finds that a run before has put the same one.
 * @throws Error when another one is there
 */
async function putSame(
  key: string,
  body: Uint8Array,
  content_type: string,
  isSame: (found: Uint8Array) => boolean,
): Promise<void> {
  const place = { bucket: env.auditBucketName, key };
  if (await putObjectOnce(place, body, content_type)) return;
  if (!isSame(await readObject(place))) throw new Error(`The object ${key} is there and is another one.`);
}

/** Lines of one object. Only one of them is in memory for each brokerage that is being sealed. */
class Part {
  /** The last entry of it, or the one before it while it is empty. */
  last: Link;
  private readonly lines: Buffer[] = [];
  private bytes = 0;

  constructor(before: Link) {
    this.last = before;
  }

  get isEmpty(): boolean {
    return this.lines.length === 0;
  }

  get isFull(): boolean {
    return this.bytes >= limits.audit.part_bytes;
  }

  add(line: string, link: Link): void {
    const bytes = Buffer.from(line);
    this.lines.push(bytes);
    this.bytes += bytes.length;
    this.last = link;
  }

  content(): Buffer {
    return Buffer.concat(this.lines);
  }
}
