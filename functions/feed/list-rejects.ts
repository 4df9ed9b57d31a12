import { rejectBody } from "../../shared/domain/feed/records.ts";
import type { FeedReject } from "../../shared/domain/records/feed-item.ts";
import { and, inRange, matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listFeedRejects } from "../../shared/routes/feed.ts";
import { feedRejects } from "../../shared/table/entities.ts";
import { pageOfPartition } from "../../shared/table/list.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /feed/sources/{id}/rejects` */
export const handler = await list(listFeedRejects, async ({ path, caller, place, query, load }) => {
  const { id } = path;
  const keep = and(matching({ status: "open", ...query }, ["status"]), inRange(query, "created"));
  const [{ source }, page] = await Promise.all([
    load({ source: tradingRef.feedSource(id) }),
    pageOfPartition<FeedReject>(feedRejects.partition(caller.tenant_id, id), { ...pageRequest(place, "seq"), ...keep }),
  ]);
  return source && pageReply(place, page, rejectBody);
});
