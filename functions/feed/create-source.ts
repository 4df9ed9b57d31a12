import { registerSource, sourceBody } from "../../shared/domain/feed/source.ts";
import { sourcesOf, storedSource } from "../../shared/feed/sources.ts";
import { command } from "../../shared/http/operations.ts";
import { createFeedSource } from "../../shared/routes/feed.ts";
import { nowIso } from "../../shared/runtime/clock.ts";

/** `POST /feed/sources` */
export const handler = await command(
  createFeedSource,
  async ({ body, load, context }) => {
    await load({});
    return storedSource(registerSource(body, await sourcesOf(context.tenant_id), context));
  },
  (source) => sourceBody(source, undefined, nowIso()),
);
