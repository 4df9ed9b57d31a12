/** Takes the place of the SDK's warning about an old Node: infra/ chooses the runtime, not who reads the log. */
export const emitWarningIfUnsupportedVersion = (): void => {};

/** Whether it was given. */
export const state = { warningEmitted: true };
