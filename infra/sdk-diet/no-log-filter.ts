/** Takes the place of what hides secrets of a call from a client's logger: no client has one. */
export const schemaLogFilter = (): string => "***SensitiveInformation***";
