import type { JsonObject } from "./document.ts";
import { accountsReplies } from "./examples/accounts.ts";
import { applicationsReplies } from "./examples/applications.ts";
import { auditReplies } from "./examples/audit.ts";
import { clientsReplies } from "./examples/clients.ts";
import { commandReplies } from "./examples/commands.ts";
import { driftReplies } from "./examples/drift.ts";
import { eventsReplies } from "./examples/events.ts";
import { feedReplies } from "./examples/feed.ts";
import { exampleBaseUrl, exampleIds, exampleNames } from "./examples/identifiers.ts";
import { jobReplies } from "./examples/jobs.ts";
import { marketReplies } from "./examples/market.ts";
import { operatorsReplies } from "./examples/operators.ts";
import { reportsReplies } from "./examples/reports.ts";
import { sandboxReplies } from "./examples/sandbox.ts";
import { serviceReplies } from "./examples/service.ts";
import { tradingReplies } from "./examples/trading.ts";
import { transactionsReplies } from "./examples/transactions.ts";
import { webhooksReplies } from "./examples/webhooks.ts";

/**
 * An example for every schema that a response has, by the name of its component; pages contain one of them. A schema
 * without an example fails the tests.
 */
export const replyExamples: Readonly<Record<string, unknown>> = {
  ...clientsReplies,
  ...accountsReplies,
  ...transactionsReplies,
  ...applicationsReplies,
  ...operatorsReplies,
  ...webhooksReplies,
  ...marketReplies,
  ...tradingReplies,
  ...eventsReplies,
  ...auditReplies,
  ...feedReplies,
  ...commandReplies,
  ...driftReplies,
  ...reportsReplies,
  ...jobReplies,
  ...sandboxReplies,
  ...serviceReplies,
};

/** A path with example identifiers in the place of its parameters: `/clients/cli_01JD…/accounts`. */
function examplePath(path: string): string {
  const first = path.split("/")[1] ?? "";
  const named = path.replace(/\{(\w+)\}/g, (whole, name: string) => exampleNames[name] ?? whole);
  return named.replace("{id}", exampleIds[first] ?? `${first.slice(0, 3)}_01JD0000000000000000000000`);
}

/** A page of one item, as the list at this path returns it. */
export function examplePage(path: string, item: unknown): JsonObject {
  const here = exampleBaseUrl + examplePath(path);
  return {
    object: "list",
    data: [item],
    page: { limit: 1, has_more: true },
    _links: {
      self: { href: `${here}?limit=1` },
      first: { href: `${here}?limit=1` },
      next: { href: `${here}?limit=1&cursor=eyJ2IjoxfQ` },
    },
  };
}
