/** Money of trading platforms that a person must look at: any of it, or a state that lasts for minutes. */
const atOnce = { threshold: 0 } as const;
const lasting = { threshold: 0, evaluationPeriods: 3, datapointsToAlarm: 3 } as const;

/** Alarms about the money and the commands of trading platforms, by the metrics of the functions. */
export const platformAlarms = [
  {
    id: "unexpected-operation",
    description: "A platform moved money that names a transaction and is not its money; it was booked in addition.",
    metricName: "UnexpectedOperation",
    ...atOnce,
  },
  {
    id: "money-needs-attention",
    description:
      "A trading platform did not bring money back, follow what is booked, or take the access of an account.",
    metricName: "MoneyNeedsAttention",
    ...atOnce,
  },
  {
    id: "command-late",
    description: "A command to a trading platform waits for minutes: its bridge does not take commands.",
    metricName: "CommandLate",
    ...lasting,
  },
  {
    id: "command-unknown",
    description: "Whether a trading platform has carried out a command is not known; a person may have to settle it.",
    metricName: "CommandUnknown",
    ...lasting,
  },
  {
    id: "drift-open",
    description: "The books of an account differ from those of its trading platform.",
    metricName: "DriftOpen",
    ...atOnce,
  },
  {
    id: "account-moved-on",
    description: "An account could not be compared completely with its trading platform for a day.",
    metricName: "AccountMovedOn",
    ...atOnce,
  },
  {
    id: "reconciliation-difference",
    description: "The nightly reconciliation found books of a brokerage that do not agree.",
    metricName: "ReconciliationDifference",
    ...atOnce,
  },
] as const;
