import { dismissReject } from "../../shared/domain/feed/dismiss.ts";
import { rejectBody } from "../../shared/domain/feed/records.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import type { FeedReject } from "../../shared/domain/records/feed-item.ts";
import { rejectAt } from "../../shared/feed/reject-at.ts";
import { command } from "../../shared/http/operations.ts";
import { dismissFeedReject } from "../../shared/routes/feed.ts";
import type { Committable } from "../../shared/table/store.ts";
import { prepared } from "../../shared/trading/commit.ts";

/** `POST /feed/sources/{id}/rejects/{seq}/dismiss` */
export const handler = await command(
  dismissFeedReject,
  async ({ path, body: { reason }, load, context }): Promise<Committable<FeedReject>> => {
    const { reject } = await load(rejectAt(path));
    if (reject === undefined) return notFound();
    return prepared(dismissReject(reject, reason, context), context);
  },
  rejectBody,
);
