import { reviewBody } from "../../shared/domain/accounts/review.ts";
import { refuseScope } from "../../shared/domain/kernel/decision.ts";
import { reviewsFor } from "../../shared/http/clients/reviews.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { refused } from "../../shared/http/problem.ts";
import { listReviews } from "../../shared/routes/clients.ts";
import { reviews } from "../../shared/table/entities.ts";
import { pageOfPartition } from "../../shared/table/list.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /clients/{id}/reviews` */
export const handler = await list(listReviews, async ({ path, caller, place, load }) => {
  const request = reviewsFor(caller, place);
  const [{ client }, page] = await Promise.all([
    load({ client: ref.client(path.id) }),
    request && pageOfPartition(reviews.partition(caller.tenant_id, path.id), request, reviews),
  ]);
  if (client === undefined) return undefined;
  if (page === undefined) throw refused(refuseScope("clients:verify").refusal);
  return pageReply(place, page, reviewBody);
});
