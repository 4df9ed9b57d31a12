import { auditedMembers, withoutMembers } from "../domain/audit/changes.ts";
import type { AuditedChange, AuditedResource } from "../domain/kernel/audited.ts";
import { sameValue } from "../domain/kernel/equality.ts";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { secretMembers, unauditedMembers } from "../schema/audit/confidential.ts";
import type { Committable } from "../table/store.ts";
import { clipped } from "../text.ts";
import { type HeaderHolder, headerOf } from "./body.ts";

type Members = Readonly<Record<string, unknown>>;

/** Audit record of a command whose commit has no event: the resource that it shows, and its changes. */
export interface ShownChange {
  readonly resource: AuditedResource;
  readonly changes: readonly AuditedChange[];
}

/** The program that calls, as far as the audit keeps what it says of itself; null when it says nothing. */
export function userAgentOf(event: Pick<HeaderHolder, "headers">): string | null {
  const agent = headerOf(event, "User-Agent");
  return agent === undefined ? null : clipped(agent, limits.audit.user_agent_max_characters);
}

/**
 * The changes of a command, by the representation that it answers with and the version of the resource before. Only
 * members of the representation are kept, and no secrets.
 */
export function shownChange(
  row: Pick<ShippedRoute, "path">,
  target: string,
  answer: object,
  changes: Extract<Committable<unknown>, { ok: true }>["changes"],
): ShownChange {
  const unaudited = unauditedMembers[String((answer as Members)["object"])] ?? [];
  const members = withoutMembers(answer, new Set([...secretMembers, ...unaudited])) as Members;
  const { id, object } = members;
  const isResource = typeof id === "string";
  const resource = isResource ? { type: String(object), id } : { type: typeIn(row.path) ?? String(object), id: target };
  if (Array.isArray(members["data"])) {
    const ids = members["data"].map((each: Members) => each["id"]);
    return { resource, changes: [{ resource, before: null, after: { ids } }] };
  }
  const before = changes.flatMap((change) =>
    change.op === "update" && (change.after as Members)["id"] === resource.id
      ? [[change.before as Members, change.after as Members] as const]
      : [],
  )[0];
  const kept = changes.flatMap((change) =>
    change.op === "create" && change.entity === "review" ? [String((change.item as Members)["id"])] : [],
  )[0];
  // A comment alone: it changes nothing of the client that the answer shows.
  if (before === undefined && kept !== undefined && kept !== resource.id) {
    return { resource, changes: [{ resource: { type: "review", id: kept }, before: null, after: {} }] };
  }
  const names = Object.keys(members).filter((name) => before && !sameValue(before[0][name], before[1][name]));
  const change =
    before === undefined || names.length === 0
      ? { resource, before: null, after: auditedMembers(members) }
      : { resource, before: picked(before[0], names), after: picked(members, names) };
  return { resource, changes: [change] };
}

function picked(members: Members, names: readonly string[]): Members {
  return Object.fromEntries(names.map((name) => [name, members[name] ?? null]));
}

/** The type of the resource that a path names: `feed_source` of `/feed/sources/{id}/commands/take`. */
export function typeIn(path: string): string | undefined {
  const collection = /^(?:\/sandbox)?\/([^{]+)\/\{id\}/.exec(path)?.[1];
  return collection?.replaceAll("/", "_").replace(/s$/, "");
}
