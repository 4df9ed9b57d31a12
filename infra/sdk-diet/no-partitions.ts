/**
 * Takes the place of the SDK's table of partitions, which names every region and its host names, 5 KB, and which only
 * endpoint rules ask. The user agent asks the same file for a prefix, of which there is none.
 */
export const getUserAgentPrefix = (): string => "";

/** What endpoint rules would ask. */
export function partition(): never {
  throw new Error("The table of partitions is not in this bundle.");
}

/** Another table in its place is not asked either. */
export const setPartitionInfo = (): void => {};

/** Nor is the first one again. */
export const useDefaultPartitionInfo = (): void => {};
