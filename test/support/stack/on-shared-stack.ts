/**
 * Files that share one running stack (`sharedStack`), in the order in which they run: below `test/e2e`, without
 * `.test.ts`.
 */
export const onSharedStack = [
  ...["integrator", "reports/reconciliation", "refusals", "webhooks", "tracing", "lists", "stop-out", "rate"],
  ...["oauth-clients", "resources/look-ups", "resources/operators", "dashboard", "demo", "margin", "audit-export"],
  ...["tools/drill", "sandbox", "oauth", "tools/ticks", "tools/bridge", "tools/fix", "tools/smoke"],
  ...["stream/walk", "stream/clients"],
  ...["../browser/applications", "../browser/operators", "../browser/outages", "../browser/pages", "../browser/live"],
] as const;
