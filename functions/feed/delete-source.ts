import { endSource, sourceBody } from "../../shared/domain/feed/source.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { openCommandsOf } from "../../shared/feed/waiting-commands.ts";
import { command } from "../../shared/http/operations.ts";
import { deleteFeedSource } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { prepared } from "../../shared/trading/commit.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `DELETE /feed/sources/{id}` */
export const handler = await command(
  deleteFeedSource,
  async ({ path, load, context, expectVersion }) => {
    const { source } = await load({ source: tradingRef.feedSource(path.id) });
    if (source === undefined) return notFound();
    expectVersion(source.version);
    const [{ pulse }, open] = await Promise.all([
      load({ pulse: tradingRef.pulse(source.name) }),
      openCommandsOf(context.tenant_id, source.id),
    ]);
    return prepared(endSource({ source, pulse }, open, context), context);
  },
  ({ source, pulse }) => sourceBody(source, pulse, nowIso()),
);
