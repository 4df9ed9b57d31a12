/**
 * Takes the place of the setting that puts the account's number into DynamoDB's host name. The functions' credentials
 * tell no number, so the SDK would not do it either.
 */
export const NODE_ACCOUNT_ID_ENDPOINT_MODE_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  default: "disabled",
};

/** The client's settings as they are. */
export const resolveAccountIdEndpointModeConfig = <T extends object>(input: T): T => input;
