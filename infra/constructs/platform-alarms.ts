const lasting = { evaluationPeriods: 3, datapointsToAlarm: 3 } as const;

/** Alarms on the exchange with trading platforms, each on a metric that the functions count. */
export const platformRules = [
  {
    id: "unexpected-operation",
    description: "A platform moved money that names a transaction and is not its money; it was booked in addition.",
    metricName: "UnexpectedOperation",
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
  },
  {
    id: "account-moved-on",
    description: "An account could not be compared completely with its trading platform for a day.",
    metricName: "AccountMovedOn",
  },
] as const;
