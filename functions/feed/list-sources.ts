import { sourceBody } from "../../shared/domain/feed/source.ts";
import type { FeedSource } from "../../shared/domain/records/feed-source.ts";
import { pulsesOf } from "../../shared/feed/sources.ts";
import { resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listFeedSources } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { sound } from "../../shared/runtime/unreadable.ts";
import { feedSources } from "../../shared/table/entities.ts";
import { pageOfIndex, pageWith } from "../../shared/table/list.ts";

/** `GET /feed/sources` */
export const handler = await list(
  listFeedSources,
  async ({ caller: { tenant_id: tenant, source_ids: bound }, place }) => {
    const all = await pageOfIndex<FeedSource>("list", [feedSources.all(tenant)], resourcePage(place, []));
    const own = all.items.map((source) => (bound.length === 0 || bound.includes(source.id) ? source : undefined));
    const page = pageWith(all, own);
    const pulses = await pulsesOf(tenant, page.items);
    return pageReply(place, page, (source) => sourceBody(source, sound(pulses.get(source.name)), nowIso()));
  },
);
