import type { Scope } from "../../schema/scope.ts";
import { type FieldError, refuseFields } from "../kernel/decision.ts";

/** The feed sources that a request names, by their identifiers; undefined: not there. */
export type NamedSources = Readonly<Record<string, object | undefined>>;

/** The bound sources that an application keeps: no member where it is bound to none. */
export function boundTo(source_ids: readonly string[] = []): { readonly source_ids?: readonly string[] } {
  return source_ids.length === 0 ? {} : { source_ids: [...new Set(source_ids)] };
}

/**
 * Why an application cannot be bound to sources: one that a request names is not there, or the application administers
 * and could make another one that is bound to none. Undefined where it can.
 */
export function refuseBound(
  named: readonly string[],
  sources: NamedSources,
  { scopes, source_ids }: { readonly scopes: readonly Scope[]; readonly source_ids: readonly string[] },
) {
  const faults: FieldError[] = named.flatMap((id, at) =>
    sources[id] === undefined
      ? [{ pointer: `#/source_ids/${at}`, code: "source_not_found", detail: "does not exist" }]
      : [],
  );
  if (scopes.includes("applications:write") && source_ids.length > 0) {
    faults.push({
      pointer: "#/source_ids",
      code: "not_allowed",
      detail: "must be empty with the scope applications:write",
    });
  }
  return faults.length === 0 ? undefined : refuseFields(faults);
}
