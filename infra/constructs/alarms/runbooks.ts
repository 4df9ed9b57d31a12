/** Folder of the runbooks, from the root of the repository. */
export const runbookFolder = "infra/runbooks";

/** The page that says what to do about an alarm, by the id of the alarm; the first that matches counts. */
const pages: readonly (readonly [alarms: RegExp, page: string])[] = [
  [/^refusal/, "refusal-not-recorded"],
  [/^job-/, "export-failed"],
  [/^stream-(?:errors|post-failed|wake-failed|late)$|^recursion-dropped$/, "stream"],
  [/^errors-|-errors(?:-\d+)?$/, "errors"],
  [/^latency|^route-latency$/, "latency"],
  [/-throttles$|^transaction-conflicts$|^counter-failed-open$/, "brokerage-floods"],
  [/^publish-failed$|^outbox-parked$|^iterator-age$|^publish-late$/, "publisher-stuck"],
  [/-dead$|-failures$/, "dead-letter-queue"],
  [/-late$(?<!^command-late)|^message-failed$|^watch-iterator-age$/, "queue-late"],
  [/^item-unreadable$/, "unreadable-item"],
  [/^drift-open$/, "drift-found"],
  [/^reconciliation-difference$/, "reconciliation-difference"],
  [
    /^unexpected-operation$|^money-needs-attention$|^command-late$|^command-unknown$|^account-moved-on$/,
    "platform-money",
  ],
];

/**
 * The runbook of an alarm, as a path from the root of the repository.
 * @throws Error when no page is about it: an alarm that wakes a person says what to do
 */
export function runbookOf(alarmId: string): string {
  const page = pages.find(([alarms]) => alarms.test(alarmId))?.[1];
  if (page === undefined)
    throw new Error(`The alarm ${alarmId} has no runbook: add it to infra/constructs/alarms/runbooks.ts.`);
  return `${runbookFolder}/${page}.md`;
}
