import type { PageRequest } from "../../table/list.ts";
import type { Caller } from "../caller.ts";
import { matching } from "../filters.ts";
import { type ListPlace, pageRequest } from "../page.ts";

/**
 * The page of reviews that a caller may read: all with `clients:verify`, and the notes alone for an operator without
 * it; undefined for an application without it, since portals show clients what their applications read.
 * @throws HttpProblem `invalid_cursor`
 */
export function reviewsFor({ actor, scopes }: Caller, place: ListPlace): PageRequest | undefined {
  const { query } = place;
  const verifies = scopes.includes("clients:verify");
  const readsNotes = actor.type === "operator" && query["kind"] !== "decision";
  if (!verifies && !readsNotes) return undefined;
  const filter = verifies ? query : { kind: "note" };
  return { ...pageRequest(place, "-created_at"), ...matching(filter, ["kind"]) };
}
