import type { ReviewBody } from "../../schema/review.ts";

/** A review as it is stored: the wire's fields. It never changes; an erasure alone takes its texts away. */
export interface Review extends Omit<ReviewBody, "object" | "_links"> {
  readonly tenant_id: string;
}
