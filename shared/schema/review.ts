import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { RejectionReason, Verification, VerificationStatus } from "./client.ts";
import { described } from "./described.ts";
import { Actor } from "./event.ts";
import { ownFields, pageParameters, text } from "./fields.ts";

/** A decision about an identity, or a note of the staff. */
const ReviewKind = z.enum(["decision", "note"]);

/** Query of `GET /clients/{id}/reviews`. */
export const ListReviewsQuery = z.strictObject({
  ...pageParameters,
  kind: described(
    z.optional(ReviewKind),
    "`note` for the notes alone, `decision` for the decisions alone, which need the scope `clients:verify`.",
  ),
  sort: described(z.optional(z.enum(["-created_at"])), "Sort order; newest first."),
});

/** `POST /clients/{id}/reviews`. */
export const CreateReviewRequest = z.strictObject({
  note: described(text(limits.verification.max_internal_comment), "Note for the staff; the client never sees it."),
});

/** A decision about an identity, or a note: what was decided, for good. */
export const Review = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("review"), "Resource type; always this value."),
  kind: described(ReviewKind, "Kind of review: `decision` or `note`."),
  client_id: described(z.string(), "Identifier of the client."),
  document_id: described(z.nullable(z.string()), "Identifier of the document; null for the identity itself."),
  previous_status: described(z.nullable(VerificationStatus), "Verification status before; null for a note."),
  status: described(z.nullable(VerificationStatus), "Verification status after; null for a note."),
  reasons: described(z.array(RejectionReason), "Reasons why the verification was rejected."),
  retry_allowed: described(z.nullable(z.boolean()), "Whether the client may be asked again; null unless rejected."),
  comment: described(z.nullable(z.string()), "Comment for the client; null after an erasure."),
  internal_comment: described(
    z.nullable(z.string()),
    "Comment that the client never sees; null where there is none, and after an erasure.",
  ),
  note: described(z.nullable(z.string()), "Text of a note; null for a decision, and after an erasure."),
  verification: described(
    z.nullable(Verification),
    "The verification as the decision made it; null for a note, and after an erasure.",
  ),
  actor: described(Actor, "The application or operator that decided, or wrote the note."),
  created_at: ownFields.created_at,
  _links: ownFields._links,
});

/** Body of `POST /clients/{id}/reviews` after validation. */
export type CreateReview = z.infer<typeof CreateReviewRequest>;
/** A review on the wire. */
export type ReviewBody = z.infer<typeof Review>;
