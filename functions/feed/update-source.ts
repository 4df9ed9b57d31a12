import { amendSource, sourceBody } from "../../shared/domain/feed/source.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateFeedSource } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { ref } from "../../shared/table/store.ts";
import { prepared } from "../../shared/trading/commit.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `PATCH /feed/sources/{id}` */
export const handler = await command(
  updateFeedSource,
  async ({ path, body, load, context, expectVersion }) => {
    const { source, tenant } = await load({ source: tradingRef.feedSource(path.id), tenant: ref.tenant() });
    if (source === undefined || tenant === undefined) return notFound();
    expectVersion(source.version);
    const { pulse } = await load({ pulse: tradingRef.pulse(source.name) });
    return prepared(amendSource({ source, pulse }, body, tenant, context), context);
  },
  ({ source, pulse }) => sourceBody(source, pulse, nowIso()),
);
