import { firstEpoch, refuseEnded } from "../../shared/domain/feed/source.ts";
import { isEnded } from "../../shared/domain/records/feed-source.ts";
import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { sendFeedQuotes } from "../../shared/routes/feed.ts";
import { tradingRef } from "../../shared/trading/items.ts";
import { writeQuotes } from "../../shared/trading/quotes.ts";

/** `POST /feed/sources/{id}/quotes` */
export const handler = await ingest(sendFeedQuotes, async ({ path, body, load }) => {
  const { source } = await load({ source: tradingRef.feedSource(path.id) });
  if (source === undefined) return undefined;
  if (isEnded(source)) throw refused(refuseEnded().refusal);
  const results = await writeQuotes({ source, epoch: body.epoch ?? firstEpoch }, body.quotes);
  const accepted = results.filter(({ status }) => status === "accepted").length;
  return { object: "feed_quote_receipt", accepted, results };
});
