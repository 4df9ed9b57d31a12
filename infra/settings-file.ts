/** The untracked file in the root folder that holds what differs from account to account. */
export const settingsFile = ".stages.json";

/** The variable of the environment with the same JSON, which is read instead of the file. */
export const settingsVariable = "BROKERAGE_STAGES";
