/** Takes the place of what the SDK does with the names of S3 buckets, for clients of every service. */
export const resolveParamsForS3 = async <T>(parameters: T): Promise<T> => parameters;

/** Asked about a bucket only. */
export const isArnBucketName = (): boolean => false;

/** Asked about a bucket only. */
export const isDnsCompatibleBucketName = (): boolean => false;

/** Matches nothing. */
export const DOT_PATTERN = /(?!)/;

/** Matches nothing. */
export const S3_HOSTNAME_PATTERN = /(?!)/;
