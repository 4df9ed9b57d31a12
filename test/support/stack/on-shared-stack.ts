/**
 * Files that share one running stack (`sharedStack`), in the order in which they run: below `test/e2e`, without
 * `.test.ts`. First come those that read the whole of a table, a stream or a log, to which each file adds.
 */
export const onSharedStack = [
  ...["reports/reconciliation", "canary", "tracing", "webhooks", "stop-out"],
  ...["../browser/applications", "../browser/operators", "../browser/outages", "../browser/pages", "../browser/live"],
  ...["integrator", "refusals", "lists", "rate"],
  ...["oauth-clients", "resources/look-ups", "resources/operators", "dashboard", "demo", "margin", "audit-export"],
  ...["tools/drill", "sandbox", "oauth", "tools/ticks", "tools/bridge", "tools/fix", "tools/smoke"],
  ...["stream/walk", "stream/clients"],
] as const;

/**
 * Files that share one watched stack (`watchedStack`), in the order in which they run, named like those above. First
 * comes the one whose requests at once each start a process: those of other files would serve them one by one.
 */
export const onWatchedStack = ["money", "reports/usage", "crash", "../simulation/feed"] as const;
