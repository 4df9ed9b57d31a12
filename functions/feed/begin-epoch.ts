import { beginEpoch, sourceBody } from "../../shared/domain/feed/source.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { beginFeedEpoch } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { prepared } from "../../shared/trading/commit.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/epochs` */
export const handler = await command(
  beginFeedEpoch,
  async ({ path, load, context }) => {
    const { source } = await load({ source: tradingRef.feedSource(path.id) });
    if (source === undefined) return notFound();
    const { pulse } = await load({ pulse: tradingRef.pulse(source.name) });
    return prepared(beginEpoch({ source, pulse }, context), context);
  },
  ({ source, pulse }) => sourceBody(source, pulse, nowIso()),
);
