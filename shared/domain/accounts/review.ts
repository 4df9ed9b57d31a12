import type { CreateReview, ReviewBody } from "../../schema/review.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { Review } from "../records/review.ts";

/** The review as a list shows it. */
export function reviewBody({ tenant_id: _tenant, ...fields }: Review): ReviewBody {
  const client = `/v2/clients/${fields.client_id}`;
  const _links = { self: { href: `${client}/reviews` }, client: { href: client } };
  return { ...fields, object: "review", _links } as ReviewBody;
}

type State = Pick<Client, "verification_status" | "verification">;

/** The review of a decision about the identity of a client, from one state to the next. */
export function reviewOf(
  { id: client_id }: Pick<Client, "id">,
  previous_status: Client["verification_status"],
  { verification_status: status, verification }: State,
  internal_comment: string | null,
  context: Context,
): Change {
  const { rejection_reasons: reasons, retry_allowed, comment } = verification;
  const { tenant_id } = context;
  return keep({
    ...{ ...begun(context), tenant_id, client_id, kind: "decision", document_id: null, previous_status, status },
    ...{ reasons, retry_allowed, comment, internal_comment, note: null, verification },
  });
}

/**
 * Decides `POST /clients/{id}/reviews`. A closed client gets no further note: what an erasure has to take away is
 * complete with the closing.
 */
export function writeNote(
  { id: client_id, status }: Client,
  { note }: CreateReview,
  context: Context,
): Decision<Review> {
  if (status === "closed") return refuse("client_closed", "A closed client gets no further notes.");
  const { tenant_id } = context;
  const review: Review = {
    ...{ ...begun(context), tenant_id, client_id, kind: "note", document_id: null, previous_status: null },
    ...{ status: null, reasons: [], retry_allowed: null, comment: null, internal_comment: null, note },
    verification: null,
  };
  return { ok: true, result: review, changes: [keep(review), stillOpen(client_id)], events: [] };
}

/** The condition that a client is not closed, for a commit that does not change it. */
export function stillOpen(client_id: string): Change {
  const require = [{ attribute: "status", is: "not", value: "closed" }] as const;
  return { op: "adjust", entity: "client", id: client_id, require };
}

function begun({ newId, now, actor }: Context): Pick<Review, "id" | "actor" | "created_at"> {
  return { id: newId("rev"), actor: actor as Review["actor"], created_at: now };
}

function keep(item: Review): Change {
  return { op: "create", entity: "review", item };
}
