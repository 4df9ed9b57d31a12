import { refuseScope } from "../../domain/kernel/decision.ts";
import type { PageRequest } from "../../table/list.ts";
import type { Caller } from "../caller.ts";
import { matching } from "../filters.ts";
import { type ListPlace, pageRequest } from "../page.ts";
import { refused } from "../problem.ts";

/**
 * The page of reviews that a caller may read: all with `clients:verify`, and the notes alone for an operator without
 * it. An application without it reads none, since portals show clients what their applications read.
 * @throws HttpProblem `insufficient_scope`, `invalid_cursor`
 */
export function reviewsFor({ actor, scopes }: Caller, place: ListPlace): PageRequest {
  const { query } = place;
  const verifies = scopes.includes("clients:verify");
  const readsNotes = actor.type === "operator" && query["kind"] !== "decision";
  if (!verifies && !readsNotes) throw refused(refuseScope("clients:verify").refusal);
  const filter = verifies ? query : { kind: "note" };
  return { ...pageRequest(place, "-created_at"), ...matching(filter, ["kind"]) };
}
