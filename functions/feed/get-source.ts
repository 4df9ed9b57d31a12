import { sourceBody } from "../../shared/domain/feed/source.ts";
import { loadSource } from "../../shared/feed/sources.ts";
import { read } from "../../shared/http/operations.ts";
import { getFeedSource } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";

/** `GET /feed/sources/{id}` */
export const handler = await read(getFeedSource, async ({ path, caller }) => {
  const { source, pulse } = await loadSource(caller.tenant_id, path.id);
  return source && sourceBody(source, pulse, nowIso());
});
