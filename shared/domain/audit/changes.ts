import { limits } from "../../limits.ts";
import type { AuditedChange, AuditedResource, Members } from "../kernel/audited.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { Digest } from "./chain.ts";

/** The part of an event that its audit entry is made from: the resource, its members and those that changed. */
export interface EventChange {
  readonly resource: AuditedResource & { readonly version: number };
  readonly data: { readonly object: Members; readonly previous?: Members };
}

/** The changes of each resource in the events of a commit, in their order. */
export function changesOf(events: readonly EventChange[]): AuditedChange[] {
  const byResource = new Map<string, EventChange[]>();
  for (const event of events) {
    const name = `${event.resource.type} ${event.resource.id}`;
    byResource.set(name, [...(byResource.get(name) ?? []), event]);
  }
  return [...byResource.values()].map(changeOf);
}

function changeOf(events: readonly EventChange[]): AuditedChange {
  const { resource, data: first } = events[0] as EventChange;
  const { object } = (events.at(-1) as EventChange).data;
  const isNew = resource.version === 1 && first.previous === undefined;
  // Of several events about a member, the first one carries its value before all of them.
  const before: Members = Object.assign({}, ...events.toReversed().map(({ data }) => data.previous ?? {}));
  const { type, id } = resource;
  if (isNew || Object.keys(before).length === 0)
    return { resource: { type, id }, before: null, after: auditedMembers(object) };
  const after = Object.fromEntries(Object.keys(before).map((name) => [name, object[name] ?? null]));
  return { resource: { type, id }, before, after };
}

/** A resource as the audit keeps it: without what follows from its identifier, and without members that are null. */
export function auditedMembers(object: Members): Members {
  return Object.fromEntries(
    Object.entries(object).filter(([name, value]) => value !== null && !["_links", "object", "id"].includes(name)),
  );
}

/** A value without its members of these names, at any depth. */
export function withoutMembers(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutMembers(each, names));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !names.has(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutMembers(member, names)]));
}

/** Changes that fit an entry: of those that do not, the hashes of the largest states tell what these were. */
export function bounded(
  changes: readonly AuditedChange[],
  digest: Digest,
  max_bytes: number = limits.audit.max_changes_bytes,
): readonly AuditedChange[] {
  const hashOf = (state: Members) => ({ sha256: digest(canonicalJson(state)) });
  const hashBytes = bytesOf({ sha256: digest("") });
  // Measured once each: the largest commits have megabytes of them.
  const largestFirst = changes
    .flatMap(({ before, after }) => (before === null ? [after] : [before, after]))
    .map((state) => ({ state, bytes: bytesOf(state) }))
    .toSorted((a, b) => b.bytes - a.bytes);
  const hashed = new Set<Members>();
  let bytes = bytesOf(changes);
  for (const { state, bytes: own } of largestFirst) {
    if (bytes <= max_bytes || own <= hashBytes) break;
    hashed.add(state);
    bytes += hashBytes - own;
  }
  return changes.map(({ resource, before, after }) => ({
    resource,
    before: before !== null && hashed.has(before) ? hashOf(before) : before,
    after: hashed.has(after) ? hashOf(after) : after,
  }));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
